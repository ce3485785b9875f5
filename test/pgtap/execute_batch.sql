--
-- execute_tasks() with a function that takes an array of tasks: one call, one answer
-- for all or one for each, and a task that fails does not fail its neighbours.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(51);

CREATE SCHEMA app;
CREATE ROLE regress_app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.call (ids text, size integer, who text);
CREATE TABLE app.effect (n integer, context jsonb);
GRANT SELECT, INSERT ON app.call, app.effect TO regress_app;
GRANT twtasks_producer TO regress_app;

-- Notes its tasks, and does what their data say.
CREATE FUNCTION app.work(tasks twtasks.task_input[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	task twtasks.task_input;
BEGIN
	INSERT INTO app.call SELECT string_agg(ltrim(right(t.id::text, 4), '0'), ',' ORDER BY t.n), count(*), current_user
	FROM unnest(tasks) WITH ORDINALITY t(id, version, type, sub_type, bucket, priority, tries, grabbed, data, payload, context, key, n);
	INSERT INTO app.effect SELECT ltrim(right(t.id::text, 4), '0')::integer, t.context FROM unnest(tasks) t;
	FOREACH task IN ARRAY tasks LOOP
		EXECUTE coalesce(task.data->>'sql', 'SELECT 1');
	END LOOP;
END $$;
CREATE FUNCTION app.one(tasks twtasks.task_input[]) RETURNS twtasks.task_result
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	answer twtasks.task_result;
BEGIN
	PERFORM app.work(tasks);
	answer := jsonb_populate_record(NULL::twtasks.task_result, coalesce(tasks[1].data->'answer', '{}'));
	RETURN answer;
END $$;
CREATE FUNCTION app.each(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM app.work(tasks);
	-- In another order than the tasks.
	RETURN ARRAY(SELECT jsonb_populate_record(NULL::twtasks.task_answer, jsonb_build_object('id', t.id) || coalesce(t.data->'answer', '{}'))
		FROM unnest(tasks) t WHERE NOT t.data ? 'unnamed' ORDER BY t.id DESC);
END $$;
CREATE FUNCTION app.none(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT NULL::twtasks.task_answer[]';
CREATE FUNCTION app.null(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'SELECT array_fill(NULL::twtasks.task_answer, ARRAY[cardinality(tasks)])';
CREATE FUNCTION app.single(task twtasks.task_input) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS '';
CREATE FUNCTION app.number(tasks twtasks.task_input[]) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION app.many(tasks twtasks.task_input[]) RETURNS SETOF twtasks.task_answer LANGUAGE sql AS 'SELECT NULL::twtasks.task_answer';
CREATE FUNCTION app.of_results(tasks twtasks.task_input[]) RETURNS twtasks.task_result[] LANGUAGE sql AS 'SELECT NULL::twtasks.task_result[]';
CREATE FUNCTION app.answers_each(task twtasks.task_input) RETURNS twtasks.task_answer[] LANGUAGE sql AS 'SELECT NULL::twtasks.task_answer[]';
CREATE FUNCTION app.secret(tasks twtasks.task_input[]) RETURNS void LANGUAGE sql AS '';
REVOKE EXECUTE ON FUNCTION app.secret FROM PUBLIC;
-- The SQL edition runs a handler as its owner.
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOREACH f IN ARRAY '{app.work(twtasks.task_input[]),app.one(twtasks.task_input[]),app.each(twtasks.task_input[]),app.none(twtasks.task_input[]),app.null(twtasks.task_input[]),app.single(twtasks.task_input)}'::regprocedure[] LOOP
		EXECUTE format('ALTER FUNCTION %s OWNER TO regress_app', f);
	END LOOP;
END $$;

-- Adds tasks with these data and these numbers from first on, and executes them in one call.
CREATE FUNCTION pg_temp.run(first integer, data jsonb, function text DEFAULT 'app.work') RETURNS text[]
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.add_task('SQL', d, task_id => pg_temp.id(first + n::integer - 1), context => '{"c": 1}')
	FROM jsonb_array_elements(data) WITH ORDINALITY e(d, n) ORDER BY n;
	RETURN ARRAY(SELECT e.result || coalesce(': ' || e.message, '') FROM twtasks_internal.execute_tasks(
		function || '(twtasks.task_input[])', 'regress_app', ARRAY(SELECT pg_temp.id(first + n) FROM generate_series(0, jsonb_array_length(data) - 1) n), '{0}',
		pg_temp.node(), pg_temp.token(), '{60000}', '{error}') e ORDER BY e.id);
END $$;
CREATE FUNCTION pg_temp.states(first integer, last integer) RETURNS text[] LANGUAGE sql
AS $$ SELECT ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(first, last) n) $$;
CREATE FUNCTION pg_temp.calls(first integer, last integer) RETURNS text[] LANGUAGE sql
AS $$ SELECT ARRAY(SELECT c.ids FROM app.call c WHERE split_part(c.ids, ',', 1)::integer BETWEEN first AND last ORDER BY c.size DESC, c.ids) $$;
CREATE FUNCTION pg_temp.effects(first integer, last integer) RETURNS integer[] LANGUAGE sql
AS $$ SELECT ARRAY(SELECT n FROM app.effect WHERE n BETWEEN first AND last ORDER BY n) $$;

-- One call.
SELECT is(pg_temp.run(1, '[{}, {}, {}]'), '{finished,finished,finished}', 'a function of an array finishes its tasks');
SELECT is(pg_temp.states(1, 3), '{DONE 2,DONE 2,DONE 2}', '... which are DONE');
SELECT is(pg_temp.calls(1, 3), '{"1,2,3"}', '... in one call, in the order of their ids');
SELECT is((SELECT who FROM app.call WHERE ids = '1,2,3'), 'regress_app', '... as its role');
SELECT is((SELECT array_agg(DISTINCT context) FROM app.effect WHERE n <= 3), ARRAY['{"c": 1}'::jsonb], '... and each comes with its facts');
SELECT is(pg_temp.run(4, '[{}]') || pg_temp.calls(4, 4), '{finished,4}', 'a single task comes as an array, too');
SELECT is(ARRAY(SELECT e.result FROM twtasks_internal.execute_tasks('app.work(twtasks.task_input[])', 'regress_app', '{}', '{}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}') e),
	'{}', 'without tasks there is no call');
SELECT is(pg_temp.run(5, '[{"sql": "SELECT twtasks.add_task(''CHILD'')"}, {}]'), '{finished,finished}', 'it may add tasks');
SELECT is(ARRAY(SELECT t.context FROM twtasks.task t WHERE t.type = 'CHILD'), ARRAY[NULL::jsonb], '... which get the context of none of its tasks');

-- One answer for all.
SELECT is(pg_temp.run(10, '[{}, {}]', 'app.one'), '{finished,finished}', 'an empty answer means done');
SELECT is(pg_temp.run(12, '[{"answer": {"result": "retry", "delay": "90 s", "message": "busy"}}, {}]', 'app.one'), '{finished: retry,finished: retry}', 'one answer counts for all tasks');
SELECT is(ARRAY(SELECT concat_ws(' ', status, tries, error, extract(epoch FROM next_event_time - state_time)::integer) FROM twtasks.task WHERE id BETWEEN pg_temp.id(12) AND pg_temp.id(13)),
	'{WAITING 1 busy 90,WAITING 1 busy 90}', '... with its delay and message');
SELECT is(pg_temp.effects(12, 13), '{12,13}', '... and keeps the effects');
SELECT is(pg_temp.run(14, '[{"sql": "SELECT twtasks.set_outcome(''{\"o\": 1}'')"}, {}]', 'app.one'), '{finished,finished}', 'it may set an outcome');
SELECT is(ARRAY(SELECT outcome FROM twtasks.finished_task WHERE id BETWEEN pg_temp.id(14) AND pg_temp.id(15)), '{"{\"o\": 1}","{\"o\": 1}"}'::jsonb[], '... for all tasks');
SELECT is(pg_temp.run(16, '[{"answer": {"result": "perhaps"}}]', 'app.one'), '{"failed: unrecognized result: \"perhaps\" (SQLSTATE 22023)"}', 'an unrecognized result is a failure');

-- One answer for each.
SELECT is(pg_temp.run(20, '[{}, {"answer": {"result": "error", "message": "odd"}}, {"answer": {"result": "delete"}}, {"answer": {"result": "retry", "delay": "1 h"}}, {"answer": {"outcome": {"o": 2}, "message": "fine"}}]', 'app.each'),
	'{finished,finished: error,finished: delete,finished: retry,finished}', 'each task has its own answer');
SELECT is(pg_temp.states(20, 24), '{DONE 2,ERROR 2,none,WAITING 2,DONE 2}', '... by its id, whatever the order');
SELECT is((SELECT jsonb_build_array(outcome, message) FROM twtasks.finished_task WHERE id = pg_temp.id(24)), '[{"o": 2}, "fine"]', '... with an outcome and a message of its own');
SELECT is(pg_temp.calls(20, 24), '{"20,21,22,23,24"}', '... after one call');
SELECT is(pg_temp.run(25, '[{"sql": "SELECT twtasks.set_outcome(''{\"o\": 3}'')"}, {"answer": {"outcome": {"o": 4}}}]', 'app.each'), '{finished,finished}', 'an outcome set for all');
SELECT is(ARRAY(SELECT outcome->>'o' FROM twtasks.finished_task WHERE id BETWEEN pg_temp.id(25) AND pg_temp.id(26) ORDER BY id), '{3,4}', '... gives way to one of an answer');

-- Answers that are none fail the task that they are about.
SELECT is(pg_temp.run(30, '[{}, {"answer": {"result": "perhaps"}}, {}]', 'app.each'), '{finished,"failed: unrecognized result: \"perhaps\" (SQLSTATE 22023)",finished}', 'a result that is none fails its task alone');
SELECT is(pg_temp.run(33, '[{}, {"unnamed": true}, {}]', 'app.each'), '{finished,"failed: handler gave 0 answers for 1 tasks (SQLSTATE 22023)",finished}', 'so does a task without an answer');
SELECT is(pg_temp.run(36, '[{}, {"answer": {"id": null}}, {}]', 'app.each'), '{finished,"failed: handler gave an answer without an id (SQLSTATE 22023)",finished}', '... an answer without an id');
SELECT is(pg_temp.run(39, jsonb_build_array('{}'::jsonb, jsonb_build_object('answer', jsonb_build_object('id', pg_temp.id(1))))::jsonb, 'app.each'),
	'{finished,"failed: handler answered for a task that it did not get (SQLSTATE 22023)"}', '... one for another task');
SELECT is(pg_temp.run(41, jsonb_build_array('{}'::jsonb, jsonb_build_object('answer', jsonb_build_object('id', pg_temp.id(41))))::jsonb, 'app.each'),
	'{finished,"failed: handler answered for a task that it did not get (SQLSTATE 22023)"}', '... two for one task, which run again alone');
SELECT is(pg_temp.run(43, '[{"answer": {"outcome": []}}, {}]', 'app.each'), '{"failed: an outcome must be a JSON object (SQLSTATE 22023)",finished}', '... an outcome that is none');
SELECT is(pg_temp.run(45, '[{}]', 'app.none') || pg_temp.run(46, '[{}]', 'app.null'),
	'{"failed: handler gave 0 answers for 1 tasks (SQLSTATE 22023)","failed: handler gave an answer without an id (SQLSTATE 22023)"}', '... no array, or one without answers');
SELECT is(pg_temp.effects(30, 46), '{30,32,33,35,36,38,39,41,44}', 'the failed tasks alone have no effects');
SELECT is(pg_temp.states(31, 31), '{PROCESSING 1}', '... and wait for the caller''s finish');

-- A task that raises an error is found by halves.
SELECT is((SELECT jsonb_object_agg(r, n) FROM (SELECT r, count(*) AS n FROM unnest(pg_temp.run(100, (SELECT jsonb_agg(CASE WHEN n = 137 THEN '{"sql": "SELECT 1 / 0"}' ELSE '{}' END::jsonb ORDER BY n) FROM generate_series(100, 163) n))) r GROUP BY r) s),
	'{"finished": 63, "failed: division by zero, in PL/pgSQL function app.work(twtasks.task_input[]) line 9 at EXECUTE (SQLSTATE 22012)": 1}', 'an error fails one task of 64');
SELECT is(pg_temp.states(136, 138), '{DONE 2,PROCESSING 1,DONE 2}', '... the one that raised it');
SELECT is(pg_temp.effects(136, 138), '{136,138}', '... and undoes its effects alone');
SELECT is((SELECT jsonb_agg(size ORDER BY size DESC) FROM app.call WHERE split_part(ids, ',', 1)::integer BETWEEN 100 AND 163), '[32, 16, 8, 4, 2, 1]', '... after as few calls as halves need');
SELECT is(pg_temp.run(170, '[{"sql": "SELECT 1 / 0"}, {"sql": "SELECT 1 / 0"}, {"sql": "SELECT 1 / 0"}]') <> '{finished}' AND pg_temp.states(170, 172) = '{PROCESSING 1,PROCESSING 1,PROCESSING 1}', true, 'all may fail');
SELECT throws_ok($$SELECT pg_temp.run(173, '[{}, {"sql": "DO $x$ BEGIN RAISE SQLSTATE ''40P01''; END $x$"}]')$$, '40P01', NULL, 'a deadlock undoes the whole call');
SELECT is(pg_temp.run(175, '[{"sql": "DO $x$ BEGIN RAISE SQLSTATE ''40P01''; END $x$"}]') <> '{finished}', true, '... and is an ordinary failure of a task alone');
SELECT ok(pg_temp.run(176, jsonb_build_array('{}'::jsonb, jsonb_build_object('sql', format('SET LOCAL ROLE %I', current_user))))::text ~ '^{finished,"failed: cannot set parameter', 'it cannot leave its role');

-- A function that fails for any two tasks: each runs alone, and nothing of the answers before
-- is left.
CREATE FUNCTION app.alone(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT array_agg(ROW(t.id, CASE WHEN cardinality(tasks) > 1 AND n = cardinality(tasks) THEN 'perhaps' END, NULL,
		CASE WHEN cardinality(tasks) > 1 THEN 'together' END, CASE WHEN cardinality(tasks) > 1 THEN '{"together": true}'::jsonb END)::twtasks.task_answer)
	FROM unnest(tasks) WITH ORDINALITY t(id, version, type, sub_type, bucket, priority, tries, grabbed, data, payload, context, key, n)
$$;
ALTER FUNCTION app.alone(twtasks.task_input[]) OWNER TO regress_app;
SELECT is(pg_temp.run(180, '[{}, {}, {}]', 'app.alone'), '{finished,finished,finished}', 'a function that fails for any two tasks finishes each alone');
SELECT is((SELECT jsonb_agg(jsonb_build_array(f.message, f.outcome)) FROM twtasks.finished_task f WHERE f.id BETWEEN pg_temp.id(180) AND pg_temp.id(182)),
	'[[null, null], [null, null], [null, null]]', '... and answers that were undone leave nothing');

-- Functions of on_end belong to the handler's work.
CREATE TABLE app.heard (n integer, status text);
GRANT SELECT, INSERT ON app.heard TO regress_app;
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO app.heard SELECT ltrim(right(t.id::text, 4), '0')::integer, t.status FROM unnest(tasks) t;
	IF EXISTS (SELECT FROM unnest(tasks) t WHERE t.data ? 'refuse') THEN RAISE 'refused'; END IF;
END $$;
SELECT twtasks.configure_type('SQL', on_end => 'app.hears') \g /dev/null
SELECT is(pg_temp.run(200, '[{}, {}, {"refuse": true}, {"answer": {"result": "retry"}}]', 'app.each'),
	'{finished,finished,"failed: refused (SQLSTATE P0001)",finished: retry}', 'a function of on_end that fails fails its task alone');
SELECT is(pg_temp.states(200, 203), '{DONE 2,DONE 2,PROCESSING 1,WAITING 2}', '... and the others end');
SELECT is(pg_temp.effects(200, 203), '{200,201,203}', '... with their effects');
SELECT is(ARRAY(SELECT n FROM app.heard ORDER BY n), '{200,201}', '... of which the function has heard');
SELECT twtasks.drop_type_policy('SQL') \g /dev/null

-- Functions that are no handlers.
CREATE FUNCTION pg_temp.fault(function text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	PERFORM twtasks_internal.find_handler(function, 'regress_app');
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, nullif(hint, ''));
END $$;
SELECT is(pg_temp.fault('app.missing(twtasks.task_input[])'), '42883 handler function "app.missing" does not exist Create it as app.missing(tasks twtasks.task_input[]), with its schema in the name.', 'a function that is missing');
SELECT is(pg_temp.fault('app.single(twtasks.task_input[])'), '42883 handler function "app.single" does not exist It takes one task: leave the option "batch" of the handler out.', 'one that takes a task');
SELECT is(pg_temp.fault('app.work'), '42883 handler function "app.work" does not exist It takes an array of tasks: set the option "batch" of the handler.', 'one that takes an array');
SELECT is((SELECT array_agg(DISTINCT pg_temp.fault(f || '(twtasks.task_input[])')) FROM unnest('{app.number,app.many,app.of_results}'::text[]) f),
	ARRAY(SELECT DISTINCT format('42883 handler function "%s" must return twtasks.task_answer[], twtasks.task_result or void', f) FROM unnest('{app.number,app.many,app.of_results}'::text[]) f ORDER BY 1), 'ones with a wrong result');
SELECT is(pg_temp.fault('app.answers_each'), '42883 handler function "app.answers_each" must return twtasks.task_result or void', '... which an array of answers is for one task');
SELECT alike(pg_temp.fault('app.secret(twtasks.task_input[])'), '42501 permission denied for handler function "app.secret" GRANT EXECUTE ON FUNCTION app.secret(twtasks.task_input[]) TO regress_app.', 'one that its role may not execute');

SELECT * FROM finish();
ROLLBACK;
