-- before with roles:
SET ROLE twtasks_owner;

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
INSERT INTO twtasks_internal.installed_extension (name, version) VALUES ('@extension@', '@version@');

-- after:
-- What there is already keeps its rights: see sql/base/owner.twin.sql.
SELECT pg_catalog.set_config('twtasks_update.before', pg_catalog.string_agg(pg_catalog.format('%s/%s', p.tableoid, p.oid), ' '), true)
FROM pg_catalog.pg_proc p
WHERE p.pronamespace OPERATOR(pg_catalog.=) ANY (ARRAY['twtasks', 'twtasks_internal']::regnamespace[]);
