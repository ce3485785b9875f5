-- twin: twt_clock LANGUAGE sql
	SELECT clock_timestamp() + twtasks_internal.clock_ahead() * interval '1 microsecond'

-- twin: twt_boot_time LANGUAGE sql INLINE
	-- SQL has no clock that nobody sets.
	SELECT NULL::timestamptz

-- twin: twt_clock_ahead LANGUAGE sql SECURITY DEFINER
	SELECT CASE WHEN twtasks_internal.is_testing() THEN coalesce((SELECT t.ahead_us FROM twtasks.test_clock t LIMIT 1), 0) ELSE 0 END

-- twin: twt_is_testing LANGUAGE sql
	SELECT twtasks_internal.setting('testing')::boolean
