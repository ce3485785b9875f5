WITH load AS MATERIALIZED (SELECT t.* FROM twtasks.type_loads(worst_first => true) t),
shown AS MATERIALIZED (
	SELECT i.id::text, i.key, i.kind, i.object, i.severity, i.state, i.opened, i.refreshed, i.acknowledged, i.acknowledged_by, i.resolved, i.count,
		left(i.summary, 1000) AS summary, left(i.detail, 1000) AS detail, left(i.hint, 1000) AS hint, i.silenced_until
	FROM twtasks.incidents i WHERE i.resolved IS NULL
	ORDER BY i.severity, i.opened, i.id LIMIT 100)
SELECT json_build_object(
	'incidents', (SELECT coalesce(json_agg(s ORDER BY s.severity, s.opened, s.id), '[]') FROM shown s),
	'incidents_open', (SELECT count(*) FROM twtasks.incident i WHERE i.resolved IS NULL),
	'well_since', (SELECT max(i.resolved) FROM twtasks.incident i WHERE NOT EXISTS (SELECT FROM shown)),
	'warnings', (SELECT coalesce(json_agg(w), '[]')
		FROM (SELECT v.warning, v.since, left(v.detail, 1000) AS detail, left(v.hint, 1000) AS hint FROM twtasks.warnings v LIMIT 100) w),
	'nodes', (SELECT json_build_object('live', count(*), 'leader', min(n.name) FILTER (WHERE n.leads))
		FROM twtasks.nodes n WHERE n.ended IS NULL AND n.heartbeat > (SELECT clock_timestamp()) - n.lease),
	'counted_at', m.at,
	'now', (SELECT twtasks.clock()),
	'flow', json_build_object('minutes', (SELECT coalesce(json_agg(json_build_object(
		'at', f.at, 'in', f.added, 'started', f.started, 'out', f.done + f.failed, 'done', f.done, 'failed', f.failed, 'errors', f.errors, 'retried', f.retried)
		ORDER BY f.at), '[]') FROM twtasks.recent_minutes() f)),
	'totals', (SELECT json_build_object(
		'submitted', a.submitted, 'waiting', a.waiting, 'processing', a.processing, 'errors', a.errors, 'held', a.held, 'retrying', a.retrying,
		'stuck', coalesce(m.stuck, 0), 'capped', a.capped, 'oldest', a.oldest, 'p95_wait', a.p95_wait, 'p95_run', a.p95_run,
		'in_per_min', a.in_per_min, 'out_per_min', a.done_per_min + a.failed_per_min, 'started_per_min', a.started_per_min,
		'failed_per_min', a.failed_per_min, 'errors_per_min', a.errors_per_min, 'retried_per_min', a.retried_per_min)
		FROM load a WHERE a.type IS NULL),
	'buckets', (SELECT coalesce(json_agg(b ORDER BY b.bucket), '[]')
		FROM (SELECT c.bucket, coalesce(sum(c.tasks) FILTER (WHERE c.status = 'SUBMITTED'), 0) AS submitted,
				coalesce(sum(c.tasks) FILTER (WHERE c.status = 'WAITING'), 0) AS waiting,
				coalesce(sum(c.tasks) FILTER (WHERE c.status = 'PROCESSING'), 0) AS processing,
				coalesce(sum(c.tasks) FILTER (WHERE c.status = 'ERROR'), 0) AS errors,
				coalesce(sum(c.tasks) FILTER (WHERE c.status = 'HELD'), 0) AS held,
				min(c.oldest) FILTER (WHERE c.status = 'SUBMITTED') AS oldest, bool_or(c.capped) AS capped
			FROM (SELECT g.bucket, g.status, sum(g.tasks) AS tasks, bool_or(g.capped) AS capped, min(g.oldest) AS oldest
				FROM twtasks.monitor_type g GROUP BY g.bucket, g.status) c
			GROUP BY c.bucket ORDER BY c.bucket LIMIT 200) b),
	'types', (SELECT coalesce(json_agg(json_build_object(
		'type', t.type, 'bucket', t.bucket, 'submitted', t.submitted, 'waiting', t.waiting, 'processing', t.processing, 'errors', t.errors,
		'held', t.held, 'retrying', t.retrying, 'capped', t.capped, 'oldest', t.oldest, 'in_per_min', t.in_per_min,
		'out_per_min', t.done_per_min + t.failed_per_min, 'failed_per_min', t.failed_per_min, 'errors_per_min', t.errors_per_min,
		'retry_percent', t.retry_percent, 'p95_wait', t.p95_wait, 'p95_run', t.p95_run, 'slots', t.slots, 'slots_used', t.slots_used,
		'slots_limit', t.slots_limit, 'is_paused', t.is_paused)), '[]') FROM load t WHERE t.type IS NOT NULL))::text AS body
FROM (VALUES (1)) one LEFT JOIN twtasks.monitor m ON true
