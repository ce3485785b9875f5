/* An extension on top of twtasks is never newer than twtasks itself. */
DO $$
DECLARE
	newer record;
BEGIN
	SELECT e.extname, e.extversion, core.extversion AS has INTO newer
	FROM pg_catalog.pg_extension core
	JOIN pg_catalog.pg_depend d
		ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		AND d.refobjid OPERATOR(pg_catalog.=) core.oid AND d.classid OPERATOR(pg_catalog.=) d.refclassid
	JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.objid
	WHERE core.extname OPERATOR(pg_catalog.=) 'twtasks'
	  AND pg_catalog.string_to_array(e.extversion, '.')::pg_catalog.int4[]
		  OPERATOR(pg_catalog.>) pg_catalog.string_to_array(core.extversion, '.')::pg_catalog.int4[];
	IF FOUND THEN
		RAISE EXCEPTION 'extension "%" % needs extension "twtasks" of the same version, not %',
				newer.extname, newer.extversion, newer.has
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Run ALTER EXTENSION twtasks UPDATE first.';
	END IF;
END $$;
