WITH listed AS MATERIALIZED (
	SELECT s.*, row_number() OVER (ORDER BY s.name) AS place FROM twtasks.event_streams s
	WHERE $1 IS NULL OR s.name > $1 ORDER BY s.name LIMIT coalesce($2::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('name', l.name, 'type', l.type, 'batch', l.batch, 'bucket', l.bucket, 'priority', l.priority,
			'changed_at', l.changed_at, 'changed_by', l.changed_by) ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($2::integer, 50)),
	'cursor', (SELECT l.name FROM listed l
		WHERE l.place = coalesce($2::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
