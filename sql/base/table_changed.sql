/*
 * twtasks_internal.table_changed()
 *
 *		Makes all sessions read a table again whose content they cache, after
 *		the commit.  A trigger function.
 *
 * Errors
 *		39P01			not called by a trigger
 */
CREATE FUNCTION twtasks_internal.table_changed()
RETURNS trigger
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_table_changed';
