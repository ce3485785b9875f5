-- twin: twt_watch_session LANGUAGE plpgsql
BEGIN
	NULL;	-- nobody waits in next_triggers(); recover_tasks() looks for sessions that ended
END
