-- twin: twt_call_duty LANGUAGE plpgsql
DECLARE
	duty CONSTANT regprocedure := twtasks_internal.function_named(name, '{}');
	answer bigint;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = duty AND p.prorettype = 'bigint'::regtype AND NOT p.proretset) THEN
		RAISE EXCEPTION 'function "%" for a duty does not exist', name
			USING ERRCODE = 'undefined_function',
				HINT = format('It must be %s() returns bigint, with its schema in the name.', name);
	END IF;
	-- A function of another role does not run with our rights.
	IF NOT twtasks_internal.is_own_function(duty) THEN
		RETURN twtasks_internal.call_brought_duty(name);
	END IF;
	EXECUTE format('SELECT %s()', duty::regproc) INTO answer;
	RETURN answer;
END
