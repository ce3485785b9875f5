/*
 * twtasks.trace_id(task_id)
 *
 *		The id of the trace to which a task belongs, live or finished: of the member
 *		traceparent of its context.  Nothing else of the context is shown, since it may
 *		tell as much as a payload.
 *
 * Returns
 *		32 hexadecimal digits
 *		NULL: there is no such task, or its context has no valid traceparent
 *
 * Locks		none
 * Example		SELECT twtasks.trace_id(twtasks.id_of('order 4711'));
 */
CREATE FUNCTION twtasks.trace_id(task_id uuid)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT nullif((regexp_match(c.context ->> 'traceparent', '^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}'))[1], repeat('0', 32))
	FROM (SELECT t.context, NULL::timestamptz AS ended FROM twtasks.task t WHERE t.id = trace_id.task_id
		  UNION ALL
		  SELECT f.context, f.state_time FROM twtasks.finished_task f WHERE f.id = trace_id.task_id) c
	ORDER BY c.ended DESC NULLS FIRST LIMIT 1
$$;
