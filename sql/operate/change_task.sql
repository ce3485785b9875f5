/*
 * twtasks_internal.check_change(id, run_after)
 *
 *		Checks the arguments of a change by hand.
 *
 * Errors
 *		22004			id is NULL
 *		22023			run_after is infinite
 */
CREATE FUNCTION twtasks_internal.check_change(id uuid, run_after timestamptz)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF id IS NULL THEN
		RAISE EXCEPTION 'id must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Read it from twtasks.tasks; the version there says which state you decided on.';
	END IF;
	IF NOT isfinite(run_after) THEN
		RAISE EXCEPTION 'run_after must be a finite time'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

/*
 * twtasks_internal.check_priority(priority)
 *
 *		Checks the argument of prioritize_task().
 *
 * Errors
 *		22004			priority is NULL
 *		22023			it is not between 0 and 9
 */
CREATE FUNCTION twtasks_internal.check_priority(priority integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF priority IS NULL THEN
		RAISE EXCEPTION 'priority must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = '0 is the most urgent, 9 the least.';
	ELSIF priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', priority
			USING ERRCODE = 'invalid_parameter_value',
				HINT = '0 is the most urgent, 9 the least.';
	END IF;
END $$;

/*
 * twtasks_internal.end_by_hand(task, status, reason)
 *
 *		Moves a live task to the history.  The caller holds the lock on its row.
 *
 *		A task of twtasks.unknown_outcomes that stays in ERROR stays in that view, which
 *		knows it by the beginning of its error.
 *
 * Returns
 *		status			the status of the task now; ERROR: a function of on_end failed
 *		became			facts() of the task
 *
 * Writes		as end_tasks()
 */
CREATE FUNCTION twtasks_internal.end_by_hand(
	task twtasks.task, INOUT status twtasks.task_status, reason text, OUT became jsonb)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_unknown CONSTANT boolean := EXISTS (SELECT FROM twtasks.unknown_outcomes u WHERE u.id = task.id);
BEGIN
	SELECT e.status INTO STRICT status
	FROM twtasks_internal.end_tasks(ARRAY[task.id], ARRAY[status::text], ARRAY[CASE WHEN status = 'DONE' THEN reason ELSE coalesce(task.error, reason) END]) e;
	IF is_unknown THEN
		UPDATE twtasks.task t SET error = twtasks_internal.cut_message(task.error || '; ' || t.error)
		WHERE t.id = task.id AND t.status = 'ERROR' AND NOT t.error ^@ task.error;
	END IF;
	became := coalesce((SELECT twtasks_internal.finished_facts(f.*) FROM twtasks.finished_task f
						WHERE f.id = task.id AND f.version = task.version + 1),
					   (SELECT twtasks_internal.facts(t.*) FROM twtasks.task t WHERE t.id = task.id));
END $$;

/*
 * twtasks_internal.move_by_hand(task, status, run_after)
 *
 *		Gives a live task another status, and queues a trigger if the task may
 *		run then.  The caller holds the lock on its row.
 *
 *		A held task remembers its time to run, or that it was in ERROR; release
 *		returns it to that.
 *
 *		To resume a task, or to name a time for it, is a decision to run it: an
 *		expires that would come first is cleared.  To release a task at its old
 *		time is no such decision.
 *
 * Returns
 *		facts() of the task
 *
 * Writes		twtasks.task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.move_by_hand(
	task twtasks.task, status twtasks.task_status, run_after timestamptz)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	runs_at CONSTANT timestamptz := coalesce(run_after, nullif(task.planned, 'infinity'), moment);
	moved twtasks.task;
BEGIN
	UPDATE twtasks.task t
	SET status = move_by_hand.status, version = t.version + 1, state_time = moment,
		queued = move_by_hand.status = 'SUBMITTED',
		tries = CASE WHEN task.status IN ('ERROR', 'HELD') AND move_by_hand.status = 'WAITING'
					 THEN 0 ELSE t.tries END,
		next_event_time = CASE move_by_hand.status
			WHEN 'SUBMITTED' THEN moment + twtasks_internal.queue_time(t.type)
			WHEN 'WAITING' THEN runs_at
			ELSE 'infinity' END,
		planned = CASE WHEN move_by_hand.status = 'HELD' AND task.status IN ('WAITING', 'ERROR')
					   THEN t.next_event_time END,
		expires = CASE WHEN move_by_hand.status NOT IN ('WAITING', 'SUBMITTED')
							OR t.expires > greatest(run_after, moment)
							OR (task.status = 'HELD' AND run_after IS NULL)
					   THEN t.expires END
	WHERE t.id = task.id
	RETURNING t.* INTO moved;
	IF moved.status IN ('SUBMITTED', 'WAITING') THEN
		PERFORM twtasks_internal.queue_trigger(moved.id, moved.version, moved.bucket, moved.type,
			moved.priority, moved.size, CASE moved.status WHEN 'WAITING' THEN runs_at END);
	END IF;
	RETURN twtasks_internal.facts(moved);
END $$;

/*
 * twtasks_internal.prioritize_by_hand(task, priority)
 *
 *		Gives a live task another priority, and nothing else.  The caller holds the lock
 *		on its row.  The trigger with the old version, which sidecars may have in memory
 *		at the old priority, does not start the task any more; the new trigger does.
 *
 * Returns
 *		facts() of the task
 *
 * Writes		twtasks.task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.prioritize_by_hand(task twtasks.task, priority integer)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moved twtasks.task;
BEGIN
	UPDATE twtasks.task t
	SET priority = prioritize_by_hand.priority, version = t.version + 1
	WHERE t.id = task.id
	RETURNING t.* INTO moved;
	IF moved.status IN ('SUBMITTED', 'WAITING') THEN
		PERFORM twtasks_internal.queue_trigger(moved.id, moved.version, moved.bucket, moved.type,
			moved.priority, moved.size, CASE moved.status WHEN 'WAITING' THEN moved.next_event_time END);
	END IF;
	RETURN twtasks_internal.facts(moved);
END $$;

/*
 * twtasks_internal.change_task(action, id, version, run_after, reason, priority)
 *
 *		Makes a change by hand and records it in twtasks.audit, if the state
 *		machine (twtasks.transition) allows an operator that action in the
 *		task's status.
 *
 *		A change that is not made is an answer and not an error, since others
 *		work on the same tasks.
 *
 * Parameters
 *		version			the version that you saw: if the task has changed since, nothing
 *						is done; NULL: any version
 *		reason			for the audit
 *		priority		of prioritize
 *
 * Returns
 *		result			'changed'
 *						'requested'			its handler was asked to stop: request_cancel()
 *						'unchanged'			it has that priority already
 *						'not_found'			no such task, live or in the history
 *						'wrong_version'		the task has changed since you looked: look again
 *						'wrong_status'		the action is not possible in its status
 *		version, status	of the task now
 *
 * Errors
 *		22004			id is NULL
 *		22023			run_after is infinite
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.audit
 * Locks		row lock; waits for a grab or finish of the same task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.change_task(
	action text,
	id uuid,
	version bigint,
	run_after timestamptz,
	reason text,
	priority integer DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	target twtasks.task_status;
	became jsonb;
	entry bigint;
BEGIN
	PERFORM twtasks_internal.check_change(change_task.id, run_after);
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = change_task.id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN twtasks_internal.change_finished(change_task.action, change_task.id, change_task.version,
									   run_after, reason);
	ELSIF task.version <> change_task.version THEN
		RETURN twtasks_internal.change_result('wrong_version', task.version, task.status);
	ELSIF change_task.action = 'cancel' AND task.status = 'PROCESSING' THEN
		RETURN twtasks.request_cancel(task.id, task.version, reason);
	END IF;
	SELECT x.to_status INTO target FROM twtasks.transition x
	WHERE x.action = change_task.action AND x.actor = 'operator' AND x.from_status = task.status
	  AND (x.action <> 'release' OR (x.to_status = 'ERROR')
			= (run_after IS NULL AND task.planned IS NOT DISTINCT FROM 'infinity'));
	IF NOT FOUND
		OR change_task.action = 'confirm' AND NOT EXISTS (SELECT FROM twtasks.unknown_outcomes u WHERE u.id = task.id) THEN
		RETURN twtasks_internal.change_result('wrong_status', task.version, task.status);
	END IF;
	IF change_task.action = 'prioritize' AND change_task.priority = task.priority THEN
		RETURN twtasks_internal.change_result('unchanged', task.version, task.status);
	ELSIF target IN ('DONE', 'FAILED', 'CANCELLED') THEN
		SELECT e.status, e.became INTO target, became FROM twtasks_internal.end_by_hand(task, target, reason) e;
	ELSIF change_task.action = 'prioritize' THEN
		became := twtasks_internal.prioritize_by_hand(task, change_task.priority);
	ELSE
		became := twtasks_internal.move_by_hand(task, target, run_after);
	END IF;
	-- Another extension may have its say when the change is written down.
	entry := twtasks_internal.write_audit(change_task.action, task.id, twtasks_internal.facts(task), became, reason);
	RETURN (SELECT twtasks_internal.change_result('changed', a.to_version, a.to_status) FROM twtasks.audit a WHERE a.id = entry);
END $$;

/*
 * twtasks.resume_task(id, version, reason)
 *
 *		Lets a task in ERROR or WAITING run now.  The tries of a task in ERROR
 *		start from 0.  A past expires is cleared.
 *
 * Returns, errors, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.resume_task('...', reason => 'the bank is back');
 */
CREATE FUNCTION twtasks.resume_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('resume', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.reschedule_task(id, version, run_after, reason)
 *
 *		Gives a WAITING task another time to run; a past time means now.  An
 *		expires that is not later is cleared.
 *
 * Errors
 *		22004			id or run_after is NULL
 *		22023			run_after is infinite
 *
 * Returns, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.reschedule_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF run_after IS NULL THEN
		RAISE EXCEPTION 'run_after must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN twtasks_internal.change_task('reschedule', id, version, run_after, reason);
END $$;

/*
 * twtasks.prioritize_task(id, version, priority, reason)
 *
 *		Gives a task that does not run another priority, 0 (urgent) to 9.  Its time and
 *		its place by age stay, so it goes before all tasks of a lower priority.
 *
 * Errors
 *		22004			id or priority is NULL
 *		22023			priority is not between 0 and 9
 *
 * Returns, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.prioritize_task('...', priority => 0, reason => 'the customer waits');
 */
CREATE FUNCTION twtasks.prioritize_task(
	id uuid, version bigint DEFAULT NULL, priority integer DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_priority(priority);
	RETURN twtasks_internal.change_task('prioritize', id, version, NULL::timestamptz, reason, priority);
END $$;

/*
 * twtasks.cancel_task(id, version, reason)
 *
 *		Cancels a task that has not started: CANCELLED.  The handler of a
 *		running task is asked to stop, as by request_cancel().
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.cancel_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('cancel', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.fail_task(id, version, reason)
 *
 *		Gives up a task in ERROR for good: FAILED.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.fail_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('fail', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.confirm_task(id, version, reason)
 *
 *		Ends a task of twtasks.unknown_outcomes as DONE, since its caller knows that its
 *		effect has happened.  The reason becomes its message.  A function of on_end hears
 *		of it without an outcome.  The policy's when_done applies, but a row of the task
 *		is always kept.
 *
 * Returns, errors, locks: as change_task(); 'wrong_status' also if its outcome is known
 * Example		SELECT * FROM twtasks.confirm_task('...', 2, 'the bank has executed it');
 */
CREATE FUNCTION twtasks.confirm_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('confirm', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.hold_task(id, version, reason)
 *
 *		Keeps a task from running until release_task(): HELD.  The task
 *		remembers its time to run.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.hold_task(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('hold', id, version, NULL::timestamptz, reason) $$;

/*
 * twtasks.release_task(id, version, run_after, reason)
 *
 *		Lets a HELD task run at run_after, else at its old time, which may be
 *		now; its tries start from 0.  Without run_after, a task held in ERROR
 *		returns to ERROR, and a past expires still applies.  With run_after,
 *		which may be now(), a past expires is cleared.
 *
 * Returns, errors, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.release_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('release', id, version, run_after, reason) $$;
