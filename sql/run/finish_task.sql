/*
 * twtasks.finish_task(id, version, result, message, delay, outcome, add)
 *
 *		Finishes one task that was handed on: its handler has answered
 *		"accepted", and this call reports the outcome.
 *
 * Parameters
 *		id, version		as the handler received them
 *		result			'done', 'delete', 'retry', 'repeat' or 'error', as in
 *						finish_tasks()
 *		message			text kept with the task, or NULL
 *		delay			for retry and repeat: the wait; NULL: none.  No limit of tries
 *						applies; where the type's policy for retries is "none", both mean
 *						error
 *		outcome			for the function of on_end: a JSON object of at most 8,192 bytes
 *						as text, or NULL
 *		add				for done and delete: tasks to add in the same transaction, as in
 *						add_tasks(jsonb), by the caller; NULL: none.  If one cannot be
 *						added, or the function of on_end fails, the call fails
 *
 * Returns
 *		result			'changed', or why nothing changed: 'not_found',
 *						'wrong_version' (it was grabbed again or finished, or its
 *						deadline has passed), 'wrong_status'
 *		version, status	of the task now
 *
 * Errors
 *		22004			id or version is NULL
 *		22023			result is not one of the above, delay is negative, outcome is
 *						no object or too long, or add is no array or comes with another
 *						result
 *		55P03			lock_timeout is set, and another transaction has kept the task
 *						locked for that time, or for a second
 *		42501			the caller may not add the tasks, or the call is within a
 *						security-restricted operation, such as ANALYZE
 *		others			as add_tasks(), for the tasks to add
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.unique_key
 * Locks		row lock; waits for the handler's own finish.  Where lock_timeout is set,
 *				it waits at most a second for the task, and as long as that for all else
 * Wakes		a sidecar of the bucket at the task's next time
 * Example		SELECT * FROM twtasks.finish_task('...', 1, 'done', add => '[{"type": "SEND_RECEIPT"}]');
 */
CREATE FUNCTION twtasks.finish_task(
	id uuid,
	version bigint,
	result text DEFAULT 'done',
	message text DEFAULT NULL,
	delay interval DEFAULT NULL,
	outcome jsonb DEFAULT NULL,
	add jsonb DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE c VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.finish_task_as_owner(given record)
 *
 *		The work of finish_task(), with its caller noted.  The row has a column for
 *		each parameter.
 *
 * Returns, errors, writes: as finish_task()
 */
CREATE FUNCTION twtasks_internal.finish_task_as_owner(given record)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- longer delays become this one
	longest CONSTANT interval := interval '100 years';
	result text := given.result;
	lock_timeout CONSTANT text := current_setting('lock_timeout');
	finished twtasks.change_result;
BEGIN
	IF given.id IS NULL OR given.version IS NULL THEN
		RAISE EXCEPTION '% must not be null', CASE WHEN given.id IS NULL THEN 'id' ELSE 'version' END
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF result IS NULL OR result <> ALL ('{done,delete,retry,repeat,error}'::text[]) THEN
		RAISE EXCEPTION 'unrecognized result: %', coalesce('"' || result || '"', 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Results are done, delete, retry, repeat and error.';
	END IF;
	IF given.delay < interval '0' THEN
		RAISE EXCEPTION 'delay must not be negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_outcome(given.outcome);
	-- A caller that must not wait loses little time for a task that somebody has locked.
	IF lock_timeout::interval > interval '1 second' THEN
		PERFORM set_config('lock_timeout', '1s', true);
	END IF;
	PERFORM FROM twtasks.task t WHERE t.id = given.id FOR UPDATE;
	PERFORM set_config('lock_timeout', lock_timeout, true);
	-- Types that must not be tried twice say so in their policy.
	IF result IN ('retry', 'repeat')
		AND (SELECT (twtasks.policy_of(t.type)).retry = '"none"' FROM twtasks.task t WHERE t.id = given.id) THEN
		result := 'error';
	END IF;
	SELECT 'changed', f.version, f.status INTO finished
	FROM twtasks_internal.finish_tasks(
		ARRAY[given.id], ARRAY[given.version], ARRAY[result],
		ARRAY[ceil(extract(epoch FROM least(coalesce(given.delay, '0'), longest)) * 1000)::bigint],
		ARRAY[given.message], NULL::bigint, NULL::bigint, outcomes => ARRAY[given.outcome],
		raises => given.add IS NOT NULL, adds => ARRAY[given.add]) f;
	IF FOUND THEN
		RETURN finished;
	END IF;
	RETURN (SELECT twtasks_internal.change_result(
				CASE WHEN x.version = given.version THEN 'wrong_status' ELSE 'wrong_version' END,
				x.version, x.status)
			FROM twtasks.tasks x WHERE x.id = given.id
			UNION ALL SELECT twtasks_internal.change_result('not_found')
			LIMIT 1);
END $$;
