SELECT CASE WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.is_unchanged THEN json_build_object('pattern', $1::text, 'scope', $2::text, 'changed_at', x.changed_at)
		 ELSE json_build_object('version', coalesce(to_json(x.changed_at) #>> '{}', 'new')) END::text AS body,
	to_json(x.changed_at) #>> '{}' AS etag
FROM (
	SELECT l.is_unchanged, (twtasks.lock_setting('limit', $1::text, NULL, $2::twtasks.limit_scope)).changed_at
	FROM twtasks.lock_setting('limit', $1::text, nullif($9::text, 'new')::timestamptz, $2::twtasks.limit_scope, $10::text) l
	LEFT JOIN LATERAL (
		SELECT twtasks.configure_limit($1::text, $3::int4, $2::twtasks.limit_scope, $4::int4, $5::int4, $6::int4,
									   coalesce($7::interval, '1 second'), $8::int4)
		FROM (SELECT WHERE l.is_unchanged OFFSET 0) u OFFSET 0) d ON true
	OFFSET 0) x
