-- twin: twt_call_late LANGUAGE plpgsql
DECLARE
	named CONSTANT regprocedure := twtasks_internal.function_named(name, '{twtasks.late_result[]}');
BEGIN
	IF named IS NULL THEN
		RAISE EXCEPTION 'function "%" for late results does not exist', name
			USING ERRCODE = 'undefined_function',
				HINT = format('It must be %s(twtasks.late_result[]) returns void, with its schema in the name.', name);
	ELSIF NOT twtasks_internal.is_own_function(named) THEN
		-- A function of another role does not run with our rights.
		PERFORM twtasks_internal.call_brought_late(name, late);
		RETURN;
	END IF;
	EXECUTE format('SELECT %s($1)', name) USING late;
END

-- after:
-- begin: in each update
SELECT twtasks_internal.make_try_call('text', 'twtasks.late_result[]');
-- end: in each update
