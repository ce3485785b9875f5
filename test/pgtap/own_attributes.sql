--
-- Attributes that users add to types of twtasks: SQL of ours that makes a value of
-- such a type leaves them null, and goes on.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
SELECT plan(31);

CREATE FUNCTION app.rule(task twtasks.task_input) RETURNS twtasks.stuck_rule
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT (task.data->>'rule')::twtasks.stuck_rule $$;
CREATE TABLE app.heard (task jsonb);
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO app.heard SELECT to_jsonb(t) FROM unnest(tasks) t $$;
CREATE FUNCTION app.to_task(m twtasks.message) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF m.key = 'bad' THEN
		RAISE EXCEPTION 'bad message' USING ERRCODE = 'data_exception';
	END IF;
	RETURN twtasks.new_task('BY_FUNCTION', to_jsonb(m) - '{key,value,time}'::text[], key => m."offset"::text);
END $$;
SELECT twtasks.configure_type('STUCK', stuck_function => 'app.rule'), twtasks.configure_type('ENDS', on_end => 'app.hears'),
	twtasks.configure_stream('stream', 'EVENT'), twtasks.schedule('daily', '0 3 * * *', 'BY_SCHEDULE', '{"d": 1}') \g /dev/null

SELECT is((SELECT count(*) FROM pg_type WHERE typnamespace = 'twtasks'::regnamespace AND typtype = 'c'
		   AND typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c')), 14::bigint, 'the types of twtasks that users can extend');
DO $$
DECLARE
	type regtype;
BEGIN
	FOR type IN SELECT c.reltype FROM pg_class c WHERE c.relkind = 'c' AND c.relnamespace = 'twtasks'::regnamespace LOOP
		EXECUTE format('ALTER TYPE %s ADD ATTRIBUTE note integer', type);
	END LOOP;
END $$;

-- ---- recovery ----
SELECT twtasks.add_task('STUCK', jsonb_build_object('rule', r.rule), task_id => pg_temp.id(r.n::integer))
FROM unnest('{retry,fail,error}'::text[]) WITH ORDINALITY r(rule, n) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n), timeout_ms => 0) FROM generate_series(1, 3) n \g /dev/null
SELECT is((SELECT concat_ws(' ', retried, failed, errors) FROM twtasks_internal.recover_tasks()), '1 1 1', 'recovery asks the function for stuck tasks');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_grab(ARRAY[pg_temp.id(4)], '{0}', pg_temp.node(), 1)), 0::bigint, 'a lost grab without tasks is resolved');
SELECT twtasks.add_task('LOST', '{"d": 1}', task_id => pg_temp.id(4), key => 'k') \g /dev/null
SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(4)], '{0}', pg_temp.node(), 77, '{60000}', '{error}') \g /dev/null
SELECT is((SELECT concat_ws(' ', type, data, key, note) FROM twtasks_internal.resolve_grab(ARRAY[pg_temp.id(4)], '{0}', pg_temp.node(), 77)),
	'LOST {"d": 1} k', 'a lost grab is resolved');

