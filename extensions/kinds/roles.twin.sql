-- instead with one role:
/* decide functions run as the role that has all, and cannot write. */

-- before with roles:
-- begin: in each update
/* The role that installs makes this one, since twtasks_owner makes no roles. */
RESET ROLE;

-- after with roles:
DO $$
BEGIN
	IF NOT pg_catalog.pg_has_role('twtasks_owner', 'twtasks_nobody', 'MEMBER') THEN
		GRANT twtasks_nobody TO twtasks_owner;
	END IF;
END $$;
SET ROLE twtasks_owner;
-- end: in each update
