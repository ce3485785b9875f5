-- twin: twt_clock LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	-- PL/pgSQL keeps the plans of what all calls ask.
	RETURN (
		SELECT clock_timestamp() + CASE WHEN t.value::boolean THEN twtasks_internal.clock_ahead() * interval '1 microsecond' ELSE '0' END
		FROM twtasks_internal.settings('testing') t(value));
END

-- twin: twt_boot_time LANGUAGE sql INLINE
	-- SQL has no clock that nobody sets.
	SELECT NULL::timestamptz

-- twin: twt_clock_ahead LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	IF NOT twtasks_internal.is_testing() THEN
		RETURN 0;
	END IF;
	RETURN coalesce((SELECT t.ahead_us FROM twtasks.test_clock t LIMIT 1), 0);
END

-- twin: twt_is_testing LANGUAGE plpgsql SECURITY DEFINER
BEGIN
	RETURN twtasks_internal.setting('testing')::boolean;
END
