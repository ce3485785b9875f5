/*
 * Roles are the cluster's, not the database's: a second database, or a
 * restore into the same cluster, finds them there.  The owner of everything
 * is a role nobody can log in as, so that no function of ours runs with more
 * rights than our own tables need.
 */
DO $$
DECLARE
	needed text;
BEGIN
	FOREACH needed IN ARRAY ARRAY['twtasks_owner', 'twtasks_producer',
								  'twtasks_worker', 'twtasks_operator',
								  'twtasks_viewer']
	LOOP
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
					   WHERE r.rolname OPERATOR(pg_catalog.=) needed) THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', needed);
		ELSIF EXISTS (SELECT FROM pg_catalog.pg_roles r
					  WHERE r.rolname OPERATOR(pg_catalog.=) needed
						AND (r.rolsuper OR r.rolcreaterole OR r.rolcanlogin)) THEN
			RAISE EXCEPTION 'role "%" exists and can do more than it should', needed
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'It is a superuser, can create roles or can log in.',
					HINT = 'Drop or rename that role, then create the extension again.';
		END IF;
	END LOOP;
END $$;
