SELECT CASE WHEN x.changed_at IS NULL THEN 'not_found' WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.changed_at IS NULL THEN '{}'
		 WHEN x.is_unchanged THEN json_build_object('pattern', $1::text, 'scope', $2::text, 'removed', x.removed)
		 ELSE json_build_object('version', to_json(x.changed_at)) END::text AS body
FROM (
	SELECT l.is_unchanged, l.changed_at, CASE WHEN l.is_unchanged THEN twtasks.drop_limit($1::text, $2::twtasks.limit_scope) END AS removed
	FROM twtasks.lock_setting('limit', $1::text, nullif($3::text, 'new')::timestamptz, $2::twtasks.limit_scope, $4::text) l
	OFFSET 0) x
