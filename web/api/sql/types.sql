WITH load AS MATERIALIZED (
	SELECT t.*, row_number() OVER (ORDER BY t.type) AS place
	FROM twtasks.type_loads(coalesce($1::text, '*'), $2::text, coalesce($3::integer, 50) + 1) t WHERE t.type IS NOT NULL)
SELECT json_build_object(
	'counted_at', (SELECT m.at FROM twtasks.monitor m),
	'items', (SELECT coalesce(json_agg(json_build_object(
		'type', t.type, 'bucket', t.bucket, 'submitted', t.submitted, 'waiting', t.waiting, 'processing', t.processing, 'errors', t.errors,
		'held', t.held, 'retrying', t.retrying, 'capped', t.capped, 'oldest', t.oldest, 'in_per_min', t.in_per_min,
		'out_per_min', t.done_per_min + t.failed_per_min, 'failed_per_min', t.failed_per_min, 'errors_per_min', t.errors_per_min,
		'retry_percent', t.retry_percent, 'p95_wait', t.p95_wait, 'p95_run', t.p95_run, 'slots', t.slots, 'slots_used', t.slots_used,
		'slots_limit', t.slots_limit, 'is_paused', t.is_paused) ORDER BY t.place), '[]')
		FROM load t WHERE t.place <= coalesce($3::integer, 50)),
	'cursor', (SELECT t.type FROM load t
		WHERE t.place = coalesce($3::integer, 50) AND EXISTS (SELECT FROM load u WHERE u.place > t.place)))::text AS body
