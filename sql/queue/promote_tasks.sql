/*
 * twtasks_internal.promote_tasks(batch)
 *
 *		Makes WAITING tasks whose time has come SUBMITTED.  They count as SUBMITTED
 *		since then, however late the call is.
 *
 * Parameters
 *		batch			at most this many in one call
 *
 * Returns
 *		promoted		number of tasks
 *		next_ms			milliseconds until the next task is due; 0: more are due now;
 *						NULL: none waits, or this database is a copy and not adopted
 *
 * Writes		twtasks.task
 * Locks		rows, the earliest first; skips rows that others have locked
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.promote_tasks(
	batch integer DEFAULT 1000,
	OUT promoted bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
	started CONSTANT timestamptz := twtasks.clock();
BEGIN
	promoted := 0;
	IF NOT twtasks.is_adopted() THEN
		RETURN;
	END IF;
	WITH due AS (
		SELECT t.id, t.version FROM twtasks.task t
		WHERE NOT t.queued AND t.status = 'WAITING' AND t.next_event_time <= started
		ORDER BY t.next_event_time
		LIMIT batch FOR UPDATE SKIP LOCKED),
	changed AS (
		UPDATE twtasks.task t
		SET status = 'SUBMITTED', version = t.version + 1, queued = true,
			state_time = greatest(t.next_event_time, t.state_time),
			next_event_time = greatest(t.next_event_time, t.state_time) + twtasks_internal.queue_time(t.type)
		FROM due d
		WHERE t.id = d.id AND t.version = d.version AND t.status = 'WAITING'
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(c.id, c.version, c.bucket, c.type,
									   c.priority, c.size, NULL::timestamptz))
	INTO promoted FROM changed c;

	-- A task that is due and was skipped is locked: do not try it again at once.
	SELECT least(
		(SELECT CASE WHEN promoted < batch THEN least(500, batch * 500) ELSE 0 END
		 FROM twtasks.task t
		 WHERE NOT t.queued AND t.status = 'WAITING' AND t.next_event_time <= started
		 LIMIT 1),
		(SELECT greatest(0, ceil(extract(epoch FROM t.next_event_time - twtasks.clock()) * 1000))
		 FROM twtasks.task t
		 WHERE NOT t.queued AND t.status = 'WAITING'
		   AND t.next_event_time > started AND t.next_event_time < 'infinity'
		 ORDER BY t.next_event_time LIMIT 1))
	INTO next_ms;
END $$;
