--
-- finish_tasks() judges: when a task that failed is tried again, or that it is
-- given up, by the policies of its type and the function that they name.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(35);

CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.asked (type text);
CREATE FUNCTION app.says(task twtasks.task_input, error text) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	INSERT INTO asked VALUES (task.type);
	UPDATE twtasks.task t SET version = t.version + 1 WHERE t.type = 'ASK|TAKEN' AND says.error = 'take';
	WHILE error = 'slow' LOOP END LOOP;
	RETURN CASE error WHEN 'no more' THEN NULL ELSE clock_timestamp() + interval '3 h' END;
END $$;
CREATE FUNCTION app.counts(task twtasks.task_input, error text) RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = app, pg_temp
AS $$ SELECT clock_timestamp() + count(*) * interval '1 h' FROM asked $$;
SELECT twtasks.configure_type('LIST', retry => '{"delays": ["10s", "20s"]}') \g /dev/null
SELECT twtasks.configure_type('NONE', retry => '"none"') \g /dev/null
SELECT twtasks.configure_type('COUNTED', retry => '{"delays": ["10s"]}', reset_tries => false) \g /dev/null
SELECT twtasks.configure_type('ASK*', retry => '{"delays": ["1min"]}', retry_function => 'app.says') \g /dev/null
SELECT twtasks.configure_type('ASK|COUNTS', retry_function => 'app.counts') \g /dev/null
SELECT twtasks.configure_type('ASK|NOT', retry_function => 'none') \g /dev/null

-- The end of each task, such as 'WAITING 10' with its seconds.  A task without a
-- row was refused.
CREATE TEMPORARY TABLE ends (n integer, ending text);
CREATE FUNCTION pg_temp.finish_all(
	types text[], results text[], delays_ms bigint[] DEFAULT '{NULL}', messages text[] DEFAULT '{failed}',
	retries jsonb[] DEFAULT ARRAY['{"delays": ["7s"]}'::jsonb], ask boolean DEFAULT true) RETURNS text[]
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT a.task_id FROM unnest(types) t, twtasks.add_task(t) a);
BEGIN
	PERFORM pg_temp.grab(id) FROM unnest(ids) id;
	RETURN ARRAY(SELECT concat_ws(' ', f.status, round(f.delay_ms / 1000.0)) FROM unnest(ids) WITH ORDINALITY u(id, place)
		LEFT JOIN twtasks_internal.finish_tasks(ids, '{1}', results, delays_ms, messages, pg_temp.node(), 9,
			retries => retries, ask => ask) f USING (id) ORDER BY u.place);
END $$;

-- ---- figures ----
SELECT is(pg_temp.finish_all('{LIST,NONE,OTHER}', '{retry}'), '{WAITING 10,ERROR,WAITING 7}', 'a failure waits as its policy says, or as the caller''s figures');
SELECT is((SELECT array_agg(round(extract(epoch FROM next_event_time - state_time)) ORDER BY type) FROM twtasks.task WHERE status = 'WAITING'), '{10,7}', 'the task is tried after that delay');
SELECT is((SELECT array_agg(error ORDER BY type) FROM twtasks.task), '{failed,failed,failed}', 'the failed tasks keep the message');
SELECT is(pg_temp.finish_all('{LIST,OTHER,NONE}', '{retry}', '{500}'), '{WAITING 1,WAITING 1,ERROR}', 'a handler may say when to retry, but not how often');
SELECT is(pg_temp.finish_all('{LIST,NONE,LIST}', '{retry,retry,error}', '{5000}', retries => NULL), '{WAITING 5,WAITING 5,ERROR}', 'a failure without figures is not judged');
SELECT is(pg_temp.finish_all('{LIST,NONE,OTHER,LIST,LIST}', '{done,release,retry,error,retry}', retries => ARRAY[NULL, NULL, '"none"', NULL, '{}']::jsonb[]),
	'{DONE,SUBMITTED,ERROR,ERROR,WAITING 10}', 'each task of a batch is judged by its own figures');
SELECT is(pg_temp.finish_all('{NONE,NONE,LIST}', '{retry}', retries => ARRAY[NULL, '{}', '{}']::jsonb[]), '{WAITING 0,ERROR,WAITING 10}', 'each task of a batch is judged when all have failed');
SELECT is(pg_temp.finish_all('{OTHER}', '{retry}', retries => ARRAY['{"delay": "3000000us", "multiplier": 2, "max_delay": "7200000000us", "max_tries": 2, "jitter": 0}'::jsonb]),
	'{WAITING 3}', 'the figures that the sidecar writes are understood');
