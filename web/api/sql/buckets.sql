WITH listed AS MATERIALIZED (
	SELECT b.*, row_number() OVER (ORDER BY b.name) AS place FROM twtasks.buckets b
	WHERE $1 IS NULL OR b.name > $1 ORDER BY b.name LIMIT coalesce($2::integer, 50) + 1),
load AS MATERIALIZED (
	SELECT m.bucket, m.status, sum(m.tasks) AS tasks, bool_or(m.capped) AS capped, min(m.oldest) AS oldest
	FROM twtasks.monitor_type m GROUP BY m.bucket, m.status)
SELECT json_build_object(
	'counted_at', (SELECT m.at FROM twtasks.monitor m),
	'items', (SELECT coalesce(json_agg(r ORDER BY r.name), '[]') FROM (
		SELECT l.name, l.description, l.concurrency, l.paused, l.paused_since, l.paused_by, l.pause_reason, l.changed_at, l.changed_by,
			coalesce(sum(c.tasks) FILTER (WHERE c.status = 'SUBMITTED'), 0) AS submitted,
			coalesce(sum(c.tasks) FILTER (WHERE c.status = 'WAITING'), 0) AS waiting,
			coalesce(sum(c.tasks) FILTER (WHERE c.status = 'PROCESSING'), 0) AS processing,
			coalesce(sum(c.tasks) FILTER (WHERE c.status = 'ERROR'), 0) AS errors,
			coalesce(sum(c.tasks) FILTER (WHERE c.status = 'HELD'), 0) AS held,
			coalesce(bool_or(c.capped), false) AS capped, min(c.oldest) FILTER (WHERE c.status = 'SUBMITTED') AS oldest
		FROM listed l LEFT JOIN load c ON c.bucket = l.name WHERE l.place <= coalesce($2::integer, 50)
		GROUP BY l.name, l.description, l.concurrency, l.paused, l.paused_since, l.paused_by, l.pause_reason, l.changed_at, l.changed_by) r),
	'cursor', (SELECT l.name FROM listed l
		WHERE l.place = coalesce($2::integer, 50) AND EXISTS (SELECT FROM listed m WHERE m.place > l.place)))::text AS body
