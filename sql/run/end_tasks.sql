/*
 * twtasks_internal.asks_on_end(type)
 *
 *		Whether a policy of that type names a function for on_end.
 */
CREATE FUNCTION twtasks_internal.asks_on_end(type text)
RETURNS boolean
LANGUAGE c STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_asks_on_end';

/*
 * twtasks_internal.grabbed_at(task_id)
 *
 *		Returns the time at which a running task was grabbed.  STABLE: it sees the task
 *		as it was before the statement that ends it.
 *
 * Returns
 *		NULL if the task did not run
 */
CREATE FUNCTION twtasks_internal.grabbed_at(task_id uuid)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT t.state_time FROM twtasks.task t WHERE t.id = task_id AND t.status = 'PROCESSING'
$$;

/*
 * twtasks_internal.ended_live(task)
 *
 *		A task in ERROR, as functions of on_end get it.
 */
CREATE FUNCTION twtasks_internal.ended_live(task twtasks.task)
RETURNS twtasks.ended_task
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.ended_task(
		task.id, task.version, task.type, task.sub_type, task.bucket, task.key, task.tries, task.status,
		task.state_time, task.error, NULL, task.data, task.context, NULL, twtasks_internal.grabbed_at(task.id))
$$;

/*
 * twtasks_internal.ended_final(task)
 *
 *		A task of the history, as functions of on_end get it.
 */
CREATE FUNCTION twtasks_internal.ended_final(task twtasks.finished_task)
RETURNS twtasks.ended_task
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.ended_task(
		task.id, task.version, task.type, task.sub_type, task.bucket, task.key, task.tries, task.status,
		task.state_time, task.error, task.message, task.data, task.context, NULL, twtasks_internal.grabbed_at(task.id))
$$;

/*
 * twtasks_internal.end_now(ids, statuses, reasons)
 *
 *		Does the work of end_tasks(), but calls no function of on_end.
 *
 * Returns
 *		ended			for these functions; NULL: none wants it
 *		others			as end_tasks()
 *
 * Writes		twtasks.task, twtasks.finished_task
 */
CREATE FUNCTION twtasks_internal.end_now(
	ids uuid[],
	statuses twtasks.task_status[],
	reasons text[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status,
	OUT ended twtasks.ended_task)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	n CONSTANT integer := cardinality(ids);
BEGIN
	-- one element stands for all
	IF n > 1 AND cardinality(statuses) = 1 THEN statuses := array_fill(statuses[1], ARRAY[n]); END IF;
	IF n > 1 AND cardinality(reasons) = 1 THEN reasons := array_fill(reasons[1], ARRAY[n]); END IF;

	RETURN QUERY
	WITH stopped AS (
		UPDATE twtasks.task t
		SET status = 'ERROR', version = t.version + 1, queued = false, state_time = moment,
			next_event_time = 'infinity', deadline = NULL, planned = NULL, error = u.reason
		FROM unnest(ids, statuses, reasons) u(id, status, reason)
		WHERE t.id = u.id AND u.status = 'ERROR'
		RETURNING t.*)
	SELECT s.id, s.version, s.status,
		   CASE WHEN twtasks_internal.asks_on_end(s.type) THEN twtasks_internal.ended_live(s) END
	FROM stopped s;

	PERFORM twtasks_internal.begin_history();
	RETURN QUERY
	WITH gone AS (
		DELETE FROM twtasks.task t
		USING unnest(ids, statuses, reasons) u(id, status, reason)
		WHERE t.id = u.id AND u.status <> 'ERROR'
		RETURNING t.*, u.status AS final, u.reason),
	kept AS (
		INSERT INTO twtasks.finished_task AS f
			(id, version, state_time, created, incarnation, status, tries, priority,
			 type, sub_type, bucket, key, error, data, payload, context, added_by)
		SELECT g.id, g.version + 1, moment, g.created, CASE g.status WHEN 'PROCESSING' THEN g.incarnation END,
			   g.final, g.tries, g.priority, g.type, g.sub_type, g.bucket, g.key, g.reason, g.data,
			   g.payload, g.context, g.added_by
		FROM gone g
		RETURNING f.id, f.version, f.status,
				  CASE WHEN twtasks_internal.asks_on_end(f.type) THEN twtasks_internal.ended_final(f) END AS ended)
	SELECT k.id, k.version, k.status, k.ended FROM kept k;
END $$;

/*
 * twtasks_internal.end_tasks(ids, statuses, reasons)
 *
 *		Ends live tasks that no worker finishes, and calls the functions of on_end.
 *		The caller holds locks on the rows.
 *
 * Parameters
 *		statuses		for each: FAILED, CANCELLED or ERROR
 *		reasons			for each: why, or NULL
 *
 *		An array with one element gives it to all tasks, except ids.
 *
 * Returns
 *		id, version, status of the ended tasks; ERROR also when a function failed, and
 *		another status if a function has moved a task on that became ERROR.  A
 *		missing task is unchanged, because functions took too long before it or
 *		could not get their locks: end it again
 *
 * Errors
 *		22004			an array is NULL
 *		22023			the arrays differ in length
 *		25001			a task has a function for on_end, and the transaction is not READ
 *						COMMITTED
 *
 * Writes		twtasks.task, twtasks.finished_task, and what functions of on_end write
 */
CREATE FUNCTION twtasks_internal.end_tasks(
	ids uuid[],
	statuses text[],
	reasons text[],
	OUT id uuid,
	OUT version bigint,
	OUT status twtasks.task_status)
RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 100
AS 'MODULE_PATHNAME', 'twt_end_tasks';