SELECT is(pg_temp.finish_all('{OTHER}', '{repeat}', retries => ARRAY['{"delay": "3s", "max_delay": "9s", "max_tries": 1, "jitter": 0}'::jsonb]),
	'{WAITING 3}', 'a repeat waits as for a first retry, even if there is none');
DELETE FROM twtasks.task;
SELECT a.task_id AS tried FROM twtasks.add_task('LIST') a \gset
CREATE FUNCTION pg_temp.try(tried uuid) RETURNS text LANGUAGE sql
AS $$
	UPDATE twtasks.task SET status = 'SUBMITTED', queued = true, version = version + 1, next_event_time = 'infinity' WHERE id = tried AND status = 'WAITING';
	SELECT pg_temp.grab(tried);
	SELECT f.status || coalesce(' ' || f.delay_ms, '') FROM twtasks_internal.finish_tasks(ARRAY[tried], ARRAY[pg_temp.version_of(tried)], '{retry}', '{NULL}', '{x}', pg_temp.node(), 9, retries => '{"\"none\""}') f
$$;
SELECT is((SELECT array_agg(pg_temp.try(:'tried')) FROM generate_series(1, 3)), '{WAITING 10000,WAITING 20000,ERROR}', 'tries are counted, and come to an end');

-- ---- repeats ----
SELECT is(pg_temp.finish_all('{LIST,OTHER,NONE,COUNTED}', '{repeat}'), '{WAITING 10,WAITING 7,WAITING 0,WAITING 10}', 'a repeat waits as before a first retry');
SELECT is((SELECT array_agg(tries ORDER BY type) FROM twtasks.task WHERE status = 'WAITING'), '{1,0,0,0}', 'the tries of a repeat start anew, or are counted by policy');
SELECT is(pg_temp.finish_all('{LIST,COUNTED,NONE}', '{repeat}', '{2000}'), '{WAITING 2,WAITING 2,WAITING 2}', 'a repeat may say when');
SELECT twtasks.configure_type('COUNTED', retry => '"none"') \g /dev/null
SELECT is(pg_temp.finish_all('{COUNTED}', '{repeat}', '{2000}'), '{ERROR}', 'a counted repeat comes to an end');

-- ---- functions ----
SELECT is(pg_temp.finish_all('{ASK|A,ASK|B,ASK|NOT}', '{retry}', messages => '{x,no more,x}'), '{WAITING 10800,ERROR,WAITING 60}', 'the retry function is asked');
SELECT is(pg_temp.finish_all('{ASK|A}', '{retry}', '{4000}'), '{WAITING 4}', 'a handler says when, and the function says whether');
SELECT is(pg_temp.finish_all('{ASK|B}', '{retry}', '{4000}', '{no more}'), '{ERROR}', 'the function may end the tries against the handler''s delay');
SELECT is(pg_temp.finish_all('{ASK|A,ASK|B}', '{retry}', messages => '{x,no more}', ask => false), '{WAITING 60,WAITING 60}', 'the figures decide when the function is not to be asked');
SELECT is(pg_temp.finish_all('{ASK|A}', '{retry}', retries => NULL), '{WAITING 0}', 'the function is not asked where nothing is judged');
SELECT is(pg_temp.finish_all('{ASK|A}', '{repeat}'), '{WAITING 60}', 'the function is not asked about a repeat');
SELECT twtasks.configure_type('ASK|REPEATS', reset_tries => false) \g /dev/null
SELECT is(pg_temp.finish_all('{ASK|REPEATS}', '{repeat}'), '{WAITING 60}', 'the function is not asked about a counted repeat');
SELECT twtasks.drop_type_policy('ASK|REPEATS') \g /dev/null

