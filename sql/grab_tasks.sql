/*
 * twtasks.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck)
 *
 *		SUBMITTED -> PROCESSING, for those of the named tasks that still have
 *		the named version.  What comes back is the caller's to execute, once
 *		the call has committed.
 *
 * Parameters
 *		ids, versions	the triggers, in any order
 *		incarnation		of start_node()
 *		token			a number the caller uses for one grab only: tells a grab
 *						of unknown outcome (resolve_grab())
 *		timeouts_ms		for each: after so long the stuck rule applies
 *		stuck			for each: that rule
 *
 * Returns
 *		the tasks that were won, with version as finish_tasks() must name it;
 *		a task that another has grabbed, changed or deleted is just not there.
 *		Nothing, while twtasks.enabled is off or when the incarnation has ended
 *
 * Errors
 *		22023			the arrays differ in length
 *		23502			a stuck rule is NULL
 *
 * Writes		twtasks.task
 * Locks		rows, in order of id
 * Example		SELECT * FROM twtasks.grab_tasks(ARRAY[...]::uuid[], '{0}', 7, 1, '{60000}', '{error}');
 */
CREATE FUNCTION twtasks.grab_tasks(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[])
RETURNS SETOF twtasks.task_input
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
	started CONSTANT timestamptz := clock_timestamp();
BEGIN
	IF cardinality(ids) <> cardinality(versions)
		OR cardinality(ids) <> cardinality(timeouts_ms)
		OR cardinality(ids) <> cardinality(stuck) THEN
		RAISE EXCEPTION 'arrays must have one length'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN QUERY
	UPDATE twtasks.task t
	SET status = 'PROCESSING',
		version = t.version + 1,
		tries = t.tries + 1,
		state_time = started,
		deadline = started + w.timeout_ms * interval '1 millisecond',
		incarnation = grab_tasks.incarnation,
		token = grab_tasks.token,
		stuck = w.rule
	FROM (SELECT u.id, u.version, u.timeout_ms, u.rule
		  FROM unnest(ids, versions, timeouts_ms, grab_tasks.stuck)
			   u(id, version, timeout_ms, rule)
		  ORDER BY u.id) w
	WHERE t.id = w.id
	  AND t.version = w.version
	  AND t.status = 'SUBMITTED'
	  AND (t.expires IS NULL OR t.expires > started)
	  AND twtasks.is_enabled()
	  AND EXISTS (SELECT FROM twtasks.node n
				  WHERE n.incarnation = grab_tasks.incarnation AND n.ended IS NULL)
	RETURNING t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
			  t.state_time, t.data, t.payload, t.context;
END $$;
