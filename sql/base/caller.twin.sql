-- twin: twt_caller LANGUAGE plpgsql
BEGIN
	-- A function of somebody else that is SECURITY DEFINER cannot be told from its caller here.
	RETURN (SELECT r.oid FROM pg_roles r WHERE r.rolname = CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END);
END

-- twin: twt_actor LANGUAGE sql
	SELECT session_user::text
