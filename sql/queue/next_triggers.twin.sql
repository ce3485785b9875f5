-- twin: twt_take_types LANGUAGE plpgsql
BEGIN
	NULL;	-- there is no queue to take from: each sidecar that listens hears of all types
END

-- twin: twt_lacks_queue LANGUAGE sql
	SELECT false

-- twin: twt_next_triggers LANGUAGE plpgsql
BEGIN
	RAISE EXCEPTION 'there is no queue in shared memory'
		USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'LISTEN twtasks.';
END
