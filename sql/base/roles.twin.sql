-- instead with one role:
/* All belongs to the role that installs it. */

-- after with roles:
/*
 * Functions of users are called by a role without rights: see make_call().  Only C can
 * call them as their owners.  Their deferred triggers fire as another, which may not even
 * call such functions.
 */
DO $$
DECLARE
	role name;
BEGIN
	FOREACH role IN ARRAY '{twtasks_caller,twtasks_deferred}'::name[] LOOP
		IF pg_catalog.to_regrole(role) IS NULL THEN
			EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', role);
		END IF;
		IF NOT pg_catalog.pg_has_role('twtasks_owner', role, 'MEMBER') THEN
			EXECUTE pg_catalog.format('GRANT %I TO twtasks_owner', role);
		END IF;
	END LOOP;
END $$;
