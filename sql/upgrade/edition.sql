/*
 * Stands at the head of each update of the SQL edition, which scripts/edition writes.  The
 * words between at signs are filled in there.
 */
DO $$
DECLARE
	owner CONSTANT name := (
		SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace n
		WHERE n.nspname OPERATOR(pg_catalog.=) 'twtasks_internal');
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
				   WHERE n.nspname OPERATOR(pg_catalog.=) 'twtasks_internal' AND c.relname OPERATOR(pg_catalog.=) 'installed') THEN
		RAISE EXCEPTION 'this database does not have the SQL edition of twtasks'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = CASE WHEN owner IS NULL THEN 'Load the edition itself.' ELSE 'It has the extension: ALTER EXTENSION twtasks UPDATE.' END;
	ELSIF NOT pg_catalog.pg_has_role(current_user, owner, 'MEMBER') THEN
		RAISE EXCEPTION 'role "%" may not update twtasks', current_user
			USING ERRCODE = 'insufficient_privilege',
				HINT = pg_catalog.format('Use the role that installed it, or another member of "%s".', owner);
	END IF;
	-- With roles, SET ROLE comes later: roles that are missing are made before.
	IF @one@ THEN
		PERFORM pg_catalog.set_config('role', owner, true);
	END IF;
	PERFORM pg_catalog.set_config('twtasks_update.before', (
		SELECT pg_catalog.string_agg(pg_catalog.format('%s/%s', o.classid, o.objid), ' ')
		FROM (SELECT p.tableoid, p.oid FROM pg_catalog.pg_proc p
			  WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])
			  UNION ALL
			  SELECT c.tableoid, c.oid FROM pg_catalog.pg_class c
			  WHERE c.relnamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])) o(classid, objid)), true);
END $$;
-- as the owner:
/* Two updates wait for each other at the tables, so the second one sees the first. */
DO $$
DECLARE
	present record;
BEGIN
	SELECT i.version, i.build INTO present FROM @installed@;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'this database does not have the SQL edition of @name@'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	ELSIF present.build OPERATOR(pg_catalog.=) '@build@' THEN
		RAISE EXCEPTION 'this database has this edition of @name@ already'
			USING ERRCODE = 'object_not_in_prerequisite_state';
	ELSIF present.version OPERATOR(pg_catalog.<>) '@from@' THEN
		RAISE EXCEPTION 'this database has version % of @name@, not @from@', present.version
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = CASE WHEN pg_catalog.string_to_array(present.version, '.')::pg_catalog.int4[] OPERATOR(pg_catalog.>=) pg_catalog.string_to_array('@to@', '.')::pg_catalog.int4[]
					THEN 'This update leads to version @to@.'
					ELSE pg_catalog.format('Load the update from version %s first.', present.version) END;
	ELSIF present.build OPERATOR(pg_catalog.<>) '@known@' THEN
		RAISE EXCEPTION 'this database has another build of version @from@'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = pg_catalog.format('It has the build %s, and the update is for the build @known@.', present.build),
				HINT = 'Write the update for the file that was loaded here: scripts/edition --update FILE.';
	END IF;
END $$;

