--
-- Functions of policies change added tasks; tasks carry a context.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(64);
CREATE SCHEMA app;
CREATE ROLE regress_app_owner;
GRANT USAGE ON SCHEMA twtasks TO regress_app_owner;
GRANT USAGE ON SCHEMA app TO PUBLIC;
GRANT twtasks_producer TO regress_app_owner;
CREATE TABLE app.seen (who text, task twtasks.new_task);
GRANT INSERT ON app.seen TO regress_app_owner;

-- Does what the task's data says.
CREATE FUNCTION app.intercept(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	INSERT INTO seen VALUES (current_user, task);
	IF task.data ? 'raise' THEN
		RAISE EXCEPTION 'not on a %', task.data->>'raise' USING HINT = 'Try tomorrow.';
	ELSIF task.data ? 'null' THEN
		RETURN NULL;
	ELSIF task.data ? 'add' THEN
		PERFORM twtasks.add_task(task.type, '{"added": true}');
	ELSIF task.data ? 'drop' THEN
		EXECUTE 'SELECT twtasks.drop_type_policy($1)' USING 'NONE';
	END IF;
	RETURN jsonb_populate_record(task, coalesce(task.data->'set', '{}'));
END $$;
ALTER FUNCTION app.intercept OWNER TO regress_app_owner;
CREATE FUNCTION app.loose(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE sql AS 'SELECT task';
CREATE FUNCTION app.wrong(task twtasks.new_task) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT task.data';
CREATE FUNCTION pg_temp.context(statement text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE c text; BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS c = PG_EXCEPTION_CONTEXT; RETURN c; END $$;
SELECT throws_ok($$SELECT twtasks.configure_type('A', intercept => 'app.none')$$, '42883', 'function "app.none" for intercept does not exist', 'a function that does not exist is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', intercept => 'app.wrong')$$, '42883', NULL, 'a function with another result is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', intercept => 'app.loose')$$, '22023', 'function "app.loose" does not fix its search_path', 'a function without a fixed search_path is refused');
SELECT twtasks.configure_type('I*', intercept => 'app.intercept', priority => 3) \g /dev/null
SELECT twtasks.configure_bucket('side') \g /dev/null

-- ---- changed ----
CREATE FUNCTION pg_temp.row_of(id uuid) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_strip_nulls(jsonb_build_object('type', type, 'priority', priority, 'bucket', bucket, 'key', key, 'sub_type', sub_type, 'status', status, 'context', context, 'data', data - 'set'))
	  FROM twtasks.task t WHERE t.id = row_of.id $$;
SELECT is(pg_temp.row_of(task_id), '{"type": "I", "priority": 3, "bucket": "default", "status": "SUBMITTED", "data": {"n": 1}}', 'a function may return what it was given')
FROM twtasks.add_task('I', '{"n": 1}');
SELECT is(pg_temp.row_of(task_id), '{"type": "I", "priority": 0, "bucket": "side", "key": "k", "sub_type": "s", "status": "WAITING", "context": {"c": 1}, "data": {}}', 'a function may change everything')
FROM twtasks.add_task('I', '{"set": {"priority": 0, "bucket": "side", "key": "k", "sub_type": "s", "run_after": "2100-01-01", "context": {"c": 1}}}');
SELECT is(pg_temp.row_of(task_id)->>'type', 'OTHER', 'a function may change the type') FROM twtasks.add_task('I', '{"set": {"type": "OTHER"}}');
SELECT is(pg_temp.row_of(task_id)->'priority', '5', 'the policies of the new type hold') FROM twtasks.add_task('I', '{"set": {"type": "OTHER"}}');
SELECT is(result, 'already_exists', 'a key that the function gives is unique') FROM twtasks.add_task('I', '{"set": {"key": "k"}}');
SELECT is(task_id, pg_temp.id(77), 'an id that the function gives is used') FROM twtasks.add_task('I', jsonb_build_object('set', jsonb_build_object('task_id', pg_temp.id(77))));
SELECT is((SELECT jsonb_strip_nulls(to_jsonb(task)) FROM app.seen LIMIT 1), '{"type": "I", "data": {"n": 1}}', 'the function sees what was given, and no more');
SELECT is((SELECT array_agg(DISTINCT who) FROM app.seen), '{regress_app_owner}'::text[], 'the function runs as its owner');
SELECT is(pg_temp.row_of(task_id)->'priority', '8', 'the caller''s value comes before the policy''s') FROM twtasks.add_task('I', priority => 8);
SELECT is((SELECT count(*) FROM twtasks.add_task('NOT')), 1::bigint, 'a task of another type is added') ;
SELECT is((SELECT count(*) FROM app.seen WHERE (task).type = 'NOT'), 0::bigint, 'a task of another type is not intercepted');

-- ---- checked afterwards ----
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"set": {"priority": 12}}')$$, '22023', 'priority must be between 0 and 9, not 12', 'a priority that the function gives is checked');
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"set": {"bucket": "nowhere"}}')$$, '22023', 'bucket "nowhere" is not configured', 'a bucket that the function gives is checked');
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"set": {"type": "A B"}}')$$, '22023', 'invalid type: "A B"', 'a type that the function gives is checked');
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"set": {"type": null}}')$$, '22004', 'type must not be null', 'a type that the function leaves out is refused');

