/*
 * The policy has these options then, and no others.  Only options that differ are
 * set: who may name no function may leave one as it is.
 */
WITH known AS MATERIALIZED (
	SELECT to_jsonb(jsonb_populate_record(NULL::twtasks.policy, '{}')) AS options),
old AS MATERIALIZED (
	SELECT jsonb_strip_nulls(to_jsonb(p) - '{pattern,changed_at,changed_by}'::text[]) AS options
	FROM twtasks.type_policies p WHERE p.pattern = $1::text),
wanted AS MATERIALIZED (
	SELECT jsonb_strip_nulls(to_jsonb(jsonb_populate_record(NULL::twtasks.policy, $2::jsonb))) AS options),
fault AS MATERIALIZED (
	SELECT CASE WHEN s.stray IS NOT NULL THEN format('A policy has no option "%s".', left(s.stray, 100))
				WHEN w.options = '{}' THEN 'A policy has at least one option; DELETE removes it.' END AS detail
	FROM wanted w
	CROSS JOIN known n
	CROSS JOIN LATERAL (SELECT min(k) AS stray FROM jsonb_object_keys($2::jsonb) k WHERE NOT n.options ? k) s),
change AS MATERIALIZED (
	SELECT (SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(w.options) e WHERE e.value IS DISTINCT FROM o.options -> e.key) AS sets,
		   (SELECT array_agg(k) FROM jsonb_object_keys(o.options) k WHERE NOT w.options ? k) AS unsets
	FROM wanted w LEFT JOIN old o ON true)
SELECT CASE WHEN x.detail IS NOT NULL THEN 'unprocessable' WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.detail IS NOT NULL THEN json_build_object('detail', x.detail)
		 WHEN x.is_unchanged THEN json_build_object('pattern', $1::text, 'changed_at', x.changed_at)
		 ELSE json_build_object('version', coalesce(to_json(x.changed_at) #>> '{}', 'new')) END::text AS body,
	to_json(x.changed_at) #>> '{}' AS etag
FROM (
	SELECT f.detail, l.is_unchanged, CASE WHEN c.unsets IS NOT NULL AND l.is_unchanged AND f.detail IS NULL AND d.n = d.n
										  THEN twtasks.unset_type_options($1::text, VARIADIC c.unsets) END AS is_unset,
		   (twtasks.lock_setting('type', $1::text, NULL)).changed_at
	FROM fault f
	CROSS JOIN change c
	CROSS JOIN LATERAL twtasks.lock_setting('type', $1::text, nullif($3::text, 'new')::timestamptz, reason => $4::text) l
	LEFT JOIN LATERAL (
		SELECT 1 AS n, twtasks.configure_type(
			$1::text, p.bucket, p.priority, p.timeout, p.queue_time, p.expires_after, p.stuck, p.stuck_function, p.when_done, p.nodes,
			p.intercept, p.retry, p.retry_function, p.reset_tries, p.aging, p.on_end, p.takeover)
		FROM (SELECT WHERE l.is_unchanged AND f.detail IS NULL AND c.sets IS NOT NULL OFFSET 0) u
		CROSS JOIN jsonb_populate_record(NULL::twtasks.policy, c.sets) p OFFSET 0) d ON true
	OFFSET 0) x
