/*
 * twtasks.change_task(action, id, version, run_after, reason)
 *
 *		Makes a change by hand if the state machine (twtasks.transition) allows
 *		an operator that action from the task's status, and writes it to
 *		twtasks.audit.  For the functions below.
 *
 * Returns
 *		result			'changed', 'not_found', 'wrong_version', 'wrong_status'
 *		version, status	of the task now
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.audit
 * Locks		row lock; waits for a grab or finish of the same task
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks.change_task(
	action text,
	id uuid,
	version bigint,
	run_after timestamptz,
	reason text)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	started CONSTANT timestamptz := clock_timestamp();
	task twtasks.task;
	rule twtasks.transition;
BEGIN
	IF id IS NULL OR version IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN id IS NULL THEN 'id' ELSE 'version' END
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Read both from twtasks.tasks: the version says which state you decided on.';
	END IF;
	IF NOT isfinite(run_after) THEN
		RAISE EXCEPTION 'run_after must be a finite time'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = change_task.id FOR UPDATE;
	IF NOT FOUND THEN
		RETURN (SELECT (CASE WHEN f.version = change_task.version
							 THEN 'wrong_status' ELSE 'wrong_version' END,
						f.version, f.status)::twtasks.change_result
				FROM twtasks.finished_task f WHERE f.id = change_task.id
				UNION ALL SELECT ('not_found', NULL, NULL)::twtasks.change_result
				LIMIT 1);
	END IF;
	SELECT x.* INTO rule FROM twtasks.transition x
	WHERE x.action = change_task.action AND x.actor = 'operator'
	  AND x.from_status = task.status;
	IF task.version <> change_task.version THEN
		RETURN ('wrong_version', task.version, task.status)::twtasks.change_result;
	ELSIF rule.action IS NULL THEN
		RETURN ('wrong_status', task.version, task.status)::twtasks.change_result;
	END IF;

	IF rule.to_status IN ('FAILED', 'CANCELLED') THEN
		DELETE FROM twtasks.task t WHERE t.id = task.id;
		INSERT INTO twtasks.finished_task
			(id, version, state_time, created, incarnation, status, tries, priority,
			 type, sub_type, bucket, key, error, data, payload, context)
		VALUES (task.id, task.version + 1, started, task.created, NULL, rule.to_status,
				task.tries, task.priority, task.type, task.sub_type, task.bucket, task.key,
				coalesce(task.error, reason), task.data, task.payload, task.context);
	ELSE
		UPDATE twtasks.task t
		SET status = rule.to_status, version = t.version + 1, state_time = started,
			queued = rule.to_status = 'SUBMITTED',
			tries = CASE WHEN task.status IN ('ERROR', 'HELD') AND rule.to_status = 'WAITING'
						 THEN 0 ELSE t.tries END,
			next_event_time = CASE rule.to_status
				WHEN 'SUBMITTED' THEN started + twtasks.queue_time(task.type)
				WHEN 'WAITING' THEN coalesce(run_after, started)
				ELSE 'infinity' END
		WHERE t.id = task.id;
		IF rule.to_status IN ('SUBMITTED', 'WAITING') THEN
			PERFORM twtasks.queue_trigger(task.id, task.version + 1, task.bucket, task.type,
				task.priority, task.size,
				CASE rule.to_status WHEN 'WAITING' THEN coalesce(run_after, started) END);
		END IF;
	END IF;
	INSERT INTO twtasks.audit (at, actor, action, task_id, from_version, to_version,
							   from_status, to_status, reason)
	VALUES (started, session_user, change_task.action, task.id, task.version, task.version + 1,
			task.status, rule.to_status, change_task.reason);
	RETURN ('changed', task.version + 1, rule.to_status)::twtasks.change_result;
END $$;

/*
 * twtasks.resume_task(id, version, reason)
 *
 *		Lets a task in ERROR, whose tries start anew, or one that is WAITING, run
 *		now.
 *
 * Returns, errors, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.resume_task('...', 4, 'bank is back');
 */
CREATE FUNCTION twtasks.resume_task(id uuid, version bigint, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks.change_task('resume', id, version, NULL, reason) $$;

/*
 * twtasks.reschedule_task(id, version, run_after, reason)
 *
 *		Gives a WAITING task another time; a past one means now.
 *
 * Errors
 *		22004			id, version or run_after is NULL
 *		22023			run_after is infinite
 *
 * Returns, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.reschedule_task(
	id uuid, version bigint, run_after timestamptz, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF run_after IS NULL THEN
		RAISE EXCEPTION 'run_after must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN twtasks.change_task('reschedule', id, version, run_after, reason);
END $$;

/*
 * twtasks.cancel_task(id, version, reason)
 *
 *		A task that has not started is never to run: CANCELLED.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.cancel_task(id uuid, version bigint, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks.change_task('cancel', id, version, NULL, reason) $$;

/*
 * twtasks.fail_task(id, version, reason)
 *
 *		Gives a task in ERROR up for good: FAILED.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.fail_task(id uuid, version bigint, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks.change_task('fail', id, version, NULL, reason) $$;

/*
 * twtasks.hold_task(id, version, reason)
 *
 *		Keeps a task from running until release_task(): HELD.
 *
 * Returns, errors, locks: as change_task()
 */
CREATE FUNCTION twtasks.hold_task(id uuid, version bigint, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks.change_task('hold', id, version, NULL, reason) $$;

/*
 * twtasks.release_task(id, version, run_after, reason)
 *
 *		Lets a HELD task run, at run_after or now; its tries start anew.
 *
 * Returns, errors, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks.release_task(
	id uuid, version bigint, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks.change_task('release', id, version, run_after, reason) $$;