-- ---- refused ----
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"raise": "Sunday"}')$$, 'P0001', 'not on a Sunday', 'the function may refuse a task in its own words');
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"null": true}')$$, 'P0001', 'task of type "I" was refused by function "app.intercept"', 'a function that returns NULL refuses the task');
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "I"}, {"type": "I", "data": {"raise": "Monday"}}]'::jsonb)$$, 'P0001', 'not on a Monday', 'one refused task refuses the whole batch');
SELECT is((SELECT count(*) FROM app.seen WHERE (task).data ? 'raise'), 0::bigint, 'the effects of a refusing function are undone');
SELECT lives_ok($$SELECT twtasks.add_task('I')$$, 'the next task is not refused');

-- ---- many ----
SELECT is((SELECT array_agg(pg_temp.row_of(task_id)->>'sub_type') FROM twtasks.add_tasks('[{"type": "I", "data": {"set": {"sub_type": "a"}}}, {"type": "NOT"}, {"type": "I", "data": {"set": {"sub_type": "b"}}}]'::jsonb)), '{a,NULL,b}'::text[], 'the function is called for each task of a batch');
SELECT is((SELECT count(*) FROM twtasks.add_tasks(ARRAY(SELECT ('I', '{"set": {"sub_type": "many"}}', NULL, 'many-' || n, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task FROM generate_series(1, 1000) n))), 1000::bigint, 'a batch of a thousand is intercepted');
SELECT is((SELECT count(*) FROM twtasks.task WHERE sub_type = 'many'), 1000::bigint, 'all tasks of the batch are changed');

SELECT task_id FROM twtasks.add_tasks('[{"type": "I", "data": {"set": {"key": "order-b"}}}, {"type": "I", "data": {"set": {"key": "order-a"}}}, {"type": "I", "key": "order-c"}]'::jsonb) \g /dev/null
SELECT is((SELECT array_agg(key ORDER BY id) FROM twtasks.task WHERE key LIKE 'order-%'), '{order-a,order-b,order-c}'::text[], 'keys are claimed in order, also those that the function gives');
\if :is_sql
SELECT skip('SQL adds no context to an error', 1);
\else
SELECT matches(pg_temp.context($$SELECT twtasks.add_tasks('[{"type": "I", "key": "z"}, {"type": "I", "data": {"set": {"key": "a", "priority": 12}}}]'::jsonb)$$), 'task 2 of add_tasks', 'an error names the place of the task in the batch');
\endif
CREATE FUNCTION app.weigh(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
	SELECT task.type, task.data, (SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'SQL function%')::text,
		task.key, task.task_id, task.priority, task.run_after, task.bucket, task.expires, task.context, task.payload
$$;
SELECT twtasks.configure_type('WEIGH', intercept => 'app.weigh') \g /dev/null
SELECT FROM twtasks.add_tasks('WEIGH', array_fill('1'::jsonb, '{50}')) \g /dev/null
SELECT is((SELECT count(DISTINCT sub_type) FROM twtasks.task WHERE type = 'WEIGH'), 1::bigint, 'the memory of one call is free at the next');

-- ---- what it does itself ----
SELECT lives_ok($$SELECT twtasks.add_task('I', '{"add": true}')$$, 'the function may add tasks');
SELECT is((SELECT count(*) FROM twtasks.task WHERE data ? 'added'), 1::bigint, 'the tasks that the function adds exist');
SELECT is((SELECT count(*) FROM app.seen WHERE (task).data ? 'added'), 0::bigint, 'the tasks that the function adds are not intercepted');
SELECT throws_ok($$SELECT twtasks.add_task('I', '{"drop": true}')$$, '42501', NULL, 'the function has no more rights than its owner');
SELECT is((SELECT jsonb_build_array(current_user = session_user, current_setting('search_path'))), jsonb_build_array(true, current_setting('search_path')), 'the session is as it was afterwards');

-- ---- its path ----
CREATE FUNCTION app.path(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	task.sub_type := current_setting('search_path');
	RETURN task;
END $$;
SELECT twtasks.configure_type('PATH', intercept => 'app.path') \g /dev/null
ALTER FUNCTION app.path RESET search_path;
SELECT current_setting('search_path') AS before \gset
SET LOCAL search_path = app, public;
SELECT twtasks.add_task('PATH') \g /dev/null
SELECT current_setting('search_path') AS after \gset
SELECT set_config('search_path', :'before', true) \g /dev/null
SELECT is((SELECT sub_type FROM twtasks.task WHERE type = 'PATH'), 'pg_catalog, pg_temp', 'a function that lost its search_path does not have that of its caller');
SELECT is(:'after'::text, 'app, public', '... and the caller keeps its own');

-- ---- gone ----
ALTER FUNCTION app.intercept RENAME TO gone;
SELECT throws_ok($$SELECT twtasks.add_task('I')$$, '42883', 'function "app.intercept" for intercept does not exist', 'a task is refused when its function is gone');
SELECT lives_ok($$SELECT twtasks.add_task('NOT')$$, 'tasks of other types are still added');
SELECT twtasks.configure_type('I|FREE', intercept => 'none') \g /dev/null
SELECT lives_ok($$SELECT twtasks.add_task('I|FREE')$$, 'tasks of a type with intercept none are added');
SELECT twtasks.unset_type_options('I*', 'intercept') \g /dev/null
SELECT lives_ok($$SELECT twtasks.add_task('I')$$, 'tasks are added when the option is unset');

-- ---- context ----
CREATE FUNCTION pg_temp.context_of(id uuid) RETURNS jsonb LANGUAGE sql AS $$ SELECT context FROM twtasks.task t WHERE t.id = context_of.id $$;
SELECT is(pg_temp.context_of(task_id), NULL, 'a task has no context without a setting') FROM twtasks.add_task('C');
SET twtasks.context = '{"request_id": "r1", "traceparent": "00-1-2-01"}';
SELECT is(pg_temp.context_of(task_id), '{"request_id": "r1", "traceparent": "00-1-2-01"}', 'the setting is the context of a task') FROM twtasks.add_task('C');
SELECT is(pg_temp.context_of(task_id), '{"request_id": "own", "traceparent": "00-1-2-01", "more": 1}', 'the task''s own context comes before the setting') FROM twtasks.add_task('C', context => '{"request_id": "own", "more": 1}');
SELECT is(pg_temp.context_of(task_id), '[1]', 'a context that is no object stays as it is') FROM twtasks.add_task('C', context => '[1]');
SELECT is(array_agg(pg_temp.context_of(task_id)->>'request_id'), '{r1,own}'::text[], 'each task of a batch gets the context') FROM twtasks.add_tasks('[{"type": "C"}, {"type": "C", "context": {"request_id": "own"}}]'::jsonb);
SET LOCAL ROLE twtasks_producer;
SELECT lives_ok($$SET LOCAL twtasks.context = '{}'$$, 'a producer may set the context');
RESET ROLE;
SELECT lives_ok($$SET twtasks.context = ''$$, 'the setting may be empty');
SET twtasks.max_payload = '1kB';
SELECT set_config('twtasks.context', jsonb_build_object('a', repeat('x', 2000))::text, false) \g /dev/null
SELECT throws_ok($$SELECT twtasks.add_task('C')$$, '54000', NULL, 'the context counts as part of the task');
RESET twtasks.max_payload;
SET twtasks.context = '{"a": "\u0000"}';
SELECT throws_ok($$SELECT twtasks.add_task('C')$$, '22P05', NULL, 'a context that PostgreSQL cannot hold is refused when it is used');
RESET twtasks.context;

-- ---- from task to task ----
CREATE FUNCTION app.chain(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	PERFORM twtasks.add_task('CHILD', jsonb_build_object('seen', current_setting('twtasks.context')));
	IF task.data ? 'raise' THEN
		RAISE EXCEPTION 'failed';
	END IF;
	RETURN ROW('done', NULL, NULL)::twtasks.task_result;
END $$;
CREATE FUNCTION pg_temp.child(context jsonb, data jsonb DEFAULT NULL) RETURNS jsonb LANGUAGE plpgsql
AS $$
DECLARE
	parent uuid := (SELECT task_id FROM twtasks.add_task('PARENT', data, context => context));
BEGIN
	DELETE FROM twtasks.task WHERE type = 'CHILD';
	PERFORM FROM twtasks_internal.execute_tasks('app.chain', NULL, ARRAY[parent], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}');
	RETURN (SELECT jsonb_build_array(t.context, t.data->>'seen') FROM twtasks.task t WHERE type = 'CHILD');
END $$;
SELECT is(pg_temp.child('{"request_id": "r2"}'), '[{"request_id": "r2"}, "{\"request_id\": \"r2\"}"]', 'a task that a SQL handler adds carries the context of its task');
SELECT is(pg_temp.child(NULL), '[null, ""]', 'a task that a SQL handler adds has no context if its task has none');
SELECT is(pg_temp.child('[1]'), '[null, ""]', 'a context that is no object is not passed on');
SET twtasks.context = '{"request_id": "session"}';
SELECT is(pg_temp.child('{"request_id": "r3"}')->0, '{"request_id": "r3"}', 'the context of the session is not passed on');
SELECT is(current_setting('twtasks.context'), '{"request_id": "session"}', 'the setting of the session is there again afterwards');
SELECT is(pg_temp.child('{"request_id": "r4"}', '{"raise": 1}'), NULL, 'a failed handler adds no task');
SELECT is(current_setting('twtasks.context'), '{"request_id": "session"}', 'the setting is there again after a failed handler');

-- ---- in time, where a node adds ----
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 8);
\else
CREATE FUNCTION app.slow(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
DECLARE
	until timestamptz := clock_timestamp() + CASE WHEN task.data ? 'ms' THEN (task.data->>'ms')::float * interval '1 ms' ELSE '1 min' END;
BEGIN
	WHILE task.sub_type IS NOT NULL AND clock_timestamp() < until LOOP
	END LOOP;
	RETURN task;
END $$;
SELECT pg_temp.node() \g /dev/null
SELECT twtasks.configure_type('SLOW', intercept => 'app.slow') \g /dev/null
SELECT count(twtasks.schedule('slow' || n, '@yearly', 'SLOW')) FROM generate_series(1, 3) n \g /dev/null
UPDATE twtasks.schedule SET sub_type = 'slow', next_run = date_trunc('year', now()), look_at = '2024-01-01' WHERE type = 'SLOW';
UPDATE twtasks.schedule SET sub_type = NULL, look_at = '2024-01-02' WHERE name = 'slow3';
SET LOCAL twtasks.function_timeout = '500ms';
SET LOCAL statement_timeout = '50s';
SELECT throws_ok($$SELECT twtasks.add_task('SLOW', sub_type => 'slow')$$, '53400', 'function "app.slow" took too long', 'a slow function is cancelled after function_timeout');
SELECT is((SELECT jsonb_build_array(added, failed, next_ms) FROM twtasks_internal.run_schedules()), '[0, 1, 500]', 'a slow function of a schedule fails its run, and the call ends');
SELECT is((SELECT array_agg(problem) FROM twtasks.schedules WHERE problem IS NOT NULL), '{"function \"app.slow\" took too long"}'::text[], 'the schedule shows why its run failed');
SELECT is((SELECT jsonb_build_array(added, failed, next_ms) FROM twtasks_internal.run_schedules()), '[0, 1, 500]', 'each call tries one slow schedule');
SELECT is((SELECT jsonb_build_array(added, failed) FROM twtasks_internal.run_schedules()), '[1, 0]', 'the schedule with a fast function runs');
SET LOCAL twtasks.function_timeout = '2s';
SELECT twtasks.schedule('rest', '@hourly', 'SLOW', '{"ms": 300}', sub_type => 'slow', missed => 'all', missed_limit => 10) \g /dev/null
UPDATE twtasks.schedule SET next_run = date_trunc('hour', now()) - interval '10 hours', look_at = '2024-01-01' WHERE name = 'rest';
SELECT is((SELECT jsonb_build_array(added BETWEEN 1 AND 9, missed, failed, next_ms) FROM twtasks_internal.run_schedules()), '[true, 1, 0, 500]', 'the missed runs of one schedule end with the time as well');
SELECT twtasks_internal.run_schedules() FROM generate_series(1, 10) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.schedule_run WHERE name = 'rest'), 10::bigint, 'later calls add the rest of the missed runs');
SELECT ok(next_run > now() AND problem IS NULL, 'the schedule has caught up') FROM twtasks.schedules WHERE name = 'rest';
RESET statement_timeout;
RESET twtasks.function_timeout;
\endif

SELECT * FROM finish();
ROLLBACK;
