/* Requests that still apply to their tasks.  A request names the version that
 * its operator saw; a grab or the stuck rule may have added 1 since. */
CREATE VIEW twtasks.cancel_requests AS
	SELECT t.id, t.version, t.type, t.status, c.requested, coalesce(c.on_behalf_of, c.actor) AS actor, c.role, c.application, c.reason,
		   t.incarnation, t.queued,
		   pg_catalog.format('cancelled by %s%s', coalesce(c.on_behalf_of, c.actor), ': ' || c.reason) AS why
	FROM twtasks.cancel_request c
	JOIN twtasks.task t ON t.id = c.task_id AND t.created = c.created
	WHERE t.status IN ('PROCESSING', 'SUBMITTED') AND t.version - c.version BETWEEN 0 AND 1;
COMMENT ON VIEW twtasks.cancel_requests IS 'Running tasks with a request to cancel them';

/*
 * twtasks.request_cancel(id, version, reason)
 *
 *		Cancels a task even when it runs.  A task that nobody runs (not started,
 *		accepted, or its node is gone) becomes CANCELLED at once, but not before
 *		its deadline if its policy's takeover says so.  Otherwise the request is
 *		stored, and the sidecar that runs the task is told.  A process gets TERM
 *		and a worker a message; a statement or HTTP request is cancelled.  Then the task becomes CANCELLED, unless its handler reports
 *		done first.  The handler's work until then remains.
 *
 * Returns
 *		result			'changed'		it is CANCELLED
 *						'requested'		it runs, and was asked to stop
 *						'not_found', 'wrong_version', 'wrong_status' (ERROR, or
 *						finished)		as change_task()
 *		version, status	of the task now
 *
 * Errors
 *		22004			id is NULL
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 * Locks		row lock; does not wait for a SQL handler that runs the task
 * Wakes		all sidecars, by NOTIFY
 * Example		SELECT * FROM twtasks.request_cancel('...', 1, 'wrong file');
 */
CREATE FUNCTION twtasks.request_cancel(id uuid, version bigint DEFAULT NULL, reason text DEFAULT NULL)
RETURNS twtasks.change_result
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	task twtasks.task;
	is_ours boolean;
BEGIN
	SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id
	FOR UPDATE SKIP LOCKED;
	is_ours := FOUND;
	IF NOT is_ours THEN
		SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id;
		-- a SQL handler's transaction may have changed the task and not ended
		IF task.status <> 'SUBMITTED' THEN
			SELECT t.* INTO task FROM twtasks.task t WHERE t.id = request_cancel.id FOR UPDATE;
			is_ours := FOUND;
		END IF;
	END IF;
	IF task.id IS NULL OR task.version <> request_cancel.version
		OR NOT (task.status = 'PROCESSING' OR task.status = 'SUBMITTED' AND NOT is_ours) THEN
		RETURN twtasks_internal.change_task('cancel', id, version, NULL::timestamptz, reason);
	END IF;

	INSERT INTO twtasks.cancel_request AS c (task_id, version, created, requested, reason)
	VALUES (task.id, task.version, task.created, clock_timestamp(), request_cancel.reason)
	ON CONFLICT (task_id) DO UPDATE
	SET version = excluded.version, created = excluded.created,
		requested = excluded.requested, actor = excluded.actor, role = excluded.role,
		application = excluded.application, reason = excluded.reason, on_behalf_of = excluded.on_behalf_of;
	IF NOT task.queued AND is_ours
		OR task.status = 'PROCESSING' AND NOT EXISTS (
			SELECT FROM twtasks.node n
			WHERE n.incarnation = task.incarnation AND n.ended IS NULL)
		   AND twtasks_internal.may_still_run(task.type, task.deadline) IS NOT TRUE THEN
		RETURN (SELECT twtasks_internal.change_result('changed', f.version, f.status)
				FROM twtasks_internal.cancel_now(ARRAY[task.id], ARRAY[task.version]) f);
	END IF;
	PERFORM twtasks_internal.write_audit('request_cancel', task.id, twtasks_internal.facts(task),
								twtasks_internal.facts(task), request_cancel.reason);
	DELETE FROM twtasks.cancel_request c
	WHERE c.requested < (SELECT clock_timestamp()) - interval '1 minute'
	  AND NOT EXISTS (SELECT FROM twtasks.cancel_requests r WHERE r.id = c.task_id);
	PERFORM pg_notify('twtasks_cancel', task.id::text);
	RETURN twtasks_internal.change_result('requested', task.version, task.status);
