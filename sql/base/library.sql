/*
 * A server that preloads twtasks keeps its library until it is restarted, and a
 * session keeps what it has loaded.  The library of 1.0 is asked in a way that it
 * can only fail, since it compares nothing: see src/base/contract.h.
 */
DO $$
BEGIN
	CREATE FUNCTION twtasks_internal.has_new_library(version text)
	RETURNS void
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'twt_check_library';
	DROP FUNCTION twtasks_internal.has_new_library(text);
EXCEPTION WHEN undefined_function THEN
	RAISE EXCEPTION 'this session has an older library of twtasks in memory'
		USING ERRCODE = 'feature_not_supported',
			DETAIL = SQLERRM,
			HINT = 'Restart the server if shared_preload_libraries has twtasks; otherwise open a new session.  If this does not help, install the library anew.';
END $$;

/*
 * twtasks_internal.check_library(version)
 *
 *		Refuses SQL of a version that the library in memory does not know.
 *
 * Errors
 *		0A000			the library does not know it
 */
CREATE FUNCTION twtasks_internal.check_library(version text)
RETURNS void
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_check_library';

SELECT twtasks_internal.check_library(e.extversion)
FROM pg_catalog.pg_extension e
WHERE e.extname OPERATOR(pg_catalog.=) 'twtasks';
