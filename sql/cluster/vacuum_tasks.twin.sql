-- twin: twt_vacuum_tasks LANGUAGE plpgsql
BEGIN
	next_ms := 3600000;	-- SQL can only leave it to autovacuum
END
