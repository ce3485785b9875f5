-- before with roles:
-- begin: in each update
SET ROLE twtasks_owner;
-- end: in each update

-- instead:
/* A part on top of the SQL edition is of the same version. */
DO $$
BEGIN
	IF pg_catalog.to_regclass('twtasks_internal.installed_extension') IS NULL
		OR NOT EXISTS (SELECT FROM twtasks_internal.installed i WHERE i.version OPERATOR(pg_catalog.=) '@version@') THEN
		RAISE EXCEPTION '"@extension@" @version@ needs the SQL edition of twtasks of the same version'
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Install or update the SQL edition first.';
	END IF;
END $$;
-- begin: not in updates
-- pg_tle can drop the extension, and leaves the row.
DELETE FROM twtasks_internal.installed_extension e
WHERE e.name OPERATOR(pg_catalog.=) '@extension@' AND EXISTS (SELECT FROM pg_catalog.pg_extension x WHERE x.extname OPERATOR(pg_catalog.=) e.name);
INSERT INTO twtasks_internal.installed_extension (name, version, build) VALUES ('@extension@', '@version@', '@build@');
-- Functions that exist already keep their rights: see sql/base/owner.twin.sql.
SELECT pg_catalog.set_config('twtasks_update.before', pg_catalog.string_agg(pg_catalog.format('%s/%s', p.tableoid, p.oid), ' '), true)
FROM pg_catalog.pg_proc p
WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[]);
-- end: not in updates
