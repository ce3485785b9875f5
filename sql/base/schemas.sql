/*
 * The schema twtasks holds the product: tables, views, types, and the functions
 * for applications and people.  This one holds the functions that sidecars and
 * the extension itself call.  It comes and goes with the extension, so
 * CREATE EXTENSION fails if such a schema exists.
 */
CREATE SCHEMA twtasks_internal AUTHORIZATION twtasks_owner;

/*
 * The maker of an older schema could have put functions into it that match our
 * calls better than our own, or may still do so.
 */
DO $$
DECLARE
	home CONSTANT oid := (SELECT n.oid FROM pg_catalog.pg_namespace n
						  WHERE n.nspname OPERATOR(pg_catalog.=) 'twtasks');
	keeper text;
	creator text;
	theirs text;
BEGIN
	SELECT r.rolname INTO keeper
	FROM pg_catalog.pg_namespace n
	JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
	WHERE n.oid OPERATOR(pg_catalog.=) home
	  AND NOT r.rolsuper
	  AND r.rolname OPERATOR(pg_catalog.<>) ALL (ARRAY['twtasks_owner', current_user]);
	IF keeper IS NOT NULL THEN
		RAISE EXCEPTION 'schema "twtasks" exists and belongs to role "%"', keeper
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Drop it, then create the extension again.';
	END IF;
	SELECT CASE a.grantee WHEN 0::pg_catalog.oid THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee) END,
		   n.nspname
	INTO creator, theirs
	FROM pg_catalog.pg_namespace n
	CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) a
	WHERE n.nspname OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::pg_catalog.name[])
	  AND a.privilege_type OPERATOR(pg_catalog.=) 'CREATE'
	  AND a.grantee OPERATOR(pg_catalog.<>) n.nspowner;
	IF creator IS NOT NULL THEN
		RAISE EXCEPTION 'role "%" may create objects in schema "%"', creator, theirs
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A function that matches our calls better than our own would run with the rights of twtasks.',
				HINT = pg_catalog.format('REVOKE CREATE ON SCHEMA %I from it, or the default privilege that gives it, then create the extension again.', theirs);
	END IF;
	IF EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relnamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.pronamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_type t WHERE t.typnamespace OPERATOR(pg_catalog.=) home)
		OR EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprnamespace OPERATOR(pg_catalog.=) home)
	THEN
		RAISE EXCEPTION 'schema "twtasks" is not empty'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Move or drop what is in it, then create the extension again.';
	END IF;
END $$;
