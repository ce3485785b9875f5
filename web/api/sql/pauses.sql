WITH listed AS MATERIALIZED (
	SELECT p.*, row_number() OVER (ORDER BY p.kind, p.name) AS place FROM twtasks.paused p
	WHERE $1 IS NULL OR (p.kind, p.name) > (split_part($1, '/', 1), substr($1, strpos($1, '/') + 1))
	ORDER BY p.kind, p.name LIMIT coalesce($2::integer, 50) + 1)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(json_build_object('kind', l.kind, 'name', l.name, 'since', l.since, 'paused_by', l.paused_by, 'reason', l.reason)
			ORDER BY l.place), '[]')
		FROM listed l WHERE l.place <= coalesce($2::integer, 50)),
	'cursor', (SELECT l.kind || '/' || l.name FROM listed l
		WHERE l.place = coalesce($2::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
