SELECT CASE WHEN r.result NOT IN ('changed', 'unchanged') THEN r.result END AS problem,
	CASE WHEN r.result IN ('changed', 'unchanged')
		 THEN json_build_object('id', $1::uuid, 'result', r.result, 'version', r.version::text, 'status', r.status)
		 ELSE json_strip_nulls(json_build_object('version', r.version::text, 'task_status', r.status)) END::text AS body,
	r.version::text AS etag
FROM twtasks.prioritize_task($1::uuid, $2::int8, $4::integer, $3::text) r
