WITH listed AS MATERIALIZED (
	SELECT o.*, row_number() OVER () AS place
	FROM twtasks.list_event_objects($1, CASE WHEN $2 <> 'all' THEN $2 END, $3, coalesce($4::integer, 50) + 1) o)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('object', l.object, 'queued', l.queued, 'queued_capped', l.queued_capped, 'oldest', l.oldest,
			'head', l.head, 'status', l.status, 'problem', left(l.problem, 500), 'last_id', l.last_id::text, 'sent_id', l.sent_id::text) ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($4::integer, 50)),
	'cursor', (SELECT l.object FROM listed l
		WHERE l.place = coalesce($4::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
FROM twtasks.event_streams s WHERE s.name = $1
