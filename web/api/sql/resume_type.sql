/* A pause of somebody else that the caller has not seen stays. */
SELECT CASE WHEN x.changed_at IS NULL THEN 'wrong_status' WHEN NOT x.is_unchanged THEN 'wrong_version' END AS problem,
	CASE WHEN x.changed_at IS NULL THEN json_build_object('detail', 'It is not paused.')
		 WHEN x.is_unchanged THEN json_build_object('pattern', $1::text, 'resumed', x.is_resumed)
		 ELSE json_build_object('version', x.changed_at) END::text AS body
FROM (
	SELECT l.is_unchanged, l.changed_at, CASE WHEN l.is_unchanged THEN twtasks.resume_type($1::text) END AS is_resumed
	FROM twtasks.lock_setting('paused type', $1::text, nullif($2::text, 'new')::timestamptz, reason => $3::text) l
	OFFSET 0) x
