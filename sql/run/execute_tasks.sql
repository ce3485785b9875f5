/*
 * twtasks_internal.execute_tasks(function, role, ids, versions, incarnation, token, ...)
 *
 *		Grabs tasks, runs a SQL function for each and finishes those that
 *		succeeded, all in one transaction: its effects in this database happen
 *		exactly once.  Each function runs in a subtransaction of its own; one
 *		that fails undoes only its own effects.  To be called in a session of
 *		its own, not in that of start_node(): there advisory locks of the
 *		session that a function takes stay.
 *
 * Parameters
 *		function		takes (twtasks.task_input), returns twtasks.task_result or
 *						void, which means done
 *		role			runs the function; NULL: the role that calls
 *		ids ... buckets, places	as in grab_tasks()
 *		retry			for types without a retry policy, as configure_type() takes it
 *		grabbed			whether the same call of grab_tasks(), in a transaction of its
 *						own, has won them already.  So it has to be for tasks under a
 *						limit of the whole cluster: others could not take a slot of
 *						it before this transaction ends
 *
 * Returns
 *		id, version		of each task that was won, or refused
 *		result			'finished', or 'failed': still PROCESSING, for the caller to
 *						finish as retry or error; or 'refused' by a limit of the whole
 *						cluster, version is NULL then
 *		message			why it failed, with its SQLSTATE; or the name of the limit
 *		tries, type		of the task
 *
 * Errors
 *		42501			the role that calls could not SET ROLE role, or role may not
 *						execute the function; or the call is within a
 *						security-restricted operation, such as ANALYZE
 *		42883			no such function, or it has another signature
 *		42704			no such role
 *		40P01, 40001	of the function, when several tasks were won: nothing was
 *						done, and each may succeed in a call of its own
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
	OUT type text)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_execute_tasks';

/*
 * twtasks_internal.find_handler(function, role)
 *
 *		Looks a SQL handler up and checks that it has the right signature and
 *		that the caller may run it as role.
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
 *		Those of these SQL handlers that find_handler() refuses; none is called.
 *
 * Parameters
 *		functions		NULL is passed over
 *		roles			one for each
 *
 * Returns
 *		place			in the arrays, from 1
 *		fault			why, and what to type
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
