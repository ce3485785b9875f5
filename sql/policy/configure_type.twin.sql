-- twin: twt_check_function LANGUAGE plpgsql
DECLARE
	args CONSTANT regtype[] := CASE option
		WHEN 'retry_function' THEN '{twtasks.task_input,text}'
		WHEN 'stuck_function' THEN '{twtasks.task_input}'
		WHEN 'intercept' THEN '{twtasks.new_task}'
		WHEN 'take_messages' THEN '{twtasks.message}'
		WHEN 'on_end' THEN '{twtasks.ended_task[]}' END;
	result CONSTANT regtype := CASE option
		WHEN 'retry_function' THEN 'timestamptz'
		WHEN 'stuck_function' THEN 'twtasks.stuck_rule'
		WHEN 'intercept' THEN 'twtasks.new_task'
		WHEN 'take_messages' THEN 'twtasks.new_task'
		WHEN 'on_end' THEN 'void' END;
BEGIN
	IF option IS NULL THEN
		RAISE EXCEPTION 'option must not be null' USING ERRCODE = 'null_value_not_allowed';
	ELSIF args IS NULL THEN
		RAISE EXCEPTION 'no function is named for "%"', twtasks_internal.shown(option)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_function(option, nullif(check_function.function, 'none'), args, result);
END
