-- twin: twt_late_commits LANGUAGE sql
	-- Each transaction that adds tasks sends its own notification: see tell().
	SELECT NULL::text[]
