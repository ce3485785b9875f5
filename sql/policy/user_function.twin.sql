-- before:
/*
 * twtasks_internal.function_named(function, args)
 *
 *		The function that has this name, with its schema, and just these types.
 *
 * Returns
 *		NULL: there is none
 */
CREATE FUNCTION twtasks_internal.function_named(function text, args regtype[])
RETURNS regprocedure
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names text[];
BEGIN
	names := parse_ident(function_named.function);
	RETURN (
		SELECT p.oid FROM pg_proc p
		WHERE p.proname = names[2] AND p.pronamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = names[1])
		  AND p.proargtypes = array_to_string(args::oid[], ' ')::oidvector AND p.prokind = 'f' AND cardinality(names) = 2);
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN NULL;	-- no name
END $$;

/*
 * twtasks_internal.make_call(name, purpose, result, args)
 *
 *		Makes a function of this name that calls a function of a user: the one with the
 *		name of its first argument.  twtasks_caller makes and owns it, so that the function
 *		called has rights only if it is SECURITY DEFINER, and can take no other role.
 *
 * Parameters
 *		purpose			what a function is named for, in messages
 *		result			type of the result
 *		args			types of the arguments; may be empty
 */
CREATE FUNCTION twtasks_internal.make_call(name text, purpose text, result text, VARIADIC args text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
	arguments CONSTANT text := (SELECT concat_ws(', ', 'function text', string_agg(format('a%s %s', u.n, u.type), ', ')) FROM unnest(args) WITH ORDINALITY u(type, n));
	places CONSTANT text := (SELECT coalesce(string_agg(format('$%s', n), ', '), '') FROM generate_series(1, cardinality(args)) n);
	names CONSTANT text := (SELECT 'USING ' || string_agg(format('a%s', n), ', ') FROM generate_series(1, cardinality(args)) n);
	not_void CONSTANT boolean := result <> 'void';
	is_row CONSTANT boolean := not_void AND right(result, 2) <> '[]';	-- an array keeps a row that is null apart from one of nulls
BEGIN
	EXECUTE format($declaration$
		CREATE OR REPLACE FUNCTION twtasks_internal.%I(%s)
		RETURNS %s
		LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
		SET search_path = pg_catalog, pg_temp
		AS $body$
		DECLARE
			answers %s;
		BEGIN
			PERFORM twtasks_internal.check_callable(twtasks_internal.require_function(function, %L, %L, %L));
			EXECUTE format(%L, function) %s %s;
			PERFORM twtasks_internal.check_calls();
			%s
		END $body$ $declaration$, name, arguments, result, CASE WHEN is_row THEN result || '[]' WHEN not_void THEN result ELSE 'text' END,
		purpose, args::regtype[], result::regtype,
		CASE WHEN is_row THEN 'SELECT ARRAY[%s(' || places || ')]' ELSE 'SELECT %s(' || places || ')' END,
		CASE WHEN not_void THEN 'INTO answers' END, names, CASE WHEN is_row THEN 'RETURN answers[1];' WHEN not_void THEN 'RETURN answers;' END);
	EXECUTE format('REVOKE ALL ON FUNCTION twtasks_internal.%I FROM PUBLIC', name);
	EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.%I TO %I', name, twtasks_internal.owner());
END $make$;

/*
 * twtasks_internal.make_fire_deferred()
 *
 *		Makes fire_deferred(), which fires the deferred triggers of the transaction.  It
 *		belongs to twtasks_deferred, which may call nothing, and owns nothing else.
 */
CREATE FUNCTION twtasks_internal.make_fire_deferred()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $make$
BEGIN
	CREATE OR REPLACE FUNCTION twtasks_internal.fire_deferred()
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	BEGIN
		SET CONSTRAINTS ALL IMMEDIATE;
	END $$;
	REVOKE ALL ON FUNCTION twtasks_internal.fire_deferred FROM PUBLIC;
	EXECUTE format('GRANT EXECUTE ON FUNCTION twtasks_internal.fire_deferred TO %I', twtasks_internal.owner());
END $make$;

-- twin: twt_check_function_of LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	named pg_proc;
BEGIN
	IF purpose IS NULL OR args IS NULL OR result IS NULL THEN
		RAISE EXCEPTION 'argument % of a function''s call is null', CASE WHEN purpose IS NULL THEN 1 WHEN args IS NULL THEN 3 ELSE 4 END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF check_function.function IS NULL THEN
		RETURN;
	END IF;
	named := twtasks_internal.require_function(check_function.function, purpose, args, result);
	IF NOT has_function_privilege(twtasks_internal.caller(), named.oid, 'EXECUTE') THEN
		RAISE EXCEPTION 'permission denied for function "%"', check_function.function
			USING ERRCODE = 'insufficient_privilege';
	ELSIF NOT coalesce((SELECT substr(c, 13) ~ '(^|[, ])"?pg_temp"? *$' FROM unnest(named.proconfig) c WHERE c ^@ 'search_path='), false) THEN
		RAISE EXCEPTION 'function "%" does not fix its search_path', check_function.function
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'It will run with the rights of its owner, called by others.',
				HINT = format('ALTER FUNCTION %s SET search_path = the schemas it needs, pg_temp.', check_function.function);
	END IF;
	-- twtasks_nobody calls a function for decide.
	IF purpose <> 'decide' AND NOT twtasks_internal.is_own_function(named.oid) THEN
		PERFORM twtasks_internal.check_callable(named);
	END IF;
END

-- instead of twt_call_function:

-- after:
/*
 * twtasks_internal.require_function(function, purpose, args, result)
 *
 *		The function that has this name, with its schema, these types and this result.
 *
 * Errors
 *		42883			there is none
 */
CREATE FUNCTION twtasks_internal.require_function(function text, purpose text, args regtype[], result regtype)
RETURNS pg_proc
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	named pg_proc;
BEGIN
	SELECT p.* INTO named FROM pg_proc p
	WHERE p.oid = twtasks_internal.function_named(require_function.function, args)
	  AND p.prorettype = require_function.result AND NOT p.proretset;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'function "%" for % does not exist', require_function.function, purpose
			USING ERRCODE = 'undefined_function',
				HINT = format('It must be %s(%s) returns %s, with its schema in the name.', require_function.function,
					(SELECT string_agg(a::text, ', ') FROM unnest(args) a), result);
	END IF;
	RETURN named;
END $$;

/*
 * twtasks_internal.is_own_function(function)
 *
 *		Whether it is a function of an extension, in our own schema.
 */
CREATE FUNCTION twtasks_internal.is_own_function(function regprocedure)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (SELECT FROM pg_proc p WHERE p.oid = function AND p.pronamespace = 'twtasks_internal'::regnamespace
				   AND pg_get_userbyid(p.proowner) = twtasks_internal.owner())
$$;

/*
 * twtasks_internal.check_callable(function)
 *
 *		Raises an error unless twtasks_caller can call the function, which then runs with the
 *		rights of its owner.  Where one role has all, it must be that role's.
 *
 * Errors
 *		42501			twtasks_caller may not, or it is another role's
 *		22023			the function is not SECURITY DEFINER
 */
CREATE FUNCTION twtasks_internal.check_callable(function pg_proc)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name CONSTANT text := function.oid::regproc;
BEGIN
	IF twtasks_internal.owner() <> 'twtasks_owner' THEN
		IF pg_get_userbyid(function.proowner) <> twtasks_internal.owner() THEN
			RAISE EXCEPTION 'function "%" belongs to role "%"', name, pg_get_userbyid(function.proowner)
				USING ERRCODE = 'insufficient_privilege',
					DETAIL = 'It would run with the rights of the one role that has twtasks.',
					HINT = format('Let role "%s" own the function, or install twtasks with its roles.', twtasks_internal.owner());
		END IF;
	ELSIF NOT function.prosecdef THEN
		RAISE EXCEPTION 'function "%" is not SECURITY DEFINER', name
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Without our library a function can be called with the rights of its owner in no other way.',
				HINT = format('ALTER FUNCTION %s SECURITY DEFINER.', name);
	ELSIF NOT has_schema_privilege('twtasks_caller', function.pronamespace, 'USAGE') THEN
		RAISE EXCEPTION 'role "twtasks_caller" has no right to use schema "%"', function.pronamespace::regnamespace
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT USAGE ON SCHEMA %s TO twtasks_caller.', function.pronamespace::regnamespace);
	ELSIF NOT has_function_privilege('twtasks_caller', function.oid, 'EXECUTE') THEN
		RAISE EXCEPTION 'role "twtasks_caller" may not execute function "%"', name
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT EXECUTE ON FUNCTION %s TO twtasks_caller.', function.oid::regprocedure);
	END IF;
END $$;

/*
 * twtasks_internal.check_calls()
 *
 *		Raises an error if a function of a user has changed the functions that called it, or
 *		fired its triggers.  Its owner can make it run as twtasks_caller, which owns those.
 *
 * Errors
 *		42501			it has
 */
CREATE FUNCTION twtasks_internal.check_calls()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	owner CONSTANT name := twtasks_internal.owner();
	names CONSTANT name[] := '{call_retry,call_stuck_rule,call_intercept,call_listener,call_on_end,call_handler,call_void_handler,call_batch,
				call_void_batch,call_batch_for_each,fire_deferred,
				call_for_identifier,call_for_still_needed,call_for_on_expiry,call_for_retry_function,call_for_on_fault,call_for_on_uncertain,
				call_for_event_function,call_for_read_model,call_for_contract,call_brought_duty,call_brought_late}';
