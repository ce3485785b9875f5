/*
 * twtasks_internal.sweep_tasks(bucket, per_type, skip, share, shares, most, after)
 *
 *		Reads SUBMITTED tasks from the table itself, in case triggers were lost.
 *		Changes nothing.
 *
 * Parameters
 *		bucket			bucket to read
 *		per_type		at most this many of each type, the most urgent first
 *		skip			types to leave out, since the caller has plenty of their tasks
 *		share, shares	the part of the ids that this sidecar reads, among several
 *						sidecars; 0 and 1: all
 *		most			after this many in all, only one of each further type
 *		after			last tasks of their types that an earlier call returned: their
 *						types are read from there, unless the task is gone or the
 *						type's tasks rise as they wait
 *
 * Returns
 *		priority		the priority to which aging has raised the task
 *		place			location of the row, for grab_tasks()
 *		no row for a NULL argument, or if this database is a copy and not adopted
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.sweep_tasks(
	bucket text,
	per_type integer,
	skip text[] DEFAULT '{}',
	share integer DEFAULT 0,
	shares integer DEFAULT 1,
	most integer DEFAULT 2147483647,
	after uuid[] DEFAULT '{}',
	OUT id uuid,
	OUT version bigint,
	OUT type text,
	OUT priority smallint,
	OUT size integer,
	OUT place tid)
RETURNS SETOF record
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 1000
SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'twt_sweep_tasks';

/*
 * twtasks_internal.expire_tasks(batch)
 *
 *		Makes tasks FAILED that have not started in time: SUBMITTED tasks, and
 *		WAITING tasks, whose time to run may be far away.
 *
 * Parameters
 *		batch			at most this many in one call
 *
 * Returns
 *		number of tasks; 0 if this database is a copy and not adopted
 *
 * Writes		as end_tasks()
 * Locks		rows; skips rows that others have locked
 */
CREATE FUNCTION twtasks_internal.expire_tasks(batch integer DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	late uuid[];
BEGIN
	late := ARRAY(
		SELECT t.id FROM twtasks.task t
		WHERE t.expires <= moment AND t.status IN ('SUBMITTED', 'WAITING') AND twtasks.is_adopted()
		LIMIT batch FOR UPDATE SKIP LOCKED);
	RETURN (SELECT count(*) FROM twtasks_internal.end_tasks(late, '{FAILED expired}'::text[],
															'{expired before it was started}'::text[]));
END $$;
