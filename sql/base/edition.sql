/*
 * twtasks.edition()
 *
 *		Tells which edition of twtasks this database has.
 *
 * Returns
 *		edition			'c': the extension with its library; 'sql': the SQL edition, for
 *						servers that allow no library of others
 *		version			of its SQL
 *		extensions		those on top of it in this database, with their versions:
 *						{"twtasks_events": "1.1"}
 * Example		SELECT * FROM twtasks.edition();
 */
CREATE FUNCTION twtasks.edition(OUT edition text, OUT version text, OUT extensions jsonb)
RETURNS record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT 'c', e.extversion,
		   (SELECT coalesce(jsonb_object_agg(o.extname, o.extversion), '{}') FROM pg_extension o WHERE o.extname ^@ 'twtasks_')
	FROM pg_extension e WHERE e.extname = 'twtasks'
$$;
