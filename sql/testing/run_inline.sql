/*
 * twtasks_internal.next_inline(pattern)
 *
 *		The next task for run_inline(), as a sidecar would find it: a due task
 *		is promoted first, and paused tasks are skipped.
 *
 * Returns
 *		id, version; no row: no task
 *
 * Writes		twtasks.task
 * Locks		a row
 */
CREATE FUNCTION twtasks_internal.next_inline(pattern text)
RETURNS TABLE (id uuid, version bigint)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
BEGIN
	RETURN QUERY
	WITH next AS MATERIALIZED (
		SELECT t.id, t.version, t.status FROM twtasks.task t
		WHERE twtasks_internal.fits(pattern, t.type) IS NOT NULL
		  AND (t.status = 'SUBMITTED' OR (t.status = 'WAITING' AND t.next_event_time <= moment))
		  AND (t.expires IS NULL OR t.expires > moment)
		  AND NOT twtasks.is_paused(t.type, t.bucket)
		ORDER BY t.priority, t.id LIMIT 1 FOR UPDATE SKIP LOCKED),
	promoted AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true,
			state_time = moment, next_event_time = moment + twtasks_internal.queue_time(t.type)
		FROM next n WHERE t.id = n.id AND n.status = 'WAITING'
		RETURNING t.id, t.version)
	SELECT p.id, p.version FROM promoted p
	UNION ALL
	SELECT n.id, n.version FROM next n WHERE n.status = 'SUBMITTED';
END $$;

/*
 * twtasks_internal.retry_inline(id, message)
 *
 *		Finishes a failed task as a sidecar does, by the policies of its type.
 *		Without a policy the first retry is after 5 s, the wait doubles each
 *		time up to 2 h, and the task is given up after 20 tries.
 *
 * Writes		twtasks.task
 */
CREATE FUNCTION twtasks_internal.retry_inline(id uuid, message text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT FROM twtasks.task t
	CROSS JOIN LATERAL twtasks_internal.finish_tasks(
		ARRAY[t.id], ARRAY[t.version], '{retry}'::text[], '{NULL}'::bigint[], ARRAY[retry_inline.message],
		NULL::bigint, NULL::bigint, retries => ARRAY['{"jitter": 0}'::jsonb], ask => true) f
	WHERE t.id = retry_inline.id
$$;

/*
 * twtasks.run_inline(function, pattern, max_tasks, role)
 *
 *		Runs tasks in the caller's transaction, as a sidecar with this SQL
 *		handler would.  For tests, which see the effects of the handler before
 *		they roll all of it back.  Tasks added meanwhile run too.  If the
 *		handler fails, its task waits for the next try, by the policies of its
 *		type.
 *
 * Parameters
 *		function		takes (twtasks.task_input), returns twtasks.task_result or
 *						void
 *		pattern			a type, or the beginning of types and a *
 *		max_tasks		at most this many
 *		role			runs the function; NULL: the role that calls
 *
 * Returns
 *		id, type, tries	of each task, in the order in which they ran
 *		result			'finished' or 'failed'
 *		message			the failure with its SQLSTATE
 *		status, version	of the task afterwards; NULL: it was deleted
 *
 * Errors
 *		55000			twtasks.testing or twtasks.enabled is off, or this database is
 *						a copy and not adopted, or a cluster-wide limit is full
 *		42501, 42883	as execute_tasks()
 *
 * Writes		twtasks.task, twtasks.finished_task and what the function writes
 * Locks		rows; skips rows that others have locked
 * Example		SELECT * FROM twtasks.run_inline('app.pay', 'PAYOUT');
 */
CREATE FUNCTION twtasks.run_inline(
	function text,
	pattern text DEFAULT '*',
	max_tasks integer DEFAULT 100,
	role name DEFAULT NULL,
	OUT id uuid,
	OUT type text,
	OUT tries integer,
	OUT result text,
	OUT message text,
	OUT status twtasks.task_status,
	OUT version bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.run_inline_as_owner(given)
 *
 *		The work of run_inline(), with its caller noted.  The row has a column
 *		for each parameter.
 *
 * Returns, writes: as run_inline()
 */
CREATE FUNCTION twtasks_internal.run_inline_as_owner(
	given record,
	OUT id uuid,
	OUT type text,
	OUT tries integer,
	OUT result text,
	OUT message text,
	OUT status twtasks.task_status,
	OUT version bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	node bigint;
	next record;
	done record;
BEGIN
	PERFORM twtasks_internal.check_testing();
	-- No other session sees this node, since the call deletes it at its end.
	INSERT INTO twtasks.node (name, started, heartbeat, lease)
	VALUES ('run_inline', clock_timestamp(), clock_timestamp(), '1 day')
	RETURNING incarnation INTO node;
	FOR n IN 1 .. given.max_tasks LOOP
		SELECT * INTO next FROM twtasks_internal.next_inline(given.pattern);
		EXIT WHEN NOT FOUND;
		SELECT * INTO done FROM twtasks_internal.execute_tasks(
			given.function, given.role, ARRAY[next.id], ARRAY[next.version], node, n, '{3600000}'::bigint[], '{error}'::twtasks.stuck_rule[]);
		IF NOT FOUND THEN
			RAISE EXCEPTION 'task "%" could not be grabbed', next.id
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Look at twtasks.warnings, and for nodes that its type is bound to at twtasks.policy_of().';
		ELSIF done.result = 'refused' THEN
			RAISE EXCEPTION 'limit "%" does not let task "%" run now', done.message, done.id
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Look at twtasks.limits.';
		ELSIF done.result = 'failed' THEN
			PERFORM twtasks_internal.retry_inline(done.id, done.message);
		END IF;
		id := done.id;
		type := done.type;
		tries := done.tries;
		result := done.result;
		message := CASE WHEN done.result <> 'finished' THEN done.message END;
		SELECT t.status, t.version INTO status, version FROM twtasks.tasks t WHERE t.id = done.id;
		RETURN NEXT;
	END LOOP;
	DELETE FROM twtasks.node n WHERE n.incarnation = node;
END $$;
