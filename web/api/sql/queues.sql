WITH listed AS MATERIALIZED (SELECT q.* FROM twtasks.queue_stats() q ORDER BY q.bucket LIMIT 201)
SELECT json_build_object(
	'kind', twtasks.queue_kind(),
	'items', (SELECT coalesce(json_agg(r ORDER BY r.bucket), '[]') FROM (
		SELECT l.bucket, l.waiting, l.pushed::text, l.dropped::text, l.waiters, l.need_sweep FROM listed l ORDER BY l.bucket LIMIT 200) r),
	'more', (SELECT count(*) > 200 FROM listed))::text AS body
