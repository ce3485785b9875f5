/*
 * twtasks_internal.late_work()
 *
 *		Schedules and duties that stand still.
 *
 * Returns
 *		as blockers()
 */
CREATE FUNCTION twtasks_internal.late_work(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'schedule fails', s.next_run, format('schedule "%s": %s', s.name, s.problem),
		   'do what the problem asks for; the schedule is tried again every half minute'
	FROM twtasks.schedule s WHERE s.problem IS NOT NULL AND NOT s.is_paused
	UNION ALL
	SELECT 'schedule late', s.next_run, format('schedule "%s" is due, and nobody has added its task', s.name),
		   'start a sidecar; the leading one runs schedules, and its log says what keeps it from that'
	FROM twtasks.schedule s
	WHERE s.look_at < (SELECT twtasks.clock()) - interval '1 minute' AND s.problem IS NULL AND NOT s.is_paused
	  AND twtasks.is_enabled() AND twtasks.is_adopted()
	UNION ALL
	SELECT 'duty fails', d.failed_since, format('%s: %s', d.name, d.problem),
		   'do what the problem asks for; the duty is called again every three seconds'
	FROM twtasks.duty d WHERE d.problem IS NOT NULL AND to_regprocedure(d.name || '()') IS NOT NULL
	UNION ALL
	SELECT 'history fails', d.failed_since, format('%s: %s', d.name, d.problem),
		   'do what the problem asks for, such as an event trigger; until then old days are not dropped, '
		   'or tasks finish in finished_task_other'
	FROM twtasks.duty d WHERE d.problem IS NOT NULL AND d.name IN ('make_partitions', 'clean_tasks')
	UNION ALL
	SELECT 'incidents fail', d.failed_since, format('%s: %s', d.name, d.problem),
		   'do what the problem asks for; until then nobody hears of new incidents'
	FROM twtasks.duty d WHERE d.problem IS NOT NULL AND d.name = 'judge_incidents'
	UNION ALL
	SELECT 'large default partition', NULL, format('twtasks.finished_task_other has %s, which each new partition of the history '
												   'reads under a lock that stops finishes', pg_size_pretty(s.size)),
		   'nothing, if it has at most 28 days and none of them has a partition: the leader makes it their partition when today '
		   'is over; otherwise delete old rows from it, and VACUUM it'
	FROM twtasks_internal.size_of_default() s(size) WHERE s.size > 0
	UNION ALL
	SELECT 'duty late', d.called, format('nobody calls %s any more', d.name),
		   'start a sidecar; the leading one calls duties, and its log says what keeps it from that'
	FROM twtasks.duty d
	WHERE d.called < (SELECT clock_timestamp()) - interval '90 seconds' AND to_regprocedure(d.name || '()') IS NOT NULL
	  AND twtasks.is_adopted()
$$;

/*
 * twtasks_internal.lost_roles()
 *
 *		Roles that rights, schedules and listeners name, and that do not exist, as
 *		after DROP ROLE, a new name, or a restore into a cluster without them.
 *
 * Returns
 *		as blockers()
 */
CREATE FUNCTION twtasks_internal.lost_roles(
	OUT warning text, OUT since timestamptz, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'role is gone', NULL::timestamptz, format('role "%s" does not exist: %s', w.role, w.why), w.hint
	FROM (
		SELECT a.role, format('types "%s" are allowed to it', a.pattern) AS why,
			   format('create the role, or allow another one by twtasks.allow_type(), then SELECT twtasks.disallow_type(%L, %L)',
					  a.pattern, a.role) AS hint
		FROM twtasks.allowed_type a
		UNION ALL
		SELECT s.role, format('schedule "%s" adds its tasks as this role', s.name),
			   'create the role, or call twtasks.schedule() for the schedule as another one'
		FROM twtasks.schedule s WHERE s.problem IS NULL
		UNION ALL
		(SELECT DISTINCT ON (o.role, o.listener) o.role,
			   format('listener "%s" belongs to it, say in partition %s of topic "%s"', o.listener, o.partition, o.topic),
			   format('create the role; or stop the listener, and give it to another one by twtasks.reset_listener(%L, %L, %s, %s, ROLE)',
					  o.listener, o.topic, o.partition, o.next_offset)
		 FROM twtasks.message_offset o ORDER BY o.role, o.listener, o.topic, o.partition)) w
	WHERE to_regrole(quote_ident(w.role)) IS NULL
$$;
