/*
 * twtasks_internal.claim_again(task)
 *
 *		Claims the id and key of a finished task again, before the task becomes
 *		live.  Cleaning frees them a moment before it drops the task.
 *
 * Errors
 *		23505			another task has that key or id
 *
 * Writes		twtasks.unique_key
 * Locks		waits for a session that adds a task with that key or id
 */
CREATE FUNCTION twtasks_internal.claim_again(task twtasks.finished_task)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	put bigint;
BEGIN
	-- A new row, since cleaning may be about to delete the old one.  A task loses its
	-- row only to a later put_task(), and has started, so it is not replaced: -1.
	DELETE FROM twtasks.unique_key k WHERE k.task_id = task.id RETURNING k.put_version INTO put;
	INSERT INTO twtasks.unique_key (task_id, key, put_version)
	VALUES (task.id, task.key, CASE WHEN FOUND THEN put ELSE -1 END)
	ON CONFLICT DO NOTHING;
	IF NOT EXISTS (SELECT FROM twtasks.unique_key k
				   WHERE k.task_id = task.id AND k.key IS NOT DISTINCT FROM task.key) THEN
		RAISE EXCEPTION 'the key of task "%" belongs to another task by now', task.id
			USING ERRCODE = 'unique_violation',
				DETAIL = format('The key is "%s".', task.key);
	END IF;
END $$;

/*
 * twtasks_internal.make_live_again(task, run_after)
 *
 *		Moves a task from the history back to the live tasks: WAITING, with the
 *		same id, key and data.  The caller holds the lock on its row.
 *
 * Returns
 *		facts() of the live task
 *
 * Errors
 *		22023			its bucket is no longer configured
 *		23505			another task has its key or id
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key
 * Wakes		a sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.make_live_again(task twtasks.finished_task, run_after timestamptz)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	runs_at CONSTANT timestamptz := coalesce(run_after, moment);
	live twtasks.task;
BEGIN
	PERFORM twtasks_internal.check_bucket(task.bucket);
	PERFORM twtasks_internal.claim_again(task);
	DELETE FROM twtasks.finished_task f WHERE f.id = task.id AND f.state_time = task.state_time;
	INSERT INTO twtasks.task AS t
		(id, version, next_event_time, state_time, created, status, queued, size, priority,
		 type, sub_type, bucket, key, error, data, payload, context, added_by)
	VALUES (task.id, task.version + 1, runs_at, moment, task.created, 'WAITING', false,
			coalesce(octet_length(task.data::text), 0) + coalesce(octet_length(task.payload), 0)
			+ coalesce(octet_length(task.context::text), 0),
			task.priority, task.type, task.sub_type, task.bucket, task.key, task.error,
			task.data, task.payload, task.context, task.added_by)
	RETURNING t.* INTO live;
	PERFORM twtasks_internal.queue_trigger(live.id, live.version, live.bucket, live.type,
								  live.priority, live.size, runs_at);
	RETURN twtasks_internal.facts(live);
END $$;

/*
 * twtasks_internal.change_finished(action, id, version, run_after, reason)
 *
 *		Changes a task that is not live, as change_task() does: reopens a task
 *		of the history, or reports why nothing is changed.
 *
 * Returns, errors, locks, wakes: as change_task()
 */
CREATE FUNCTION twtasks_internal.change_finished(
	action text,
	id uuid,
	version bigint,
	run_after timestamptz,
	reason text)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.finished_task;
	answer twtasks.change_result;
BEGIN
	SELECT f.* INTO task FROM twtasks.finished_task f WHERE f.id = change_finished.id FOR UPDATE;
	IF NOT FOUND THEN
		-- It may have become live again while we waited for its row.
		SELECT 'wrong_version', t.version, t.status INTO answer
		FROM twtasks.task t WHERE t.id = change_finished.id;
		RETURN CASE WHEN FOUND THEN answer
					ELSE twtasks_internal.change_result('not_found') END;
	ELSIF task.version <> change_finished.version THEN
		RETURN twtasks_internal.change_result('wrong_version', task.version, task.status);
	ELSIF NOT EXISTS (
		SELECT FROM twtasks.transition x
		WHERE x.action = change_finished.action AND x.actor = 'operator'
		  AND x.from_status = task.status) THEN
		RETURN twtasks_internal.change_result('wrong_status', task.version, task.status);
	END IF;
	PERFORM twtasks_internal.write_audit(change_finished.action, task.id, twtasks_internal.finished_facts(task),
								twtasks_internal.make_live_again(task, run_after), reason);
	RETURN twtasks_internal.change_result('changed', task.version + 1, 'WAITING');
END $$;

/*
 * twtasks.reopen_task(id, version, run_after, reason)
 *
 *		Moves a FAILED or CANCELLED task from the history back, to run at
 *		run_after or now.  The id and key stay the same, so a receiver that uses
 *		the id as an idempotency key recognizes the task.  Its tries start from
 *		0, and it no longer expires.
 *
 * Errors
 *		22023			its bucket is no longer configured
 *		23505			its key, freed by cleaning, belongs to another task
 *
 * Returns, other errors, locks, wakes: as change_task()
 * Example		SELECT * FROM twtasks.reopen_task('...', 3, reason => 'the bank rejected it by mistake');
 */
CREATE FUNCTION twtasks.reopen_task(
	id uuid, version bigint DEFAULT NULL, run_after timestamptz DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM twtasks_internal.change_task('reopen', id, version, run_after, reason) $$;
