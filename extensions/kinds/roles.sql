/* decide functions run as this role, which may do nothing. */
DO $$
BEGIN
	BEGIN
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) 'twtasks_nobody') THEN
			CREATE ROLE twtasks_nobody NOLOGIN NOINHERIT;
		END IF;
	EXCEPTION WHEN unique_violation OR duplicate_object THEN
		-- Another database made it at the same time, and we waited for its commit.
	END;
	IF EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) 'twtasks_nobody'
			   AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin
					OR EXISTS (SELECT FROM pg_catalog.pg_auth_members m WHERE m.member OPERATOR(pg_catalog.=) r.oid))) THEN
		RAISE EXCEPTION 'role "twtasks_nobody" exists and can do more than it should'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is a superuser, can create roles, can log in or is a member of a role.',
				HINT = 'Drop or rename that role, then create the extension again.';
	END IF;
END $$;
