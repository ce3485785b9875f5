-- before with roles:
/*
 * The role that installs owns nothing: twtasks_owner does, so the role must be
 * its member.  Where that needs no grant, as for the one that made it, this does
 * nothing.
 */
DO $$
BEGIN
	IF NOT pg_catalog.pg_has_role(current_user, 'twtasks_owner', 'MEMBER') THEN
		EXECUTE pg_catalog.format('GRANT twtasks_owner TO %I', current_user);
	END IF;
END $$;
CREATE SCHEMA twtasks AUTHORIZATION twtasks_owner;

-- before with one role:
CREATE SCHEMA twtasks;

-- after with roles:
SET ROLE twtasks_owner;
