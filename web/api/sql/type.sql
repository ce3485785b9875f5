WITH policy AS MATERIALIZED (SELECT p.* FROM twtasks.policy_of($1) p),
flow AS MATERIALIZED (SELECT f.* FROM twtasks.recent_minutes($1) f)
SELECT json_build_object(
	'type', $1,
	'counted_at', (SELECT m.at FROM twtasks.monitor m),
	'counts', (SELECT coalesce(json_agg(c ORDER BY c.bucket, c.status), '[]')
		FROM (SELECT m.bucket, m.status, m.tasks, m.capped, m.oldest, m.retrying, m.error FROM twtasks.monitor_type m
			WHERE m.type = $1 ORDER BY m.bucket, m.status LIMIT 200) c),
	'row', (SELECT json_build_object(
		'type', $1, 'bucket', t.bucket, 'submitted', coalesce(t.submitted, 0), 'waiting', coalesce(t.waiting, 0), 'processing', coalesce(t.processing, 0),
		'errors', coalesce(t.errors, 0), 'held', coalesce(t.held, 0), 'retrying', coalesce(t.retrying, 0), 'capped', coalesce(t.capped, false),
		'oldest', t.oldest, 'in_per_min', t.in_per_min, 'out_per_min', coalesce(t.done_per_min + t.failed_per_min, 0),
		'failed_per_min', coalesce(t.failed_per_min, 0), 'errors_per_min', coalesce(t.errors_per_min, 0), 'retry_percent', t.retry_percent,
		'p95_wait', t.p95_wait, 'p95_run', t.p95_run, 'slots', t.slots, 'slots_used', t.slots_used, 'slots_limit', t.slots_limit,
		'is_paused', coalesce(t.is_paused, twtasks.is_paused($1, coalesce((SELECT p.bucket FROM policy p), 'default'))))
		FROM (VALUES (1)) one LEFT JOIN twtasks.type_loads($1, NULL, 1) t ON right($1, 1) <> '*'),
	'policy', (SELECT to_json(p) FROM policy p),
	'policy_from', (SELECT coalesce(json_agg(json_build_object('option', s.option, 'pattern', s.pattern) ORDER BY s.option), '[]')
		FROM (SELECT DISTINCT ON (o.key) o.key AS option, n.pattern
			FROM policy p
			CROSS JOIN LATERAL unnest(p.patterns) WITH ORDINALITY n(pattern, place)
			JOIN twtasks.type_policies t ON t.pattern = n.pattern
			CROSS JOIN LATERAL jsonb_each(to_jsonb(t) - '{pattern,changed_at,changed_by}'::text[]) o
			WHERE o.value <> 'null' ORDER BY o.key, n.place) s),
	'limits', (SELECT coalesce(json_agg(l), '[]') FROM (
		SELECT r.pattern, r.scope, r.concurrency, r.stretch, r.stretch_priority, r.rate, r.per, r.burst, r.name, r.used, r.waiting, r.changed_at, r.changed_by
		FROM twtasks.limits r
		WHERE twtasks.limit_name(r.pattern, $1) = coalesce(r.name, twtasks.limit_name(r.pattern, $1))
		ORDER BY r.pattern, r.scope LIMIT 50) l),
	'pauses', (SELECT coalesce(json_agg(p), '[]') FROM (
		SELECT u.kind, u.name, u.since, u.paused_by, u.reason FROM twtasks.paused u
		WHERE CASE WHEN u.kind = 'bucket' THEN u.name IN (SELECT m.bucket FROM twtasks.monitor_type m WHERE m.type = $1)
												OR u.name = coalesce((SELECT q.bucket FROM policy q), 'default')
				   WHEN right(u.name, 1) = '*' THEN starts_with($1, left(u.name, -1)) ELSE u.name = $1 END
		ORDER BY u.kind, u.name LIMIT 50) p),
	'nodes', (SELECT coalesce(json_agg(n.name ORDER BY n.name), '[]') FROM (
		SELECT k.name FROM twtasks.nodes k
		WHERE k.ended IS NULL AND k.heartbeat > (SELECT clock_timestamp()) - k.lease
		  AND (k.types IS NULL OR EXISTS (SELECT FROM unnest(k.types) t(pattern)
			WHERE CASE WHEN right(t.pattern, 1) = '*' THEN starts_with($1, left(t.pattern, -1)) ELSE t.pattern = $1 END))
		ORDER BY k.name LIMIT 200) n),
	'flow', json_build_object('minutes', (SELECT coalesce(json_agg(json_build_object(
		'at', f.at, 'in', f.added, 'started', f.started, 'out', f.done + f.failed, 'done', f.done, 'failed', f.failed, 'errors', f.errors, 'retried', f.retried)
		ORDER BY f.at), '[]') FROM flow f)))::text AS body
