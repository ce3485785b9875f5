/*
 * Answers of handlers, as src/execute/answer.c reads them.
 */

/*
 * twtasks_internal.answered(try, answer, outcome, retry, place)
 *
 *		How a try ends after this answer of its handler; place is the row of its task.
 *
 * Errors
 *		55000			the handler has changed the row of its task
 *		22023			its answer is no result
 */
CREATE FUNCTION twtasks_internal.answered(
	try twtasks_internal.try, answer twtasks.task_result, outcome jsonb, retry jsonb, place tid)
RETURNS twtasks_internal.try
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	made twtasks_internal.try := try;
	now twtasks.task;
BEGIN
	made.result := coalesce(answer.result, 'done');
	made.delay_ms := trunc(extract(epoch FROM answer.delay) * 1000);
	made.message := answer.message;
	made.outcome := outcome;
	made.retry := coalesce(retry, '{}');
	IF made.result <> 'done' THEN
		PERFORM twtasks_internal.check_tries(ARRAY[made.result], '{}', '{}');
	END IF;
	PERFORM FROM twtasks.task t WHERE t.id = made.id AND t.ctid = place;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'task was changed by its own handler' USING ERRCODE = 'object_not_in_prerequisite_state';
	ELSIF made.result IN ('retry', 'repeat') THEN
		SELECT t.* INTO now FROM twtasks.task t WHERE t.id = made.id;
		made := twtasks_internal.judged(made, now, true, 'infinity');
	ELSIF made.result = 'cancelled' AND NOT EXISTS (SELECT FROM twtasks.cancel_requests c WHERE c.id = made.id) THEN
		RAISE EXCEPTION 'handler cancelled it without being asked' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN made;
END $$;

/*
 * twtasks_internal.check_answers(tasks, answers)
 *
 *		Raises an error unless there is one answer for each task.
 *
 * Errors
 *		22023			a task has none, or two, or is another one
 */
CREATE FUNCTION twtasks_internal.check_answers(tasks twtasks_internal.execution[], answers twtasks.task_answer[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	n CONSTANT integer := coalesce(cardinality(answers), 0);
	ids CONSTANT uuid[] := ARRAY(SELECT a.id FROM unnest(answers) a);
BEGIN
	IF n <> cardinality(tasks) THEN
		RAISE EXCEPTION 'handler gave % answers for % tasks', n, cardinality(tasks)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Return one twtasks.task_answer for each task.';
	ELSIF EXISTS (SELECT FROM unnest(ids) u WHERE u IS NULL) THEN
		RAISE EXCEPTION 'handler gave an answer without an id' USING ERRCODE = 'invalid_parameter_value';
	ELSIF EXISTS (SELECT FROM unnest(ids) u WHERE u <> ALL (ARRAY(SELECT (t.try).id FROM unnest(tasks) t))) THEN
		RAISE EXCEPTION 'handler answered for a task that it did not get' USING ERRCODE = 'invalid_parameter_value';
	ELSIF (SELECT count(DISTINCT u) FROM unnest(ids) u) < n THEN
		RAISE EXCEPTION 'handler answered twice for a task' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.check_outcome(a.outcome) FROM unnest(answers) a;
END $$;
