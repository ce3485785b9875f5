/*
 * twtasks_internal.resolve_grab(ids, versions, incarnation, token)
 *
 *		Finds the tasks that a grab has won, when its answer was lost.  The other
 *		tasks get a new version, so that the lost call cannot grab them should the
 *		server still execute it.
 *
 *		The end of a session that waits for a synchronous standby shows a grab that
 *		the standby may lack.  A message in the log makes this call wait for the
 *		standby in its place.
 *
 * Parameters
 *		as they were given to grab_tasks()
 *
 * Returns
 *		the tasks won, as grab_tasks() returns them
 *
 * Writes		twtasks.task
 * Locks		rows, in the order given; waits briefly (200 ms) for the lost call if it
 *				still runs, since its backend may stand still; call again
 * Wakes		one sidecar of the bucket for each task with a new version
 */
CREATE FUNCTION twtasks_internal.resolve_grab(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint)
RETURNS SETOF twtasks.task_input
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET lock_timeout = '200ms'
AS $$
DECLARE
	fenced bigint;
BEGIN
	WITH f AS (
		UPDATE twtasks.task t SET version = t.version + 1
		FROM (SELECT u.*, l.place FROM unnest(ids, versions) u(id, version)
			  CROSS JOIN LATERAL (SELECT s.ctid AS place FROM twtasks.task s
								  WHERE s.id = u.id OFFSET 0) l) w
		WHERE t.ctid = w.place AND t.version = w.version AND t.status = 'SUBMITTED'
		  AND EXISTS (SELECT FROM twtasks.node n WHERE n.incarnation = resolve_grab.incarnation)
		RETURNING t.*)
	SELECT count(twtasks_internal.queue_trigger(f.id, f.version, f.bucket, f.type,
									   f.priority, f.size, NULL::timestamptz))
	INTO fenced FROM f;
	PERFORM pg_logical_emit_message(true, 'twtasks', ''::text);
	RETURN QUERY
	SELECT (g.task).*
	FROM (SELECT twtasks_internal.task_input(
				t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
				t.state_time, t.data, t.payload, t.context, t.key) AS task
		  FROM unnest(ids, versions) w(id, version)
		  JOIN twtasks.task t ON t.id = w.id
		  WHERE t.version = w.version + 1
			AND t.status = 'PROCESSING'
			AND t.incarnation = resolve_grab.incarnation
			AND t.token = resolve_grab.token
		  OFFSET 0) g;
END $$;
