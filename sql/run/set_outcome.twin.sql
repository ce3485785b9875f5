-- twin: twt_check_outcome LANGUAGE plpgsql
BEGIN
	IF jsonb_typeof(outcome) <> 'object' THEN
		RAISE EXCEPTION 'an outcome must be a JSON object' USING ERRCODE = 'invalid_parameter_value';
	ELSIF octet_length(outcome::text) > 8192 THEN
		RAISE EXCEPTION 'an outcome must have at most 8192 bytes, not %', octet_length(outcome::text)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