-- ---- a handler of an array ----
CREATE FUNCTION app.each(tasks twtasks.task_input[]) RETURNS twtasks.task_answer[]
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT array_agg(jsonb_populate_record(NULL::twtasks.task_answer, jsonb_build_object('id', t.id, 'message', t.data))) FROM unnest(tasks) t $$;
SELECT twtasks.add_task('EACH', to_jsonb(n), task_id => pg_temp.id(n)) FROM generate_series(6, 7) n \g /dev/null
SELECT twtasks_internal.execute_tasks('app.each(twtasks.task_input[])', NULL, ARRAY[pg_temp.id(6), pg_temp.id(7)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}') \g /dev/null
SELECT is(ARRAY(SELECT concat_ws(' ', f.type, f.message) FROM twtasks.finished_task f WHERE f.id IN (pg_temp.id(6), pg_temp.id(7)) ORDER BY f.id), '{EACH 6,EACH 7}', 'a handler answers for each of its tasks');

-- ---- changes by hand, and functions for ends ----
SELECT twtasks.add_task('ENDS', '{"d": 1}', task_id => pg_temp.id(n)) FROM generate_series(11, 14) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(12, 13) n \g /dev/null
SELECT is(twtasks.cancel_task(pg_temp.id(11))::text, '(changed,1,CANCELLED,)', 'a task is cancelled');
SELECT is(pg_temp.finish(pg_temp.id(12), 'error'), 'ERROR', 'a task fails');
SELECT is(twtasks.fail_task(pg_temp.id(12))::text, '(changed,3,FAILED,)', 'a task in ERROR is failed');
SELECT is(twtasks.request_cancel(pg_temp.id(13))::text, '(requested,1,PROCESSING,)', 'a cancel is requested');
SELECT is(twtasks.resume_task(pg_temp.id(14), 99)::text, '(wrong_version,0,SUBMITTED,)', 'a wrong version is an answer');
SELECT is(twtasks.resume_task(pg_temp.id(13))::text, '(wrong_status,1,PROCESSING,)', 'a wrong status is an answer');
SELECT is(twtasks.resume_task(pg_temp.id(99))::text, '(not_found,,,)', 'so is a task that does not exist');
SELECT is(twtasks.reopen_task(pg_temp.id(11))::text, '(changed,2,WAITING,)', 'a task is reopened');
SELECT is(twtasks.finish_task(pg_temp.id(13), 1, 'done')::text, '(changed,2,DONE,)', 'a task is finished by hand');
SELECT is(twtasks.finish_task(pg_temp.id(13), 1, 'done')::text, '(wrong_version,2,DONE,)', 'a task cannot be finished twice');
SELECT is(twtasks.finish_task(pg_temp.id(99), 1, 'done')::text, '(not_found,,,)', 'nor one that does not exist');
SELECT is((SELECT string_agg(task->>'status', ' ' ORDER BY task->>'id', task->>'version') FROM app.heard WHERE task ? 'note'),
	'CANCELLED ERROR FAILED DONE', 'the function for ends heard of them');

SELECT is((SELECT string_agg(concat_ws(' ', l.type, l.looked_at, l.note), ', ') FROM twtasks.list_tasks(type => 'LOST') l), 'LOST, 10', 'tasks are listed');

-- ---- late results ----
CREATE TABLE app.late (late jsonb);
CREATE FUNCTION twtasks_internal.late_test(late twtasks.late_result[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO app.late SELECT to_jsonb(l) FROM unnest(late) l $$;
SELECT pg_temp.finish(pg_temp.id(13), 'done', message => 'why') \g /dev/null
SELECT is((SELECT late->>'result' FROM app.late WHERE late->>'id' = pg_temp.id(13)::text), 'done', 'a late result is told');

-- ---- schedules ----
SELECT is((SELECT result FROM twtasks.schedule('nightly', '0 4 * * *', 'BY_SCHEDULE', '{"d": 2}')), 'added', 'a schedule is made');
SELECT is((SELECT result FROM twtasks.run_schedule_now('daily')) || (SELECT result FROM twtasks.run_schedule_now('none')),
	'addednot_found', 'a schedule runs now');
UPDATE twtasks.schedule SET next_run = '2024-01-01 03:00+00', look_at = '2024-01-01 03:00+00' WHERE name = 'daily';
SELECT twtasks_internal.run_schedules() \g /dev/null
SELECT is((SELECT string_agg(data::text, ' ') FROM twtasks.task WHERE type = 'BY_SCHEDULE'), '{"d": 1} {"d": 1}', 'a due schedule adds its task');
SELECT is((SELECT problem FROM twtasks.schedule WHERE name = 'daily'), NULL, '... without a problem');

-- ---- messages ----
SELECT is(twtasks.take_messages('l', 't', 0, 5, 7, messages => ARRAY[twtasks.message('t', 0, 5, key => 'a', value => '{"m": 5}'), twtasks.message('t', 0, 6, value => '{"m": 6}')],
	type => 'BY_TYPE', key => 'position'), 7::bigint, 'messages of a type are taken');
SELECT is((SELECT string_agg(data || key, ' ' ORDER BY key) FROM twtasks.task WHERE type = 'BY_TYPE'), '{"m": 5}l/t/0/5 {"m": 6}l/t/0/6', 'each gives its task');
SELECT is(twtasks.take_messages('l', 't', 0, 7, 9, messages => ARRAY[twtasks.message('t', 0, 7, key => 'bad'), twtasks.message('t', 0, 8)],
	function => 'app.to_task', corrupt => 'task'), 9::bigint, 'messages of a function are taken');
SELECT is((SELECT string_agg(concat_ws(' ', type, data, key), ', ' ORDER BY type) FROM twtasks.task WHERE type ~ 'BY_FUNCTION|CORRUPTED'),
	'BY_FUNCTION {"note": null, "topic": "t", "offset": 8, "headers": {}, "partition": 0} 8, CORRUPTED_KAFKA_MESSAGE', '... one of them is corrupt');

-- In the order of their array, not of what users put into them.
SELECT twtasks.send_to_kafka('topic', (
	SELECT array_agg(m) FROM (
		SELECT (k).*, -n AS note FROM (SELECT n, twtasks.kafka_message('key', 'value-' || n) AS k FROM generate_series(1, 5) n OFFSET 0) x) y
	CROSS JOIN LATERAL jsonb_populate_record(NULL::twtasks.kafka_message, to_jsonb(y)) m)) \g /dev/null
SELECT is((SELECT string_agg(x[1], ' ') FROM twtasks.task, regexp_matches(encode(payload, 'escape'), 'value-(\d)', 'g') x WHERE type = 'SendToKafka'),
	'1 2 3 4 5', 'messages to Kafka are sent in their order');

-- ---- an import ----
SELECT twtasks.begin_import('original', 0) \g /dev/null
SELECT is((SELECT string_agg(i.status || ' ' || i.result, ', ') FROM twtasks.import_tasks('original', jsonb_build_array(jsonb_build_object(
		'id', pg_temp.id(50), 'type', 'IMPORTED', 'status', 'WAITING', 'version', 1, 'tries', 0, 'priority', 5, 'note', 7,
		'next_event_time', now(), 'state_time', now(), 'created', now()))) i), 'WAITING added', 'a task is imported');

-- ---- streams ----
SELECT twtasks.add_event('stream', 'object-' || n % 3, to_jsonb(n)) FROM generate_series(1, 9) n \g /dev/null
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT string_agg(jsonb_path_query_array(data, '$.events[*].event')::text, ' ' ORDER BY sub_type) FROM twtasks.task WHERE type = 'EVENT'),
	'[3] [1] [2]', 'the first event of each object is sent');
SELECT is((SELECT count(*) FROM twtasks.event_object o JOIN twtasks.task t ON t.id = o.head AND t.sub_type = o.object), 3::bigint, 'each object knows its head');

SELECT * FROM finish();
ROLLBACK;
