SELECT CASE WHEN x.seen_at IS NULL THEN 'not_found' WHEN NOT x.is_unchanged THEN 'wrong_version'
			WHEN x.result = 'not_changed' THEN 'wrong_status' END AS problem,
	CASE WHEN x.seen_at IS NULL THEN '{}'
		 WHEN NOT x.is_unchanged THEN json_build_object('version', x.changed_at)
		 ELSE json_build_object('name', $1::text, 'result', x.result, 'changed_at', x.changed_at) END::text AS body,
	to_json(x.changed_at) #>> '{}' AS etag
FROM (
	SELECT l.is_unchanged, l.changed_at AS seen_at, r.result, (twtasks.lock_setting('schedule', $1::text, NULL)).changed_at
	FROM twtasks.lock_setting('schedule', $1::text, nullif($2::text, 'new')::timestamptz, reason => $3::text) l
	LEFT JOIN LATERAL (SELECT CASE WHEN l.is_unchanged THEN twtasks.pause_schedule($1::text, $3::text) END AS result OFFSET 0) r ON true
	OFFSET 0) x
