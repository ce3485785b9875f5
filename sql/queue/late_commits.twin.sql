-- twin: twt_late_commits LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	INSERT INTO twtasks_internal.news_lock (bucket)
	SELECT b FROM unnest(buckets) b
	WHERE b IS NOT NULL AND NOT EXISTS (SELECT FROM twtasks_internal.news_lock l WHERE l.bucket = b)
	ON CONFLICT DO NOTHING;
	-- The lock of a late transaction does not name its bucket: see send_news().  A prepared one has no process.
	RETURN CASE WHEN EXISTS (
		SELECT FROM pg_locks l
		WHERE l.locktype = 'relation' AND l.relation = 'twtasks_internal.news_lock'::regclass AND l.mode = 'RowShareLock'
		  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()) AND l.pid <> pg_backend_pid())
		THEN array_remove(buckets, NULL) ELSE '{}' END;
END
