-- before:
/*
 * twtasks_internal.check_tries(results, outcomes, adds)
 *
 *		Raises the error of the first argument of finish_tasks() that is not valid.
 */
CREATE FUNCTION twtasks_internal.check_tries(results text[], outcomes jsonb[], adds jsonb[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wrong record;
BEGIN
	SELECT u.result, u.is_result, CASE WHEN jsonb_typeof(u.outcome) <> 'object' THEN 'an outcome must be a JSON object'
			WHEN jsonb_typeof(u.add) <> 'array' THEN 'tasks to add must be a JSON array'
			ELSE 'tasks can be added only with the results done and delete' END AS fault
	INTO wrong
	FROM (SELECT r.*, coalesce(r.result = ANY ('{done,delete,retry,repeat,error,accepted,release,cancelled}'), false) AS is_result
		  FROM unnest(results, outcomes, adds) WITH ORDINALITY r(result, outcome, add, n)) u
	WHERE NOT u.is_result OR jsonb_typeof(u.outcome) <> 'object' OR jsonb_typeof(u.add) <> 'array'
	   OR u.add IS NOT NULL AND u.result NOT IN ('done', 'delete')
	ORDER BY u.n LIMIT 1;
	IF NOT FOUND THEN
		RETURN;
	ELSIF wrong.is_result THEN
		RAISE EXCEPTION '%', wrong.fault USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RAISE EXCEPTION 'unrecognized result: %', coalesce('"' || wrong.result || '"', 'NULL')
		USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Results are done, delete, retry, repeat, error, accepted, release and cancelled.';
END $$;

/*
 * twtasks_internal.asked_function(function, task, try, until)
 *
 *		A try as the function of a policy judges it.  If the function fails, the figures
 *		decide.
 *
 * Parameters
 *		until			after this time the try is left for a later call
 */
CREATE FUNCTION twtasks_internal.asked_function(function text, task twtasks.task, try twtasks_internal.try, message text, until timestamptz)
RETURNS twtasks_internal.try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	at timestamptz;
BEGIN
	IF clock_timestamp() > until THEN
		try.result := 'later';
		RETURN try;
	END IF;
	at := twtasks_internal.call_retry(function, twtasks_internal.task_input(task.id, task.version, task.type, task.sub_type, task.bucket,
		task.priority, task.tries, task.state_time, task.data, task.payload, task.context, task.key), coalesce(message, ''));
	IF at = 'infinity' THEN
		RAISE WARNING 'function "%" of a policy failed: it returned an infinite time', function;
	ELSE
		try.result := CASE WHEN at IS NULL THEN 'error' ELSE 'retry' END;
		try.delay_ms := greatest(round(extract(epoch FROM at - clock_timestamp()) * 1000), 0);
	END IF;
	RETURN try;
EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
	RAISE WARNING 'function "%" of a policy failed: % (SQLSTATE %)', function, SQLERRM, SQLSTATE
		USING ERRCODE = SQLSTATE,
			HINT = 'The policy''s figures decide in its place.';
	RETURN try;
END $$;

/*
 * twtasks_internal.judged(try, task, ask, until)
 *
 *		A try as the policies judge it: the database's come first, then the caller's.  A
 *		delay of the handler stays.
 */
CREATE FUNCTION twtasks_internal.judged(try twtasks_internal.try, task twtasks.task, ask boolean, until timestamptz)
RETURNS twtasks_internal.try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	policy record;
	given_ms CONSTANT bigint := try.delay_ms;
	is_repeat CONSTANT boolean := try.result = 'repeat';
	starts_anew boolean;
	delay_ms bigint;
BEGIN
	SELECT p.retry, nullif(p.retry_function, 'none') AS retry_function, coalesce(p.reset_tries, true) AS reset_tries
	INTO policy FROM twtasks.policy_of(task.type) p;
	starts_anew := is_repeat AND policy.reset_tries;
	delay_ms := twtasks_internal.retry_delay(coalesce(policy.retry, try.retry), CASE WHEN starts_anew THEN 0 ELSE task.tries END);
	try.result := CASE WHEN starts_anew THEN 'repeat' WHEN delay_ms IS NULL THEN 'error' ELSE 'retry' END;
	try.delay_ms := coalesce(given_ms, delay_ms);
	IF NOT is_repeat AND policy.retry_function IS NOT NULL AND ask THEN
		try := twtasks_internal.asked_function(policy.retry_function, task, try, try.message, until);
		try.delay_ms := coalesce(given_ms, try.delay_ms);
	END IF;
	RETURN try;
END $$;

/*
 * twtasks_internal.judge_tries(tries, incarnation, ask)
 *
 *		The tries as the policies judge them, before a row is locked.  A task that the
 *		caller may no longer finish keeps its result.
 */
CREATE FUNCTION twtasks_internal.judge_tries(tries twtasks_internal.try[], incarnation bigint, ask boolean)
RETURNS twtasks_internal.try[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	until CONSTANT timestamptz := clock_timestamp() + greatest(twtasks_internal.duration('function_timeout'), interval '100 ms');
	task twtasks.task;
BEGIN
	FOR i IN 1 .. cardinality(tries) LOOP
		CONTINUE WHEN tries[i].retry IS NULL;
		SELECT t.* INTO task FROM twtasks.task t
		WHERE t.id = (judge_tries.tries[i]).id
		  AND twtasks_internal.may_end(judge_tries.tries[i], judge_tries.incarnation, t.version, t.status, t.incarnation, t.token);
		IF FOUND THEN
			tries[i] := twtasks_internal.judged(tries[i], task, ask, until);
		END IF;
	END LOOP;
	RETURN tries;
END $$;

/*
 * twtasks_internal.tell_refused(ids, versions, results, messages, outcomes, finished)
 *
 *		Tells functions of late results, after all that were in time.  A worker may report
 *		a result after its task was taken over, finished or changed by another.
 *
 * Parameters
 *		finished		places of the tries that were in time
 */
CREATE FUNCTION twtasks_internal.tell_refused(
	ids uuid[], versions bigint[], results text[], messages text[], outcomes jsonb[], finished integer[])
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT twtasks_internal.tell_late(r.ids, r.versions, r.results, r.messages, r.outcomes)
	FROM (SELECT array_agg(u.id ORDER BY u.n) AS ids, array_agg(u.version ORDER BY u.n) AS versions, array_agg(u.result ORDER BY u.n) AS results,
				 array_agg(u.message ORDER BY u.n) AS messages, array_agg(u.outcome ORDER BY u.n) AS outcomes
		  FROM unnest(ids, versions, results, messages, outcomes) WITH ORDINALITY u(id, version, result, message, outcome, n)
		  WHERE u.id IS NOT NULL AND u.version IS NOT NULL AND u.n <> ALL (finished)) r
	WHERE r.ids IS NOT NULL
$$;

-- twin: twt_finish_tasks LANGUAGE plpgsql SECURITY DEFINER
DECLARE
	n CONSTANT integer := cardinality(ids);
	tries twtasks_internal.try[];
	ends twtasks_internal.ended_try[];
BEGIN
	-- A call of a function takes as long as a row.  The sidecar gives one element for all if all tasks are simply done, and
	-- most other callers give all arrays in full.
	IF n > 1 AND cardinality(results) = 1 AND cardinality(delays_ms) = 1 AND cardinality(messages) = 1 THEN
		results := array_fill(results[array_lower(results, 1)], ARRAY[n]);
		delays_ms := array_fill(delays_ms[array_lower(delays_ms, 1)], ARRAY[n]);
		messages := array_fill(messages[array_lower(messages, 1)], ARRAY[n]);
	END IF;
	IF NOT (cardinality(versions) = n AND cardinality(results) = n AND cardinality(delays_ms) = n AND cardinality(messages) = n
		AND coalesce(cardinality(grabs), n) = n AND coalesce(cardinality(retries), n) = n AND coalesce(cardinality(outcomes), n) = n
		AND coalesce(cardinality(adds), n) = n AND coalesce(cardinality(places), n) IN (0, n)) IS TRUE THEN
		PERFORM twtasks_internal.require('ids', ids IS NULL);
		PERFORM twtasks_internal.require('versions', versions IS NULL);
		versions := twtasks_internal.spread(versions, n);
		PERFORM twtasks_internal.require('results', results IS NULL);
		results := twtasks_internal.spread(results, n);
		PERFORM twtasks_internal.require('delays_ms', delays_ms IS NULL);
		delays_ms := twtasks_internal.spread(delays_ms, n);
		PERFORM twtasks_internal.require('messages', messages IS NULL);
		messages := twtasks_internal.spread(messages, n);
		grabs := twtasks_internal.spread(grabs, n);
		retries := twtasks_internal.spread(retries, n);
		outcomes := twtasks_internal.spread(outcomes, n);
		adds := twtasks_internal.spread(adds, n);
		PERFORM twtasks_internal.check_places(places, n);
	END IF;
	IF NOT results <@ '{done}' OR num_nonnulls(outcomes, adds) > 0 THEN
		PERFORM twtasks_internal.check_tries(results, outcomes, adds);
	END IF;
	tries := ARRAY(
		SELECT twtasks_internal.new_try(u.n, u.id, u.version, u."grab", u.result, u.delay_ms, u.message, CASE WHEN u.result IN ('retry', 'repeat') THEN u.retry END,
				   u.outcome, u.add, NULL, NULL, false)
		FROM unnest(ids, versions, grabs, results, delays_ms, messages, retries, outcomes, adds) WITH ORDINALITY
			AS u(id, version, "grab", result, delay_ms, message, retry, outcome, add, n)
		WHERE u.id IS NOT NULL AND u.version IS NOT NULL ORDER BY u.n);
	IF retries IS NOT NULL AND results && '{retry,repeat}' THEN
		tries := twtasks_internal.judge_tries(tries, incarnation, coalesce(ask, false));
	END IF;
	ends := ARRAY(SELECT e FROM twtasks_internal.run_ends(tries, incarnation, token, false, coalesce(raises, false)) e);
	RETURN QUERY SELECT e.id, e.version, e.status, e.delay_ms FROM unnest(ends) e;
	IF NOT coalesce(raises, false) AND cardinality(ends) < n THEN
		PERFORM twtasks_internal.tell_refused(ids, versions, results, messages, outcomes, ARRAY(SELECT e.number FROM unnest(ends) e));
	END IF;
END