BEGIN
	IF (SELECT count(*) FILTER (WHERE p.prosecdef AND NOT p.proisstrict AND p.provolatile = 'v' AND p.prosupport = 0
				AND p.proconfig = '{"search_path=pg_catalog, pg_temp"}'
				AND pg_get_userbyid(p.proowner) = CASE WHEN owner <> 'twtasks_owner' THEN owner
					WHEN p.proname = 'fire_deferred' THEN 'twtasks_deferred' ELSE 'twtasks_caller' END
				AND (SELECT bool_and(pg_get_userbyid(a.grantee) IN (owner, pg_get_userbyid(p.proowner))) AND bool_or(pg_get_userbyid(a.grantee) = owner)
					 FROM aclexplode(p.proacl) a)) <> cardinality(names)
		FROM pg_proc p
		WHERE p.pronamespace = 'twtasks_internal'::regnamespace
		  AND p.proname = ANY (names)) THEN
		RAISE EXCEPTION 'permission denied to change functions of twtasks'
			USING ERRCODE = 'insufficient_privilege';
	END IF;
END $$;

/*
 * twtasks_internal.rows_to_defer()
 *
 *		How many rows this transaction has changed, by table, where triggers of others can be
 *		deferred.
 *
 * Returns
 *		NULL: there are no such tables
 */
