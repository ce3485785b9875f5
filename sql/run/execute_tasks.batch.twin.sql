/*
 * Handlers that take an array of tasks, as src/execute/execute_tasks.c calls them.
 */

/*
 * twtasks_internal.batch_argument()
 *
 *		The text behind the name of a function that takes an array of tasks.
 */
CREATE FUNCTION twtasks_internal.batch_argument()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '(twtasks.task_input[])' $$;

/*
 * twtasks_internal.tried_batch(handler, tasks)
 *
 *		Runs a handler of batches, and says how the tries of its tasks end.
 *
 * Parameters
 *		handler			name, returns: the handler and its result; retry, incarnation, token: as
 *						execute_tasks() got them; may_call: whether types have functions of
 *						on_end; won: how many tasks the whole call has
 *
 * Errors		as answered(), check_answers()
 */
CREATE FUNCTION twtasks_internal.tried_batch(handler record, tasks twtasks_internal.execution[])
RETURNS twtasks_internal.execution[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_each CONSTANT boolean := handler.returns = 'twtasks.task_answer[]'::regtype;
	called record;
	given record;
	one twtasks_internal.execution;
	answer twtasks.task_result;
	done twtasks_internal.execution[] := '{}';
	ends twtasks_internal.ended_try[];
BEGIN
	SELECT c.* INTO called FROM twtasks_internal.confined_answer(handler.name, handler.returns, NULL,
		ARRAY(SELECT t.input FROM unnest(tasks) WITH ORDINALITY t ORDER BY t.ordinality)) c;
	IF is_each THEN
		PERFORM twtasks_internal.check_answers(tasks, called.answers);
	END IF;
	answer := called.answer;
	FOR given IN
		SELECT t.ordinality AS number, a.result, a.delay, a.message, a.outcome
		FROM unnest(tasks) WITH ORDINALITY t LEFT JOIN unnest(called.answers::twtasks.task_answer[]) a ON a.id = (t.try).id
		ORDER BY t.ordinality
	LOOP
		one := tasks[given.number];
		IF is_each THEN
			answer.result := given.result;
			answer.delay := given.delay;
			answer.message := given.message;
		END IF;
		one.try := twtasks_internal.answered(one.try, answer, coalesce(given.outcome, called.outcome), handler.retry, one.place);
		done := done || one;
	END LOOP;
	IF handler.may_call AND EXISTS (
		SELECT FROM (SELECT DISTINCT t.type FROM unnest(done) t) d CROSS JOIN LATERAL twtasks.policy_of(d.type) p
		WHERE nullif(p.on_end, 'none') IS NOT NULL) THEN
		ends := ARRAY(SELECT e FROM twtasks_internal.run_ends(ARRAY(SELECT t.try FROM unnest(done) t), handler.incarnation, handler.token, false, true) e);
		IF cardinality(ends) <> cardinality(done) THEN
			RAISE EXCEPTION 'task was changed by the handler of another task' USING ERRCODE = 'object_not_in_prerequisite_state';
		END IF;
		FOR i IN 1 .. cardinality(done) LOOP
			done[i].is_finished := true;
			done[i].status := (SELECT e.status FROM unnest(ends) e WHERE e.number = (done[i].try).number);
		END LOOP;
	END IF;
	RETURN done;
END $$;

/*
 * twtasks_internal.execute_batch(handler, tasks)
 *
 *		Runs a handler of batches in a subtransaction.  If it fails, nobody knows which task is
 *		to blame, so it runs for each half of the tasks.
 *
 * Parameters		as in tried_batch()
 *
 * Errors
 *		40P01, 40001	as in execute_one()
 *		01000			a warning: the function failed for all tasks together, and for none alone
 */
CREATE FUNCTION twtasks_internal.execute_batch(handler record, tasks twtasks_internal.execution[])
RETURNS twtasks_internal.execution[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := cardinality(tasks);
	failed twtasks_internal.execution;
	halves twtasks_internal.execution[];
	places text;
BEGIN
	BEGIN
		RETURN twtasks_internal.tried_batch(handler, tasks);
	EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
		IF handler.won > 1 AND SQLSTATE IN ('40P01', '40001') THEN
			RAISE;
		END IF;
		GET STACKED DIAGNOSTICS places = PG_EXCEPTION_CONTEXT;
		failed := tasks[1];
		failed.failure := format('%s%s (SQLSTATE %s)', SQLERRM, twtasks_internal.fault_places(places), SQLSTATE);
	END;
	IF n = 1 THEN
		RETURN ARRAY[failed];
	END IF;
	halves := twtasks_internal.execute_batch(handler, tasks[:n / 2]) || twtasks_internal.execute_batch(handler, tasks[n / 2 + 1:]);
	-- A function that works for no array, but for each task, costs two calls a task.
	IF n = handler.won AND NOT EXISTS (SELECT FROM unnest(halves) h WHERE h.failure IS NOT NULL) THEN
		RAISE WARNING 'handler function % failed for % tasks together, and for none of them alone: %',
			handler.name || twtasks_internal.batch_argument(), n, failed.failure
			USING HINT = 'It is called for each half of the tasks again. Mend it, or leave the option "batch" of the handler out.';
	END IF;
	RETURN halves;
END $$;
