/*
 * twtasks.execute_tasks(function, role, ids, versions, incarnation, token, ...)
 *
 *		Grabs tasks, runs a SQL function for each and finishes those that
 *		succeeded, all in one transaction: its effects in this database happen
 *		exactly once.  Each function runs in a subtransaction of its own; one
 *		that fails undoes only its own effects.
 *
 * Parameters
 *		function		takes (twtasks.task_input), returns twtasks.task_result or
 *						void, which means done
 *		role			runs the function; NULL: the session's user
 *		ids ... buckets	as in grab_tasks()
 *
 * Returns
 *		id, version		of each task that was won
 *		result			'finished', or 'failed': still PROCESSING, for the caller to
 *						finish as retry or error
 *		message			why it failed, with its SQLSTATE
 *		tries, type		of the task
 *
 * Errors
 *		42501			the session's user is not a member of role, or role may not
 *						execute the function
 *		42883			no such function, or it has another signature
 *
 * Writes		twtasks.task, twtasks.finished_task and what the function writes
 * Locks		rows, in order of id, until the whole batch commits
 */
CREATE FUNCTION twtasks.execute_tasks(
	function text,
	role name,
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[],
	types text[] DEFAULT '{}',
	buckets text[] DEFAULT '{}',
	OUT id uuid,
	OUT version bigint,
	OUT result text,
	OUT message text,
	OUT tries integer,
	OUT type text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	task twtasks.task_input;
	answer twtasks.task_result;
	callee CONSTANT oid := twtasks.find_handler(function, role);
BEGIN
	FOR task IN
		SELECT g.* FROM twtasks.grab_tasks(ids, versions, incarnation, token,
										   timeouts_ms, stuck, types, buckets) g
	LOOP
		CONTINUE WHEN task.version IS NULL;
		id := task.id;
		version := task.version;
		tries := task.tries;
		type := task.type;
		BEGIN
			answer := twtasks.call_handler(callee, role, task);
			PERFORM FROM twtasks.finish_tasks(
				ARRAY[task.id], ARRAY[task.version],
				ARRAY[coalesce(answer.result, 'done')],
				ARRAY[coalesce(extract(epoch FROM answer.delay) * 1000, 0)::bigint],
				ARRAY[answer.message], incarnation, token);
			IF NOT FOUND THEN
				RAISE EXCEPTION 'task was changed by its own handler'
					USING ERRCODE = 'object_not_in_prerequisite_state';
			END IF;
			result := 'finished';
			message := NULL;
		EXCEPTION WHEN OTHERS THEN
			result := 'failed';
			message := format('%s (SQLSTATE %s)', SQLERRM, SQLSTATE);
		END;
		RETURN NEXT;
	END LOOP;
END $$;

/*
 * twtasks.find_handler(function, role)
 *
 *		Looks a SQL handler up and checks that it has the right signature and
 *		that the session may run it as role.
 *
 * Returns
 *		its oid
 *
 * Errors
 *		42883, 42501	as execute_tasks()
 */
CREATE FUNCTION twtasks.find_handler(function text, role name)
RETURNS oid
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_find_handler';

/*
 * twtasks.call_handler(function, role, task)
 *
 *		Calls a SQL handler as role, with the session's settings put back
 *		afterwards.  Constraints are immediate while it runs, unless it defers
 *		them, and then until it ends.
 *
 * Returns
 *		its answer; NULL from a void function
 *
 * Errors
 *		whatever the handler raises
 */
CREATE FUNCTION twtasks.call_handler(
	function oid, role name, task twtasks.task_input)
RETURNS twtasks.task_result
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_handler';
