-- twin: twt_check_outcome LANGUAGE plpgsql
BEGIN
	IF jsonb_typeof(outcome) <> 'object' THEN
		RAISE EXCEPTION 'an outcome must be a JSON object' USING ERRCODE = 'invalid_parameter_value';
	ELSIF octet_length(outcome::text) > 8192 THEN
		RAISE EXCEPTION 'an outcome must have at most 8192 bytes, not %', octet_length(outcome::text)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END

-- twin: twt_set_outcome LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	PERFORM twtasks_internal.require('outcome', outcome IS NULL);
	-- Not empty while a handler runs: see confined_answer().
	IF coalesce(current_setting('twtasks_handler.outcome', true), '') = '' THEN
		RAISE EXCEPTION 'no SQL handler is running'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call twtasks.set_outcome() in the function that a sidecar runs for a task.';
	END IF;
	PERFORM twtasks_internal.check_outcome(outcome);
	PERFORM set_config('twtasks_handler.outcome', outcome::text, true);
END