CREATE FUNCTION twtasks_internal.rows_to_defer()
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (
		SELECT jsonb_object_agg(r.tgrelid, pg_stat_get_xact_tuples_inserted(r.tgrelid) + pg_stat_get_xact_tuples_updated(r.tgrelid)
										   + pg_stat_get_xact_tuples_deleted(r.tgrelid))
		FROM (SELECT DISTINCT t.tgrelid FROM pg_trigger t WHERE t.tgdeferrable AND t.tgfoid <> 'twtasks_internal.send_news'::regproc) r);
END $$;

/*
 * twtasks_internal.fire_all_deferred()
 *
 *		Fires deferred triggers, also new ones that these defer.  None may be left for the
 *		commit, where they would have the rights of the session.
 *
 * Errors
 *		54001			they defer others again and again
 */
CREATE FUNCTION twtasks_internal.fire_all_deferred()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before jsonb;
	is_done boolean := false;
BEGIN
	FOR round IN 1 .. 10 LOOP
		before := twtasks_internal.rows_to_defer();
		IF before IS NULL THEN
			PERFORM twtasks_internal.fire_deferred();
			RETURN;
		END IF;
		-- SQL cannot see what is pending.  All that was pending fires, so only a row that this
		-- round changes can make more so.  TRUNCATE may take its count back, but no further
		-- than to the start of a subtransaction.
		BEGIN
			PERFORM twtasks_internal.fire_deferred();
			is_done := current_setting('track_counts')::boolean
				AND NOT EXISTS (SELECT FROM jsonb_each_text(twtasks_internal.rows_to_defer()) n
								WHERE n.value::bigint > coalesce((before ->> n.key)::bigint, 0));
		EXCEPTION WHEN no_data_found THEN		-- for the subtransaction
			RAISE;
		END;
		IF is_done THEN
			RETURN;
		END IF;
	END LOOP;
	RAISE EXCEPTION 'deferred triggers defer others again and again'
		USING ERRCODE = 'statement_too_complex',
			HINT = 'Triggers that fire at the end of a SQL handler may not defer others. The server needs track_counts to see it.';
