/*
 * twtasks_internal.check_waiting()
 *
 *		Refuses to wait in a transaction that cannot see the changes of others.
 *
 * Errors
 *		25001			the transaction has one snapshot for all its statements
 */
CREATE FUNCTION twtasks_internal.check_waiting()
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot wait for tasks in a transaction with isolation level %',
			current_setting('transaction_isolation')
			USING ERRCODE = 'active_sql_transaction',
				HINT = 'Use READ COMMITTED, which sees what others commit meanwhile.';
	END IF;
END $$;

/*
 * twtasks.wait_for_task(id, statuses, timeout)
 *
 *		Waits until a task reaches one of these statuses.  For tests: the
 *		function reads the table again and again, and keeps its transaction
 *		open.
 *
 * Parameters
 *		timeout			longest wait
 *
 * Returns
 *		the status that the task reached
 *
 * Errors
 *		55000			not in time, or the task has ended in another status
 *		P0002			no such task
 *		25001			the transaction has one snapshot for all its statements
 *
 * Locks		none
 * Example		SELECT twtasks.wait_for_task('...', '{DONE}', '5 s');
 */
CREATE FUNCTION twtasks.wait_for_task(
	id uuid,
	statuses twtasks.task_status[] DEFAULT '{DONE}',
	timeout interval DEFAULT '10 s')
RETURNS twtasks.task_status
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + timeout;
	is_last_look boolean := false;
	task record;
BEGIN
	PERFORM twtasks_internal.check_waiting();
	LOOP
		SELECT t.status, t.version, t.error INTO task
		FROM twtasks.tasks t WHERE t.id = wait_for_task.id;
		IF NOT FOUND AND NOT is_last_look THEN
			-- It may have finished in the first partition of the history, which another
			-- session made meanwhile.  Its commit shows the task, then tells of the
			-- partition, then frees its lock.  This session learns of that at its next
			-- new lock.
			WHILE clock_timestamp() < until
				AND EXISTS (SELECT FROM pg_locks l
							WHERE l.relation = 'twtasks.finished_task'::regclass AND l.mode = 'ShareUpdateExclusiveLock'
							  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
							  AND l.granted AND l.pid <> pg_backend_pid()) LOOP
				PERFORM pg_sleep(0.005);
			END LOOP;
			PERFORM FROM twtasks.cleaning;
			is_last_look := true;
			CONTINUE;
		ELSIF NOT FOUND THEN
			RAISE EXCEPTION 'task "%" does not exist', wait_for_task.id
				USING ERRCODE = 'no_data_found';
		ELSIF task.status = ANY (statuses) THEN
			RETURN task.status;
		END IF;
		EXIT WHEN clock_timestamp() >= until
			OR task.status IN ('DONE', 'FAILED', 'CANCELLED');
		PERFORM pg_sleep(0.005);
	END LOOP;
	RAISE EXCEPTION 'task "%" did not become %', wait_for_task.id,
		array_to_string(statuses, ' or ')
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = format('It is %s at version %s%s.', task.status, task.version, ', with the error: ' || task.error),
			HINT = 'A task runs only after the commit of the transaction that added it.';
END $$;

/*
 * twtasks.wait_until_idle(pattern, timeout)
 *
 *		Waits until no task could run now: none is SUBMITTED or PROCESSING, and
 *		no WAITING task is due.  For tests, as wait_for_task().
 *
 * Parameters
 *		pattern			a type, or the beginning of types and a *
 *		timeout			longest wait
 *
 * Errors
 *		55000			not in time
 *		25001			the transaction has one snapshot for all its statements
 *
 * Locks		none
 */
CREATE FUNCTION twtasks.wait_until_idle(pattern text DEFAULT '*', timeout interval DEFAULT '10 s')
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + timeout;
	busy text;
BEGIN
	PERFORM twtasks_internal.check_waiting();
	LOOP
		SELECT string_agg(format('%s of type "%s", %s', x.n, x.type, x.status), '; ') INTO busy
		FROM (SELECT t.type, t.status, count(*) AS n
			  FROM twtasks.task t
			  WHERE twtasks_internal.fits(pattern, t.type) IS NOT NULL
				AND (t.status IN ('SUBMITTED', 'PROCESSING')
					 OR (t.status = 'WAITING' AND t.next_event_time <= (SELECT twtasks.clock())))
			  GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 10) x;
		IF busy IS NULL THEN
			RETURN;
		END IF;
		EXIT WHEN clock_timestamp() >= until;
		PERFORM pg_sleep(0.005);
	END LOOP;
	RAISE EXCEPTION 'tasks were still to run'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = busy || '.',
			HINT = 'A task runs only after the commit of the transaction that added it.';
END $$;
