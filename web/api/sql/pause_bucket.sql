SELECT CASE WHEN NOT x.is_paused THEN 'wrong_status' END AS problem,
	CASE WHEN x.is_paused THEN json_build_object('name', $1::text, 'since', x.changed_at)
		 ELSE json_build_object('detail', 'It is paused already.', 'version', x.changed_at) END::text AS body,
	to_json(x.changed_at) #>> '{}' AS etag
FROM (
	SELECT p.is_paused, (twtasks.lock_setting('paused bucket', $1::text, NULL)).changed_at
	FROM (SELECT twtasks.pause_bucket($1::text, $2::text) AS is_paused OFFSET 0) p
	OFFSET 0) x