END $$;

GRANT USAGE ON SCHEMA twtasks TO twtasks_caller;
GRANT EXECUTE ON FUNCTION twtasks_internal.function_named, twtasks_internal.require_function, twtasks_internal.check_callable, twtasks_internal.check_calls, twtasks_internal.owner TO twtasks_caller;
-- begin: in each update
GRANT USAGE, CREATE ON SCHEMA twtasks_internal TO twtasks_caller;
GRANT EXECUTE ON FUNCTION twtasks_internal.make_call TO twtasks_caller;
SET ROLE twtasks_caller;
SELECT twtasks_internal.make_call('call_retry', 'retry_function', 'timestamptz', 'twtasks.task_input', 'text');
SELECT twtasks_internal.make_call('call_stuck_rule', 'stuck_function', 'twtasks.stuck_rule', 'twtasks.task_input');
SELECT twtasks_internal.make_call('call_intercept', 'intercept', 'twtasks.new_task', 'twtasks.new_task');
SELECT twtasks_internal.make_call('call_listener', 'take_messages', 'twtasks.new_task', 'twtasks.message');
SELECT twtasks_internal.make_call('call_on_end', 'on_end', 'void', 'twtasks.ended_task[]');
SELECT twtasks_internal.make_call('call_handler', 'a handler', 'twtasks.task_result', 'twtasks.task_input');
SELECT twtasks_internal.make_call('call_void_handler', 'a handler', 'void', 'twtasks.task_input');
SELECT twtasks_internal.make_call('call_batch', 'a handler of batches', 'twtasks.task_result', 'twtasks.task_input[]');
SELECT twtasks_internal.make_call('call_void_batch', 'a handler of batches', 'void', 'twtasks.task_input[]');
SELECT twtasks_internal.make_call('call_batch_for_each', 'a handler of batches', 'twtasks.task_answer[]', 'twtasks.task_input[]');
SELECT twtasks_internal.make_call('call_for_identifier', 'identifier', 'text', 'jsonb');
SELECT twtasks_internal.make_call('call_for_still_needed', 'still_needed', 'boolean', 'jsonb', 'text');
SELECT twtasks_internal.make_call('call_for_on_expiry', 'on_expiry', 'jsonb', 'jsonb', 'text');
SELECT twtasks_internal.make_call('call_for_retry_function', 'retry_function', 'interval', 'jsonb', 'text', 'integer', 'text');
SELECT twtasks_internal.make_call('call_for_on_fault', 'on_fault', 'jsonb', 'jsonb', 'text', 'text');
SELECT twtasks_internal.make_call('call_for_on_uncertain', 'on_uncertain', 'jsonb', 'jsonb', 'text', 'timestamptz');
SELECT twtasks_internal.make_call('call_for_event_function', 'event_function', 'jsonb', 'jsonb', 'text', 'jsonb');
SELECT twtasks_internal.make_call('call_for_read_model', 'read_model', 'jsonb', 'jsonb');
SELECT twtasks_internal.make_call('call_for_contract', 'contract', 'boolean', 'jsonb');
SELECT twtasks_internal.make_call('call_brought_duty', 'a duty', 'bigint', VARIADIC '{}');
SELECT twtasks_internal.make_call('call_brought_late', 'late results', 'void', 'twtasks.late_result[]');
SET ROLE twtasks_owner;
REVOKE EXECUTE ON FUNCTION twtasks_internal.make_call FROM twtasks_caller;
REVOKE CREATE ON SCHEMA twtasks_internal FROM twtasks_caller;
DROP FUNCTION IF EXISTS twtasks_internal.fire_deferred();
GRANT USAGE, CREATE ON SCHEMA twtasks_internal TO twtasks_deferred;
GRANT EXECUTE ON FUNCTION twtasks_internal.make_fire_deferred, twtasks_internal.owner TO twtasks_deferred;
SET ROLE twtasks_deferred;
SELECT twtasks_internal.make_fire_deferred();
SET ROLE twtasks_owner;
REVOKE EXECUTE ON FUNCTION twtasks_internal.make_fire_deferred, twtasks_internal.owner FROM twtasks_deferred;
REVOKE ALL ON SCHEMA twtasks_internal FROM twtasks_deferred;
-- end: in each update
