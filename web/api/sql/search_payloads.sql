WITH listed AS MATERIALIZED (
	SELECT s.* FROM twtasks.search_payloads($12::bigint) s)
SELECT json_build_object(
	'items', (SELECT coalesce(json_agg(r ORDER BY r.id DESC), '[]')
		FROM (SELECT l.id, l.version::text, l.type, l.sub_type, l.bucket, l.status, l.created, l.state_time, l.tries FROM listed l WHERE l.id IS NOT NULL) r),
	'cursor', p.cursor, 'looked_at', p.looked_at, 'looked_back_to', p.looked_back_to, 'is_complete', p.is_complete)::text AS body
FROM listed p WHERE p.id IS NULL
