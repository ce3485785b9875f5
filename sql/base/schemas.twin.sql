-- before with roles:
/*
 * The role that installs owns nothing: twtasks_owner does, so the role must be
 * its member.  From PostgreSQL 16 on, the maker of a role is one that may not become it.
 */
DO $$
BEGIN
	IF NOT pg_catalog.pg_has_role(current_user, 'twtasks_owner',
		CASE WHEN pg_catalog.current_setting('server_version_num')::integer OPERATOR(pg_catalog.>=) 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
		EXECUTE pg_catalog.format('GRANT twtasks_owner TO %I', current_user);
	END IF;
END $$;
CREATE SCHEMA twtasks AUTHORIZATION twtasks_owner;

-- before with one role:
CREATE SCHEMA twtasks;

-- after with roles:
-- begin: in each update
SET ROLE twtasks_owner;
-- end: in each update
