/*
 * Ends tasks together with the on_end functions of their policies, and adds the tasks
 * of their replies, as src/finish/on_end.c does.
 */

/*
 * twtasks_internal.fault_places(context)
 *
 *		The places of an error within the functions of users, as src/common/places.c
 *		names them.  The lines behind the first of our own functions are no such places.
 *		A server may translate the words of a line, but no name; in other languages only
 *		lines of PL/pgSQL in ASCII without quotes, which may have data, are places.
 */
CREATE FUNCTION twtasks_internal.fault_places(context text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	line text;
	places text := '';
	n integer := 0;
	is_english CONSTANT boolean := context ~ '(?n)^PL/pgSQL function twtasks_internal[.]';
BEGIN
	FOREACH line IN ARRAY string_to_array(context, chr(10)) LOOP
		EXIT WHEN line ~ '^[^"'']*PL/pgSQL[^"'']* twtasks_internal[.]' OR n = 3;
		CONTINUE WHEN strpos(line, '''') > 0
			OR line !~ CASE WHEN is_english THEN '^(SQL|PL/[^ ]*) function '
				ELSE '^[ !#-~]*PL/pgSQL[ !#-~]* [!#-~]+[(][ !#-~]*[)][ !#-~]*$' END;
		EXIT WHEN n = 0 AND line LIKE '%RAISE' OR octet_length(places || line) + 5 >= 1024;
		places := places || ', in ' || line;
		n := n + 1;
	END LOOP;
	RETURN places;
END $$;

/*
 * twtasks_internal.add_successors(ends, patience)
 *
 *		Adds the tasks of replies, which inherit the contexts of their tasks.
 *
 * Parameters
 *		patience		how long a key may be claimed by an open transaction; NULL: no limit
 *
 * Errors
 *		42501			the caller may not add tasks
 *		55P03			a key is claimed for longer; others as add_tasks()
 */
CREATE FUNCTION twtasks_internal.add_successors(ends twtasks_internal.ended_try[], patience text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role CONSTANT text := pg_get_userbyid(twtasks_internal.caller());
	lock_timeout CONSTANT text := current_setting('lock_timeout');
	context CONSTANT text := coalesce(current_setting('twtasks.context', true), '');
	given jsonb[];
	rules text[];
BEGIN
	IF NOT has_function_privilege(role, 'twtasks.add_tasks(jsonb)', 'EXECUTE') THEN
		RAISE EXCEPTION 'permission denied for role "%" to add tasks', role
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'GRANT twtasks_producer TO the role as which the sidecar connects.';
	END IF;
	SELECT array_agg(
			CASE WHEN jsonb_typeof(e.context) = 'object' AND jsonb_typeof(t.task) = 'object'
					AND coalesce(jsonb_typeof(t.task -> 'context'), 'null') IN ('object', 'null')
				THEN t.task || jsonb_build_object('context', e.context || coalesce(nullif(t.task -> 'context', 'null'), '{}')) ELSE t.task END
			ORDER BY e.number, t.n),
		   array_agg(t.task ->> 'key_rule' ORDER BY e.number, t.n)
	INTO given, rules
	FROM unnest(ends) e CROSS JOIN LATERAL jsonb_array_elements(e.adds) WITH ORDINALITY t(task, n);
	IF given IS NULL THEN
		RETURN;
	END IF;
	PERFORM twtasks_internal.check_key_rule(r) FROM unnest(rules) r WHERE r IS NOT NULL;
	PERFORM set_config('twtasks.context', '', true);
	IF patience IS NOT NULL THEN
		PERFORM set_config('lock_timeout', patience, true);
	END IF;
	PERFORM twtasks_internal.add_all(ARRAY(SELECT twtasks_internal.task_of(g.task) FROM unnest(given) WITH ORDINALITY g(task, n) ORDER BY g.n), rules);
	PERFORM set_config('lock_timeout', lock_timeout, true), set_config('twtasks.context', context, true);
END $$;

/*
 * twtasks_internal.as_it_is(ended, since)
 *
 *		A task that became ERROR as it is after all functions, since one may have moved it
 *		on.
 *
 * Parameters
 *		since			when the attempt to end it began
 */
CREATE FUNCTION twtasks_internal.as_it_is(ended twtasks_internal.ended_try, since timestamptz)
RETURNS twtasks_internal.ended_try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	now record;
BEGIN
	IF ended.status <> 'ERROR' THEN
		RETURN ended;
	END IF;
	SELECT t.version, t.status,
		   CASE t.status WHEN 'WAITING' THEN greatest(floor(extract(epoch FROM t.next_event_time - twtasks.clock()) * 1000), 0)::bigint END AS delay_ms
	INTO now FROM twtasks.task t WHERE t.id = ended.id;
	IF NOT FOUND THEN
		SELECT f.version, f.status, NULL::bigint AS delay_ms INTO now
		FROM twtasks.finished_task f WHERE f.id = ended.id AND f.state_time >= since LIMIT 1;
	END IF;
	IF FOUND THEN
		ended.version := now.version;
		ended.status := now.status;
		ended.delay_ms := now.delay_ms;
	END IF;
	RETURN ended;
END $$;

/*
 * twtasks_internal.require_read_committed(function)
 *
 *		Raises an error at another isolation level: a function of on_end looks at what others
 *		have committed, and locks it.
 */
CREATE FUNCTION twtasks_internal.require_read_committed(function text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
		RAISE EXCEPTION 'tasks with function "%" for on_end cannot end at this isolation level', function
			USING ERRCODE = 'active_sql_transaction',
				HINT = 'Use READ COMMITTED.';
	END IF;
END $$;

/*
 * twtasks_internal.try_ends(tries, incarnation, token, by_hand, calls, raises, patience)
 *
 *		Ends tries in a subtransaction, adds the tasks of their replies and calls the
 *		functions of on_end, which have no time limit here.
 *
 * Parameters
 *		calls			whether functions are called
 *		raises			whether all errors are raised
 *
 * Returns
 *		ends			NULL: work of users has failed, and nothing was done
 *		doing			that work
 *		became			status of the last task that the work was for
 *		state, fault, places	the error
 *		waits			another transaction claims the key of a task to add
 */
CREATE FUNCTION twtasks_internal.try_ends(
	tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, calls boolean, raises boolean, patience text,
	OUT ends twtasks_internal.ended_try[], OUT doing text, OUT became text, OUT state text, OUT fault text, OUT places text, OUT waits boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	since CONSTANT timestamptz := twtasks.clock();
	call record;
BEGIN
	waits := false;
	ends := twtasks_internal.end_tries(tries, incarnation, token, by_hand, calls);
	became := (SELECT CASE WHEN e.on_end IS NULL THEN 'DONE' ELSE e.status::text END FROM unnest(ends) e
			   WHERE e.on_end IS NOT NULL OR e.adds IS NOT NULL ORDER BY e.number DESC LIMIT 1);
	IF EXISTS (SELECT FROM unnest(ends) e WHERE e.adds IS NOT NULL) THEN
		doing := 'adding the tasks of its reply';
		PERFORM twtasks_internal.add_successors(ends, patience);
		doing := NULL;
	END IF;
	FOR call IN
		SELECT e.on_end AS function, array_agg(e.task ORDER BY e.number) AS tasks
		FROM unnest(ends) e WHERE e.on_end IS NOT NULL GROUP BY e.on_end ORDER BY min(e.number)
	LOOP
		PERFORM twtasks_internal.require_read_committed(call.function);
		doing := format('function "%s" for on_end', call.function);
		PERFORM twtasks_internal.call_end(call.function, call.tasks);
		doing := NULL;
	END LOOP;
	IF became IS NOT NULL AND EXISTS (SELECT FROM unnest(ends) e WHERE e.on_end IS NOT NULL AND e.status = 'ERROR') THEN
		ends := ARRAY(SELECT twtasks_internal.as_it_is(e, since) FROM unnest(ends) e ORDER BY (e).number);
	END IF;
EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
	IF raises OR doing IS NULL THEN
		RAISE;
	END IF;
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, fault = MESSAGE_TEXT, places = PG_EXCEPTION_CONTEXT;
	places := twtasks_internal.fault_places(places);
	waits := state = '55P03' AND doing LIKE 'adding%';
	ends := NULL;
END $$;

/*
 * twtasks_internal.call_end(function, tasks)
 *
 *		Calls a function of on_end: an extension's in our own schema, or a user's.
 */
CREATE FUNCTION twtasks_internal.call_end(function text, tasks twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named CONSTANT regprocedure := twtasks_internal.function_named(function, '{twtasks.ended_task[]}');
BEGIN
	IF named IS NULL THEN
		RAISE EXCEPTION 'function "%" for on_end does not exist', function
			USING ERRCODE = 'undefined_function',
				HINT = format('It must be %s(twtasks.ended_task[]) returns void, with its schema in the name.', function);
	ELSIF twtasks_internal.is_own_function(named) THEN
		EXECUTE format('SELECT %s($1)', function) USING tasks;
	ELSE
		PERFORM twtasks_internal.call_on_end(function, tasks);
	END IF;
END $$;

/*
 * twtasks_internal.with_result(tries, result, fault)
 *
 *		The tries with another result than the caller gave.  Why a leader ends a task says
 *		more than the fault that follows.
 */
CREATE FUNCTION twtasks_internal.with_result(tries twtasks_internal.try[], result text, fault text)
RETURNS twtasks_internal.try[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	FOR i IN 1 .. cardinality(tries) LOOP
		tries[i].result := result;
		tries[i].message := CASE WHEN tries[i].what IS NULL THEN fault ELSE coalesce(tries[i].message || '; ', '') || fault END;
	END LOOP;
	RETURN tries;
END $$;

/*
 * twtasks_internal.leave_tries(tries, incarnation, token, by_hand)
 *
 *		Leaves tasks for a later call, which finishes them again.
 */
CREATE FUNCTION twtasks_internal.leave_tries(tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean)
RETURNS twtasks_internal.ended_try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF by_hand THEN
		RETURN '{}';
	END IF;
	RETURN twtasks_internal.end_tries(twtasks_internal.with_result(tries, 'later', NULL), incarnation, token, by_hand, false);
END $$;

/*
 * twtasks_internal.end_in_error(tries, incarnation, token, by_hand, tried)
 *
 *		Ends one task, for which the work of users has failed, in ERROR.
 *
 * Parameters
 *		tried			result of try_ends()
 */
CREATE FUNCTION twtasks_internal.end_in_error(tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, tried record)
RETURNS twtasks_internal.ended_try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	fault CONSTANT text := format('it became %s, but %s failed: %s%s (SQLSTATE %s)', tried.became, tried.doing, tried.fault, tried.places, tried.state);
	ends CONSTANT twtasks_internal.ended_try[] :=
		twtasks_internal.end_tries(twtasks_internal.with_result(tries, 'fault', fault), incarnation, token, by_hand, false);
BEGIN
	RAISE WARNING 'a task is in ERROR: %', fault
		USING ERRCODE = tried.state,
			HINT = 'twtasks.error_tasks has the task with this reason.';
	RETURN ends;
END $$;

/*
 * twtasks_internal.end_each(tries, incarnation, token, by_hand, calls)
 *
 *		Ends each task alone.  A function may take long for each, so the statement leaves
 *		the tasks that follow after some time.
 */
CREATE FUNCTION twtasks_internal.end_each(tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, calls boolean)
RETURNS twtasks_internal.ended_try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + twtasks_internal.duration('function_timeout');
	ends twtasks_internal.ended_try[] := '{}';
	tried record;
BEGIN
	FOR i IN 1 .. cardinality(tries) LOOP
		IF i > 1 AND clock_timestamp() > until THEN
			ends := ends || twtasks_internal.leave_tries(tries[i : i], incarnation, token, by_hand);
			CONTINUE;
		END IF;
		tried := twtasks_internal.try_ends(tries[i : i], incarnation, token, by_hand, calls, false, '1ms');
		ends := ends || CASE WHEN tried.ends IS NOT NULL THEN tried.ends
			WHEN tried.waits OR twtasks_internal.is_nobodys_fault(tried.state)
				THEN twtasks_internal.leave_tries(tries[i : i], incarnation, token, by_hand)
			ELSE twtasks_internal.end_in_error(tries[i : i], incarnation, token, by_hand, tried) END;
	END LOOP;
	RETURN ends;
END $$;

/*
 * twtasks_internal.is_nobodys_fault(state)
 *
 *		Whether an error of this SQLSTATE is of the transaction, or of the server.
 */
CREATE FUNCTION twtasks_internal.is_nobodys_fault(state text)
RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT state ~ '^(40|53|58)' AND state <> '53400' $$;

/*
 * twtasks_internal.run_ends(tries, incarnation, token, by_hand, raises)
 *
 *		Ends tasks, adds the tasks of their replies, and calls the functions of on_end:
 *		together, and each alone if that fails.
 *
 * Parameters
 *		raises			whether the errors of functions are raised
 */
CREATE FUNCTION twtasks_internal.run_ends(tries twtasks_internal.try[], incarnation bigint, token bigint, by_hand boolean, raises boolean)
RETURNS SETOF twtasks_internal.ended_try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	calls boolean;
	has_adds boolean;
	ends twtasks_internal.ended_try[];
	tried record;
BEGIN
	SELECT EXISTS (SELECT FROM twtasks.type_policy p WHERE p.options ? 'on_end'), EXISTS (SELECT FROM unnest(tries) u WHERE u.adds IS NOT NULL)
	INTO calls, has_adds;
	IF NOT calls AND NOT has_adds THEN
		ends := twtasks_internal.end_tries(tries, incarnation, token, by_hand, false);
	ELSE
		tried := twtasks_internal.try_ends(tries, incarnation, token, by_hand, calls, raises, CASE WHEN NOT raises THEN '5ms' END);
		IF tried.ends IS NOT NULL THEN
			ends := tried.ends;
		ELSIF cardinality(tries) > 1 THEN
			ends := twtasks_internal.end_each(tries, incarnation, token, by_hand, calls);
		ELSIF tried.waits THEN
			ends := twtasks_internal.leave_tries(tries, incarnation, token, by_hand);
		ELSIF twtasks_internal.is_nobodys_fault(tried.state) THEN
			RAISE EXCEPTION '%', tried.fault USING ERRCODE = tried.state;
		ELSE
			ends := twtasks_internal.end_in_error(tries, incarnation, token, by_hand, tried);
		END IF;
	END IF;
	RETURN QUERY SELECT e.* FROM unnest(ends) e;
END $$;
