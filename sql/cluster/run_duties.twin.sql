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
	IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = duty AND (pg_get_userbyid(p.proowner) = current_user OR p.prosecdef)) THEN
		RAISE EXCEPTION 'duty "%" has another owner', name
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Without our library it would run with the rights of our owner.',
				HINT = format('ALTER FUNCTION %s SECURITY DEFINER, or OWNER TO %I.', duty, current_user);
	END IF;
	EXECUTE format('SELECT %s()', duty::regproc) INTO answer;
	RETURN answer;
END
