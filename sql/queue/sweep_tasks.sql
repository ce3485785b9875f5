/*
 * twtasks_internal.sweep_tasks(bucket, per_type, skip, share, shares, most, after)
 *
 *		Looks at the table itself for SUBMITTED tasks: the guarantee behind the
 *		triggers.  Changes nothing.
 *
 * Parameters
 *		bucket			where to look
 *		per_type		at most so many of each type, the most urgent first
 *		skip			types not to look for: the caller has plenty of them
 *		share, shares	of several sidecars each looks for its own part first;
 *						0 and 1: for all
 *		most			beyond so many in all only one of each further type
 *		after			tasks, of different types, which an earlier call returned: of
 *						their types only what comes after them, unless the task is
 *						gone or the type's tasks rise as they wait
 *
 * Returns
 *		triggers: id, version, type, size, the priority that counts, to which aging
 *		has raised it, and place: where the row lay, which grab_tasks() may be told;
 *		none for a NULL argument, or in a copy of the database that was not adopted
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
 *		Tasks whose time to start is over become FAILED: SUBMITTED, or WAITING for
 *		a time that may be far away.
 *
 * Parameters
 *		batch			at most so many in one call
 *
 * Returns
 *		how many; 0 in a copy of the database that was not adopted
 *
 * Writes		twtasks.task, twtasks.finished_task
 * Locks		rows; those locked by others are left for the next call
 */
CREATE FUNCTION twtasks_internal.expire_tasks(batch integer DEFAULT 1000)
RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	expired bigint;
BEGIN
	WITH late AS (
		SELECT t.id FROM twtasks.task t
		WHERE t.expires <= moment AND t.status IN ('SUBMITTED', 'WAITING') AND twtasks.is_adopted()
		LIMIT batch FOR UPDATE SKIP LOCKED),
	gone AS (
		DELETE FROM twtasks.task t USING late l
		WHERE t.id = l.id AND t.status IN ('SUBMITTED', 'WAITING')
		RETURNING t.*),
	kept AS (
		INSERT INTO twtasks.finished_task
			(id, version, state_time, created, status, tries, priority,
			 type, sub_type, bucket, key, error, data, payload, context, added_by)
		SELECT g.id, g.version + 1, moment, g.created, 'FAILED', g.tries, g.priority,
			   g.type, g.sub_type, g.bucket, g.key, 'expired before it was started',
			   g.data, g.payload, g.context, g.added_by
		FROM gone g RETURNING 1)
	SELECT count(*) INTO expired FROM kept;
	RETURN expired;
END $$;
