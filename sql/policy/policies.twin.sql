-- twin: twt_config_changed LANGUAGE plpgsql
BEGIN
	PERFORM pg_notify('twtasks_config', '');
	RETURN NULL;
END
