WITH listed AS MATERIALIZED (SELECT l.*, row_number() OVER () AS place FROM twtasks.list_unknown(coalesce($1, '*'), $2, coalesce($3::integer, 50)) l)
SELECT json_build_object(
	'total', least(e.tasks, 5000), 'total_capped', e.tasks > 5000,
	'items', (SELECT coalesce(json_agg(json_build_object('id', l.id, 'version', l.version::text, 'type', l.type, 'bucket', l.bucket, 'status', l.status,
			'key', l.key, 'tries', l.tries, 'node', l.node, 'lost_at', l.lost_at, 'why', left(l.why, 500), 'late_result', left(l.late_result, 500),
			'late_at', l.late_at, 'if_not_done', l.if_not_done, 'if_done', l.if_done) ORDER BY l.place), '[]')
		FROM listed l WHERE l.id IS NOT NULL),
	'cursor', e.cursor)::text AS body
FROM listed e WHERE e.id IS NULL
