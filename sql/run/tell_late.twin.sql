-- twin: twt_call_late LANGUAGE plpgsql
DECLARE
	named CONSTANT regprocedure := twtasks_internal.function_named(name, '{twtasks.late_result[]}');
BEGIN
	IF named IS NULL THEN
		RAISE EXCEPTION 'function "%" for late results does not exist', name
			USING ERRCODE = 'undefined_function',
				HINT = format('It must be %s(twtasks.late_result[]) returns void, with its schema in the name.', name);
	ELSIF NOT (SELECT p.prosecdef OR pg_get_userbyid(p.proowner) = twtasks_internal.owner() FROM pg_proc p WHERE p.oid = named) THEN
		-- Without our library its owner's rights cannot be taken for the call.
		RAISE EXCEPTION 'function "%" is not SECURITY DEFINER', name
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('ALTER FUNCTION %s OWNER TO %s.', named, twtasks_internal.owner());
	END IF;
	EXECUTE format('SELECT %s($1)', name) USING late;
END

-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('text', 'twtasks.late_result[]');
-- end: in each update
