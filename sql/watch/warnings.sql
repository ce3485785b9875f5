/* The first thing to read when nothing runs, or when a test left something on. */
CREATE VIEW twtasks.warnings AS
	SELECT 'not adopted' AS warning, NULL::timestamptz AS since,
		   twtasks_internal.adoption_fault() AS detail,
		   CASE WHEN pg_catalog.pg_is_in_recovery()
				THEN 'tasks run on the primary, which has warnings of its own; a standby that is promoted goes on by itself'
				ELSE 'nothing is executed until an operator names its environment, such as SELECT twtasks.adopt(''staging'')'
		   END AS hint
	WHERE NOT twtasks.is_adopted()
	UNION ALL
	SELECT 'no environment', s.at, 'this database was adopted for no environment',
		   'not every copy can be told from it; give it a name: SELECT twtasks.adopt(''production''), '
		   'and environment: production in the sidecars'' files'
	FROM twtasks.adoption_state s
	WHERE s.is_adopted AND s.environment IS NULL AND NOT twtasks_internal.is_testing()
	UNION ALL
	SELECT 'switched off', NULL, 'twtasks.enabled is off', 'nothing is executed'
	WHERE NOT twtasks.is_enabled()
	UNION ALL
	SELECT b.warning, b.since, b.detail, b.hint FROM twtasks.blockers() b
	UNION ALL
	SELECT 'listener stands still', o.problem_since,
		   pg_catalog.format('listener "%s", partition %s of topic "%s", at offset %s: %s',
							 o.listener, o.partition, o.topic, o.next_offset, o.problem) COLLATE pg_catalog."default",
		   pg_catalog.format('no message of the partition is taken until an operator sets its offset: '
							 'SELECT twtasks.reset_listener(%L, %L, %s, %s) %s', o.listener, o.topic, o.partition,
							 coalesce(o.log_first::text, 'NULL'),
							 CASE WHEN o.log_first IS NULL THEN 'forgets the partition'
								  WHEN o.log_first > o.next_offset THEN 'begins with the first message that the topic has'
								  ELSE 'begins with the first message of a topic that was made anew; in the old topic, '
									   'this takes messages again: set ' || o.next_offset || ' there, or its end' END) COLLATE pg_catalog."default"
	FROM twtasks.message_offset o
	WHERE o.problem IS NOT NULL
	UNION ALL
	SELECT 'tasks fail and are retried', NULL,
		   pg_catalog.format('%s%s tasks of type "%s" fail and are retried: newest error: %s',
							 CASE WHEN pg_catalog.bool_or(m.capped) THEN 'at least ' END, sum(m.retrying), m.type,
							 coalesce(max(m.error), 'none')) COLLATE pg_catalog."default",
		   pg_catalog.format('SELECT * FROM twtasks.list_tasks(''{WAITING,SUBMITTED}'', %L) shows them; if no try can succeed, '
							 'SELECT twtasks.pause_type(%L) stops them until the cause is mended', m.type, m.type) COLLATE pg_catalog."default"
	FROM twtasks.monitor_type m
	WHERE m.at > (SELECT twtasks.clock()) - interval '5 minutes'
	  AND m.type IN (SELECT r.type FROM twtasks.monitor_type r WHERE r.retrying > 0 GROUP BY r.type HAVING sum(r.retrying) >= 3)
	GROUP BY m.type
	-- a tenth of the tasks that could have run, or all tasks, or very many; one retry is usual
	HAVING sum(m.retrying) >= 10
	   AND 10 * sum(m.retrying) >= sum(CASE WHEN m.status IN ('SUBMITTED', 'PROCESSING') THEN m.tasks ELSE m.retrying END)
		OR sum(m.retrying) >= 3 AND sum(m.retrying) = sum(m.tasks)
		OR sum(m.retrying) >= 1000
	UNION ALL
	SELECT 'nobody leads', NULL, pg_catalog.format(CASE count(*) WHEN 1 THEN '%s sidecar lives, and does not lead'
												   ELSE '%s sidecars live, and none of them leads' END, count(*)),
		   'due tasks and schedules wait; with leader: zookeeper, PostgreSQL chooses after fallback, '
		   'and the logs of the sidecars say why'
	FROM twtasks.node n
	WHERE n.ended IS NULL AND n.heartbeat > (SELECT pg_catalog.clock_timestamp()) - n.lease
	HAVING pg_catalog.bool_or(n.leads) = false
	   AND min(n.started) < (SELECT pg_catalog.clock_timestamp()) - interval '10 seconds'
	UNION ALL
	SELECT 'clock shifted', c.at,
		   pg_catalog.format('by %s, by %s', pg_catalog.make_interval(secs => c.ahead_us / 1e6), c.actor),
		   'counts where twtasks.testing is on; SELECT twtasks.set_clock(NULL) sets it right'
	FROM twtasks.test_clock c
	UNION ALL
	SELECT 'testing', NULL, 'twtasks.testing is on in this session',
		   'the clock can be shifted, and all tasks removed, by twtasks_tester'
	WHERE twtasks_internal.is_testing()
	UNION ALL
	SELECT 'testing', NULL, pg_catalog.format('twtasks.testing is set for %s', coalesce(
			'role ' || pg_catalog.quote_ident(r.rolname), 'this database')),
		   'ALTER DATABASE or ROLE ... RESET twtasks.testing, if this is production'
	FROM pg_catalog.pg_db_role_setting s
	LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole
	CROSS JOIN LATERAL unnest(s.setconfig) c(setting)
	WHERE s.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database d
								WHERE d.datname = pg_catalog.current_database()))
	  AND c.setting ~* '^twtasks[.]testing=';
COMMENT ON VIEW twtasks.warnings IS 'Reasons why tasks do not run, and settings that must not be on in production; empty when all is well';
