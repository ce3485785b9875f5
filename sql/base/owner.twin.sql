-- instead:
/* The owner has made all objects, and PUBLIC has no rights. */
DO $$
DECLARE
	own regprocedure;
BEGIN
	FOR own IN
		SELECT p.oid FROM pg_catalog.pg_proc p
		WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])
		  AND pg_catalog.pg_get_userbyid(p.proowner) OPERATOR(pg_catalog.=) current_user
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', own);
	END LOOP;
END $$;