-- A function sees what the one before it did, and may change the next task.
TRUNCATE app.asked;
SELECT is(pg_temp.finish_all('{ASK|COUNTS,ASK|A,ASK|A,ASK|COUNTS}', '{retry}'), '{WAITING 0,WAITING 10800,WAITING 10800,WAITING 7200}', 'functions see each other''s work');
TRUNCATE app.asked;
SELECT is(pg_temp.finish_all('{ASK|A,ASK|TAKEN,ASK|A}', '{retry}', messages => '{take,x,x}'), '{WAITING 10800,"",WAITING 10800}', 'a task that a function changed is not finished');
SELECT is((SELECT array_agg(type) FROM app.asked), '{ASK|A,ASK|A}', 'the function of that task is not asked');
SELECT twtasks.drop_type_policy('ASK|COUNTS') \g /dev/null

-- After a call that takes too long, this statement asks about no further task.
SET LOCAL client_min_messages = error;
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 4);
DELETE FROM twtasks.task;
SELECT pg_temp.grab(a.task_id) FROM unnest('{ASK|LATER,ASK|CANCELLED}'::text[]) t, twtasks.add_task(t) a \g /dev/null
SELECT id AS later, version FROM twtasks.task WHERE type = 'ASK|LATER' \gset
\else
SET LOCAL twtasks.function_timeout = '1ms';
SELECT is((SELECT bool_or(pg_temp.finish_all('{ASK|SLOW,ASK|NEXT}', '{retry}', messages => '{slow,x}') <> '{WAITING 60,PROCESSING}') FROM generate_series(1, 20)),
	true, 'a function has at least a tenth of a second');
DELETE FROM twtasks.task;
SET LOCAL twtasks.function_timeout = '100ms';
SELECT is(pg_temp.finish_all('{ASK|SLOW,LIST,ASK|LATER,ASK|CANCELLED}', '{retry}', messages => '{slow,x,x,x}'), '{WAITING 60,WAITING 10,PROCESSING,PROCESSING}', 'tasks after a slow function are not judged in that call');
SELECT id AS later, version FROM twtasks.task WHERE type = 'ASK|LATER' \gset
SELECT is(pg_temp.state(:'later'), 'PROCESSING 1', 'a task that is not judged stays in PROCESSING');
SELECT is((SELECT token IS DISTINCT FROM 9 AND error IS NULL FROM twtasks.task WHERE id = :'later'), true, 'a task that is not judged keeps its token and has no error');
\endif
SELECT is((SELECT array_agg(status || ' ' || round(delay_ms / 1000.0)) FROM twtasks_internal.finish_tasks(ARRAY[:'later']::uuid[], '{1}', '{retry}', '{NULL}', '{x}', pg_temp.node(), 9, retries => '{"{}"}', ask => true)),
	'{WAITING 10800}', 'the next call asks the function');
RESET twtasks.function_timeout;
SELECT (twtasks.request_cancel(id, 1)).result FROM twtasks.task WHERE type = 'ASK|CANCELLED' \g /dev/null
SELECT is((SELECT array_agg(f.status || coalesce(' ' || f.delay_ms, '')) FROM twtasks.task t, twtasks_internal.finish_tasks(ARRAY[t.id], '{1}', '{retry}', '{NULL}', '{x}', pg_temp.node(), 9, retries => '{"{}"}', ask => true) f WHERE t.type = 'ASK|CANCELLED'),
	'{CANCELLED}', 'a task that is to be cancelled is not tried again');

-- ---- too late ----
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[:'later', pg_temp.id(99), NULL]::uuid[], '{1}', '{retry}', '{NULL}', '{x}', pg_temp.node(), 9, retries => '{"{}"}', ask => true)),
	0::bigint, 'a task that has changed or never existed is not finished');
SELECT is(pg_temp.state(:'later'), 'WAITING 2', 'the task that has changed stays as it is');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[:'later']::uuid[], '{NULL}', '{retry}', '{NULL}', '{x}', pg_temp.node(), 9, retries => '{"{}"}', ask => true)),
	0::bigint, 'a task without a version is not finished');
SELECT throws_ok($$SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(1), pg_temp.id(2), pg_temp.id(3)], '{1}', '{retry}', '{0}', '{x}', 1, 1, retries => '{"{}","{}"}')$$,
	'22023', 'arrays must have one length', 'the policies must be one for each task, or one for all');
SELECT is((SELECT array_agg(name ORDER BY name) FROM twtasks_internal.read_policies('n') WHERE kind = 'policy' AND max_tries = 0), '{ASK*}', 'read_policies() tells which patterns have a retry function');

SELECT * FROM finish();
ROLLBACK;
