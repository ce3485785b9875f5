-- instead with one role:
/* All belongs to the role that installs it. */

-- after with roles:
/*
 * Functions of users are called by a role without rights: see call_user().  Only C can
 * call them as their owners.
 */
DO $$
BEGIN
	IF pg_catalog.to_regrole('twtasks_caller') IS NULL THEN
		CREATE ROLE twtasks_caller NOLOGIN NOINHERIT;
	END IF;
	IF NOT pg_catalog.pg_has_role('twtasks_owner', 'twtasks_caller', 'MEMBER') THEN
		GRANT twtasks_caller TO twtasks_owner;
	END IF;
END $$;
