-- twin: twt_fits LANGUAGE sql INLINE
	SELECT CASE WHEN pg_catalog.right(pattern, 1) OPERATOR(pg_catalog.=) '*' THEN
			CASE WHEN pg_catalog.starts_with(type, pg_catalog.left(pattern, -1)) THEN pg_catalog.length(pattern) END
		WHEN pattern OPERATOR(pg_catalog.=) type THEN 2147483647 END

-- twin: twt_queue_time LANGUAGE sql SECURITY DEFINER
	SELECT coalesce((SELECT p.queue_time FROM twtasks.policy_of(queue_time.type) p
					 WHERE EXISTS (SELECT FROM twtasks.type_policy)), '30 minutes')

-- twin: twt_may_still_run LANGUAGE sql
	SELECT may_still_run.deadline > twtasks.clock()
		AND coalesce((SELECT p.takeover = 'deadline' FROM twtasks.policy_of(may_still_run.type) p), false)

-- twin: twt_type_options LANGUAGE sql
	SELECT floor(extract(epoch FROM p.timeout) * 1000)::bigint, p.stuck::text, coalesce(p.stuck_function <> 'none', false),
		p.nodes, coalesce(floor(extract(epoch FROM p.aging) * 1000)::bigint, 0),
		CASE WHEN p.retry_function <> 'none' THEN 0
			WHEN p.retry IS NOT NULL THEN 1 + coalesce((SELECT sum(s.retries) FROM twtasks_internal.retry_stages(p.retry) s), 0)::integer END
	FROM twtasks.policy_of(type_options.type) p
