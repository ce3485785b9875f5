/*
 * twtasks.edition()
 *
 *		Tells which edition of twtasks this database has.
 *
 * Returns
 *		edition			'c': the extension with its library; 'sql': the SQL edition, for
 *						servers that allow no library of others
 *		version			of its SQL
 * Example		SELECT * FROM twtasks.edition();
 */
CREATE FUNCTION twtasks.edition(OUT edition text, OUT version text)
RETURNS record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'c', e.extversion FROM pg_extension e WHERE e.extname = 'twtasks' $$;
