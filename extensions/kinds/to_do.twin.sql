-- after:
-- begin: in each update
GRANT USAGE, CREATE ON SCHEMA twtasks_internal TO twtasks_nobody;
SET ROLE twtasks_nobody;
-- end: in each update
/* The decision of a function, which cannot write: twtasks_nobody calls it, in a transaction that only reads. */
CREATE FUNCTION twtasks_internal.decide_as_nobody(function text, read_model jsonb, data jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	decision text;
	is_done boolean := false;	-- the function may raise any error of its own
BEGIN
	PERFORM set_config('transaction_read_only', 'on', true);
	EXECUTE format('SELECT %s($1, $2)', function) INTO decision USING read_model, data;
	is_done := true;
	-- Only the end of this subtransaction lets the transaction write again.
	RAISE EXCEPTION 'done' USING ERRCODE = 'TWT00';
EXCEPTION WHEN SQLSTATE 'TWT00' THEN
	IF NOT is_done THEN
		RAISE;
	END IF;
	RETURN decision;
END $$;
REVOKE ALL ON FUNCTION twtasks_internal.decide_as_nobody FROM PUBLIC;
GRANT EXECUTE ON FUNCTION twtasks_internal.decide_as_nobody TO twtasks_owner;
-- begin: in each update
SET ROLE twtasks_owner;
REVOKE ALL ON SCHEMA twtasks_internal FROM twtasks_nobody;
-- end: in each update

/*
 * twtasks_internal.check_decides(named)
 *
 *		Raises an error unless decide_as_nobody() can call the function.
 *
 * Errors
 *		22023			it is SECURITY DEFINER
 *		42501			twtasks_nobody may not execute it
 */
CREATE FUNCTION twtasks_internal.check_decides(named pg_proc)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	nobody CONSTANT name := coalesce(to_regrole('twtasks_nobody')::name, current_user);
	function CONSTANT regprocedure := named.oid;
BEGIN
	IF named.prosecdef THEN
		RAISE EXCEPTION 'function "%" is SECURITY DEFINER', function::regproc
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It must run with the rights of role "%s".', nobody),
				HINT = format('ALTER FUNCTION %s SECURITY INVOKER.', function::regproc);
	ELSIF NOT has_schema_privilege(nobody, named.pronamespace, 'USAGE') OR NOT has_function_privilege(nobody, function, 'EXECUTE') THEN
		RAISE EXCEPTION 'role "%" may not execute function "%"', nobody, function::regproc
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('GRANT USAGE ON SCHEMA %s TO %I; GRANT EXECUTE ON FUNCTION %s TO %2$I.', named.pronamespace::regnamespace, nobody, function);
	END IF;
END $$;

/*
 * twtasks_internal.call_function(purpose text, function text, result regtype, as_role text, read_model jsonb, data jsonb)
 *
 *		Calls a function for decide, by decide_as_nobody().
 *
 * Errors
 *		42883			there is no such function; others as check_decides()
 */
CREATE FUNCTION twtasks_internal.call_function(purpose text, function text, result regtype, as_role text, read_model jsonb, data jsonb)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_decides(twtasks_internal.require_function(function, purpose, '{jsonb,jsonb}', result));
	RETURN twtasks_internal.decide_as_nobody(function, read_model, data);
END $$;
