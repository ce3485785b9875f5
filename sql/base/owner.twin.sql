-- instead:
/*
 * The owner has made all objects, and PUBLIC has no rights on a function that is new: an
 * update names what there was before it.
 */
-- begin: in each update
SELECT pg_catalog.set_config('twtasks_update.made', COALESCE(pg_catalog.string_agg(
	pg_catalog.format('%s/%s', o.classid, o.objid), ' '), ''), true)
FROM (SELECT p.tableoid, p.oid FROM pg_catalog.pg_proc p
	  WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])
	  UNION ALL
	  SELECT c.tableoid, c.oid FROM pg_catalog.pg_class c
	  WHERE c.relnamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])) o(classid, objid)
WHERE pg_catalog.format('%s/%s', o.classid, o.objid) OPERATOR(pg_catalog.<>) ALL (
	pg_catalog.string_to_array(COALESCE(pg_catalog.current_setting('twtasks_update.before', true), ''), ' '));

DO $$
DECLARE
	own regprocedure;
BEGIN
	FOR own IN
		SELECT p.oid FROM pg_catalog.pg_proc p
		WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])
		  AND pg_catalog.pg_get_userbyid(p.proowner) OPERATOR(pg_catalog.=) current_user
		  AND pg_catalog.format('%s/%s', p.tableoid, p.oid) OPERATOR(pg_catalog.=) ANY (
			pg_catalog.string_to_array(pg_catalog.current_setting('twtasks_update.made'), ' '))
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', own);
	END LOOP;
END $$;
-- end: in each update
