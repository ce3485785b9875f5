/*
 * twtasks_internal.execute_tasks(function, role, ids, versions, incarnation, token, ...)
 *
 *		Grabs tasks, runs a SQL function for each, and finishes those that
 *		succeeded, all in one transaction.  So the function's effects in this
 *		database happen exactly once.  Each call of the function runs in its own
 *		subtransaction; if it fails, only its own effects are undone.  A call with
 *		several tasks that fails is repeated for each half of them.
 *
 *		Do not call it in the session of start_node(): there advisory locks
 *		that a function takes in the session would stay.
 *
 * Parameters
 *		function		its name; takes (twtasks.task_input), returns twtasks.task_result or
 *						void, which means done.  With '(twtasks.task_input[])' behind the
 *						name: takes all tasks in one call, and may also return
 *						twtasks.task_answer[]
 *		role			runs the function; NULL: the role that calls
 *		ids ... buckets, places	as in grab_tasks()
 *		retry			retry policy for types that have none, as for configure_type()
 *		grabbed			true: the same call of grab_tasks(), in a transaction of its own,
 *						has won the tasks.  Tasks under a cluster-wide limit need this:
 *						otherwise nobody could take its slots until this one ends
 *
 * Returns
 *		id, version		of each task that was won or refused
 *		result			'finished'
 *						'failed'		still PROCESSING: finish it as retry or error
 *						'refused'		by a cluster-wide limit; version is NULL
 *		message			the failure with its SQLSTATE, or the name of the limit; of a finished
 *						task its result, such as 'retry', and NULL if that is done
 *		tries, type		of the task
 *		wait_us			microseconds from when the task could run to its grab; NULL: refused,
 *						or grabbed earlier
 *
 * Errors
 *		42501			the calling role may not SET ROLE role, or role may not execute
 *						the function, or the call is within a security-restricted
 *						operation, such as ANALYZE
 *		42883			no function of that name with that signature
 *		42704			no such role
 *		40P01, 40001	of the function, if several tasks were won: nothing was done, and
 *						each task may succeed in a call of its own
 *
 * Writes		twtasks.task, twtasks.finished_task and what the function writes
 * Locks		rows, in order of id, until the whole batch commits
 */
CREATE FUNCTION twtasks_internal.execute_tasks(
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
	retry jsonb DEFAULT NULL,
	places tid[] DEFAULT NULL,
	grabbed boolean DEFAULT false,
	OUT id uuid,
	OUT version bigint,
	OUT result text,
	OUT message text,
	OUT tries integer,
	OUT type text,
	OUT wait_us bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_execute_tasks';

/*
 * twtasks_internal.find_handler(function, role)
 *
 *		Finds a SQL handler, and checks its signature and that the caller may
 *		run it as role.
 *
 * Parameters
 *		function		as in execute_tasks()
 *
 * Returns
 *		its oid
 *
 * Errors
 *		42883, 42704, 42501	as execute_tasks()
 */
CREATE FUNCTION twtasks_internal.find_handler(function text, role name)
RETURNS oid
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_find_handler';

/*
 * twtasks_internal.check_handlers(functions, roles)
 *
 *		Finds the SQL handlers among these that find_handler() refuses.  Calls
 *		none.
 *
 * Parameters
 *		functions		skips NULL
 *		roles			one for each
 *
 * Returns
 *		place			in the arrays, from 1
 *		fault			the reason, and what to type
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.check_handlers(
	functions text[], roles text[], OUT place integer, OUT fault text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	handler record;
	hint text;
BEGIN
	FOR handler IN
		SELECT h.function, h.role, h.n::integer
		FROM unnest(functions, roles) WITH ORDINALITY h(function, role, n)
		WHERE h.function IS NOT NULL ORDER BY h.n
	LOOP
		BEGIN
			PERFORM twtasks_internal.find_handler(handler.function, handler.role::name);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
			place := handler.n;
			fault := format('%s (SQLSTATE %s)', fault, SQLSTATE) || coalesce(': ' || nullif(hint, ''), '');
			RETURN NEXT;
		END;
	END LOOP;
END $$;
