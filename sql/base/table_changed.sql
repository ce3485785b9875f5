/*
 * twtasks_internal.table_changed()
 *
 *		Makes all sessions look again, after the commit, at a table whose
 *		contents they remember.  For triggers.
 *
 * Errors
 *		39P01			it is not called by a trigger
 */
CREATE FUNCTION twtasks_internal.table_changed()
RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_table_changed';
