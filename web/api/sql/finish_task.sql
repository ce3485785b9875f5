/* A person knows what became of a task that was lost: it happened, or it did not. */
SELECT CASE WHEN (x.r).result <> 'changed' THEN (x.r).result END AS problem,
	CASE WHEN (x.r).result = 'changed'
		 THEN json_build_object('id', $1::uuid, 'result', (x.r).result, 'version', (x.r).version::text, 'status', (x.r).status)
		 ELSE json_strip_nulls(json_build_object('version', (x.r).version::text, 'task_status', (x.r).status)) END::text AS body,
	(x.r).version::text AS etag
FROM (
	SELECT CASE
		WHEN t.version <> $2::int8 THEN ROW('wrong_version', t.version, t.status)::twtasks.change_result
		WHEN NOT t.is_unknown THEN ROW('wrong_status', t.version, t.status)::twtasks.change_result
		WHEN $4::boolean THEN twtasks.confirm_task(t.id, t.version, $3::text)
		WHEN t.status = 'HELD' THEN twtasks.release_task(t.id, t.version, twtasks.clock(), $3::text)
		ELSE twtasks.resume_task(t.id, t.version, $3::text) END AS r
	FROM (SELECT k.id, k.version, k.status, EXISTS (SELECT FROM twtasks.unknown_outcomes u WHERE u.id = k.id) AS is_unknown
		  FROM twtasks.tasks k WHERE k.id = $1::uuid ORDER BY k.version DESC LIMIT 1) t
	OFFSET 0) x
