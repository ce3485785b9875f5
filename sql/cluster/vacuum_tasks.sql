/*
 * twtasks_internal.vacuum_tasks(...)
 *
 *		Vacuums the tables that each task passes through, if autovacuum would do so at
 *		its next turn: it comes once in autovacuum_naptime, and a busy queue makes
 *		many dead rows meanwhile.  Passes over a table of more than 256 MB, one whose
 *		autovacuum_enabled is off, and one that somebody else vacuums or changes.
 *
 *		Each table is vacuumed in a transaction of its own.  It keeps no other vacuum from
 *		dead rows.
 *
 * Returns
 *		next_ms			milliseconds until the next call: soon if most dead rows are gone now,
 *						late if a long vacuum was in vain
 *
 * Errors
 *		25001			the call is inside a transaction block
 *
 * Locks		twtasks.task, its TOAST table and twtasks.unique_key in SHARE UPDATE
 *				EXCLUSIVE mode, waiting for none
 * Example		CALL twtasks_internal.vacuum_tasks(NULL);
 */
CREATE PROCEDURE twtasks_internal.vacuum_tasks(OUT next_ms bigint)
LANGUAGE c
AS 'MODULE_PATHNAME', 'twt_vacuum_tasks';