END $$;

/*
 * twtasks_internal.take_cancels(incarnation)
 *
 *		A sidecar calls this when it hears of a request_cancel(), and after each
 *		connect.  The call also cancels requested tasks that nobody runs.
 *
 * Parameters
 *		incarnation		of start_node()
 *
 * Returns
 *		id, version		of tasks to stop
 *		is_ours			true: this node has grabbed it; false: it is SUBMITTED and locked,
 *						perhaps by a SQL handler
 *		why				who asked, and the reason
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 * Locks		rows; does not wait
 */
CREATE FUNCTION twtasks_internal.take_cancels(
	incarnation bigint,
	OUT id uuid,
	OUT version bigint,
	OUT is_ours boolean,
	OUT why text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	nobodys uuid[];
	versions bigint[];
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.cancel_request) THEN
		RETURN;
	END IF;
	SELECT array_agg(x.id), array_agg(x.version) INTO nobodys, versions
	FROM (SELECT t.id, t.version FROM twtasks.task t
		  WHERE t.id IN (SELECT c.id FROM twtasks.cancel_requests c
						 WHERE c.status = 'SUBMITTED' OR NOT c.queued)
			AND (t.status = 'SUBMITTED' OR NOT t.queued)
		  ORDER BY t.id FOR UPDATE SKIP LOCKED) x;
	IF nobodys IS NOT NULL THEN
		PERFORM FROM twtasks_internal.cancel_now(nobodys, versions);
	END IF;
	RETURN QUERY
	SELECT c.id, c.version, c.status = 'PROCESSING', c.why FROM twtasks.cancel_requests c
	WHERE c.status = 'SUBMITTED' OR c.incarnation = take_cancels.incarnation;
END $$;

/*
 * twtasks_internal.cancel_now(ids, versions)
 *
 *		Ends tasks that nobody runs as CANCELLED, if they have a request to cancel.
 *		The caller holds locks on the rows.
 *
 * Returns
 *		id, version, status of the ended tasks; ERROR: a function of on_end failed
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.cancel_request,
 *				twtasks.audit
 */
CREATE FUNCTION twtasks_internal.cancel_now(
	ids uuid[], versions bigint[], OUT id uuid, OUT version bigint, OUT status twtasks.task_status)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT f.id, f.version, f.status FROM twtasks_internal.finish_tasks(
		ids, versions, '{cancelled}'::text[], '{NULL}'::bigint[], '{NULL}'::text[], NULL::bigint, NULL::bigint) f;
END $$;

/*
 * twtasks_internal.cancel_orphans(ids)
 *
 *		Ends the tasks with a request to cancel, before the stuck rule is
 *		applied.  The caller holds locks on the rows.
 *
 * Returns
 *		the ids of the remaining tasks
 */
CREATE FUNCTION twtasks_internal.cancel_orphans(ids uuid[])
RETURNS uuid[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	cancelled uuid[];
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.cancel_request) THEN
		RETURN ids;
	END IF;
	cancelled := ARRAY(
		SELECT f.id FROM twtasks_internal.cancel_now(
			ids, ARRAY(SELECT t.version
					   FROM unnest(ids) WITH ORDINALITY u(id, place)
					   JOIN twtasks.task t ON t.id = u.id ORDER BY u.place)) f);
	RETURN ARRAY(SELECT u FROM unnest(ids) u WHERE u <> ALL (cancelled));
END $$;
