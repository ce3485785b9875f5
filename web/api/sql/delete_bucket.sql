SELECT CASE WHEN x.changed_at IS NULL THEN 'not_found' WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.changed_at IS NULL THEN '{}'
		 WHEN x.is_unchanged THEN json_build_object('name', $1::text, 'removed', x.removed)
		 ELSE json_build_object('version', to_json(x.changed_at)) END::text AS body
FROM (
	SELECT l.is_unchanged, l.changed_at, CASE WHEN l.is_unchanged THEN twtasks.drop_bucket($1::text) END AS removed
	FROM twtasks.lock_setting('bucket', $1::text, nullif($2::text, 'new')::timestamptz, reason => $3::text) l
	OFFSET 0) x
