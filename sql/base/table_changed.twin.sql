-- twin: twt_table_changed LANGUAGE plpgsql
BEGIN
	RETURN NULL;	-- no session caches a table
END
