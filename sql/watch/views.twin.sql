-- twin: twt_queue_stats LANGUAGE plpgsql
BEGIN
	RETURN;	-- there is no queue in shared memory
END
