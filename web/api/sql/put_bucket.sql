/* An option that is absent is unset. */
SELECT CASE WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.is_unchanged THEN json_build_object('name', $1::text, 'changed_at', x.changed_at)
		 ELSE json_build_object('version', coalesce(to_json(x.changed_at) #>> '{}', 'new')) END::text AS body,
	to_json(x.changed_at) #>> '{}' AS etag
FROM (
	SELECT l.is_unchanged,
		   CASE WHEN d.n = 1 AND num_nulls($2::text, $3::int4) > 0
				THEN twtasks.unset_bucket_options($1::text, VARIADIC array_remove(ARRAY[
					CASE WHEN $2::text IS NULL THEN 'description' END, CASE WHEN $3::int4 IS NULL THEN 'concurrency' END], NULL)) END AS is_unset,
		   (twtasks.lock_setting('bucket', $1::text, NULL)).changed_at
	FROM twtasks.lock_setting('bucket', $1::text, nullif($4::text, 'new')::timestamptz, reason => $5::text) l
	LEFT JOIN LATERAL (
		SELECT 1 AS n, twtasks.configure_bucket($1::text, $2::text, $3::int4)
		FROM (SELECT WHERE l.is_unchanged OFFSET 0) u OFFSET 0) d ON true
	OFFSET 0) x
