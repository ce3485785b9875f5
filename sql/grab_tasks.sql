/*
 * twtasks.grab_tasks(ids, versions, incarnation, token, timeouts_ms, stuck, types, buckets)
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
 *		types			for each: the type it must have, since a trigger may be
 *						forged; an empty array: any
 *		buckets			those it must be in one of; an empty array: any
 *
 * Returns
 *		the tasks that were won, with version as finish_tasks() must name it;
 *		a task that another has grabbed, locked, changed or deleted is just not
 *		there.
 *		Nothing, while twtasks.enabled is off, when the incarnation has ended, or
 *		when this is a copy of the database that was not adopted (adopt())
 *
 * Errors
 *		22023			the arrays differ in length
 *		23502			a stuck rule is NULL
 *
 * Writes		twtasks.task
 * Locks		rows; waits for none
 * Example		SELECT * FROM twtasks.grab_tasks(ARRAY[...]::uuid[], '{0}', 7, 1, '{60000}', '{error}');
 */
CREATE FUNCTION twtasks.grab_tasks(
	ids uuid[],
	versions bigint[],
	incarnation bigint,
	token bigint,
	timeouts_ms bigint[],
	stuck twtasks.stuck_rule[],
	types text[] DEFAULT '{}',
	buckets text[] DEFAULT '{}')
RETURNS SETOF twtasks.task_input
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER ROWS 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
	started timestamptz;
BEGIN
	IF cardinality(ids) <> cardinality(versions)
		OR cardinality(ids) <> cardinality(timeouts_ms)
		OR cardinality(ids) <> cardinality(stuck) THEN
		RAISE EXCEPTION 'arrays must have one length'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	/*
	 * Row by row from the arrays, whatever the planner thinks of the table's
	 * size.  A row that somebody has locked is left out: one open transaction
	 * must not hold up the tasks beside it.
	 */
	started := clock_timestamp();
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
	FROM (SELECT u.*, l.place
		  FROM unnest(ids, versions, timeouts_ms, grab_tasks.stuck, types)
			   u(id, version, timeout_ms, rule, type)
		  CROSS JOIN LATERAL (
			SELECT s.ctid AS place FROM twtasks.task s
			WHERE s.id = u.id AND s.version = u.version AND s.status = 'SUBMITTED'
			  AND (cardinality(types) = 0 OR s.type = u.type)
			  AND (cardinality(buckets) = 0 OR s.bucket = ANY (buckets))
			  AND (s.expires IS NULL OR s.expires > started)
			FOR NO KEY UPDATE SKIP LOCKED) l) w
	WHERE t.ctid = w.place
	  AND twtasks.is_enabled()
	  AND twtasks.is_adopted()
	  AND EXISTS (SELECT FROM twtasks.node n
				  WHERE n.incarnation = grab_tasks.incarnation AND n.ended IS NULL)
	RETURNING t.id, t.version, t.type, t.sub_type, t.bucket, t.priority, t.tries,
			  t.state_time, t.data, t.payload, t.context;
END $$;
