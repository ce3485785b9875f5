-- instead:
/* The role twtasks_owner has made all objects, and PUBLIC has no rights. */
DO $$
DECLARE
	own regprocedure;
BEGIN
	FOR own IN
		SELECT p.oid FROM pg_catalog.pg_proc p
		WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[])
		  AND p.proowner OPERATOR(pg_catalog.=) 'twtasks_owner'::regrole
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', own);
	END LOOP;
END $$;
