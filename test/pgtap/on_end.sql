--
-- on_end: the function of a policy hears of each end of its tasks, in the
-- transaction of that end, and a function that fails leaves its task in ERROR.
--
BEGIN;
\ir ../lib/tasks.sql
SET LOCAL client_min_messages = error;
SELECT plan(67);

CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.heard (call integer, n bigint, heard text);
CREATE SEQUENCE app.calls;
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
DECLARE
	call integer := nextval('calls');
BEGIN
	INSERT INTO heard SELECT call, u.n, concat_ws(' ', u.type, u.status, u.version, u.tries, u.key, u.data->>'x', u.error, u.message, u.outcome)
	FROM unnest(tasks) WITH ORDINALITY u(id, version, type, sub_type, bucket, key, tries, status, state_time, error, message, data, context, outcome, started, n);
	WHILE EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'slow') LOOP END LOOP;
	IF EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'bad') THEN
		RAISE EXCEPTION 'no such account' USING ERRCODE = 'P0404';
	ELSIF EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'deadlock') THEN
		RAISE EXCEPTION 'somebody waits' USING ERRCODE = 'deadlock_detected';
	ELSIF EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'full') THEN
		RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full';
	ELSIF EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'cancels') THEN
		RAISE EXCEPTION 'a remote statement was cancelled' USING ERRCODE = 'query_canceled';
	END IF;
	ASSERT NOT EXISTS (SELECT FROM unnest(tasks) t WHERE t.key = 'asserts'), 'no account';
END $$;
CREATE FUNCTION app.other(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ INSERT INTO heard SELECT nextval('calls'), cardinality(tasks), 'other ' || (tasks[1]).type $$;
CREATE FUNCTION app.answers(tasks twtasks.ended_task[]) RETURNS integer
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp AS 'SELECT 1';
CREATE FUNCTION app.loose(tasks twtasks.ended_task[]) RETURNS void LANGUAGE sql AS '';

-- The ends that the function has heard of since the last look.
CREATE FUNCTION pg_temp.heard() RETURNS text[]
LANGUAGE sql
AS $$
	WITH taken AS (DELETE FROM app.heard RETURNING *)
	SELECT coalesce(array_agg(heard ORDER BY call, n, heard), '{}') FROM taken
$$;
CREATE FUNCTION pg_temp.calls() RETURNS bigint LANGUAGE sql AS $$ SELECT count(DISTINCT call) FROM app.heard $$;
CREATE FUNCTION pg_temp.add(type text, key text DEFAULT NULL, run_after timestamptz DEFAULT NULL) RETURNS uuid
LANGUAGE sql
AS $$ SELECT task_id FROM twtasks.add_task(type, '{"x": "y"}', key => key, run_after => run_after) $$;
CREATE FUNCTION pg_temp.running(type text, key text DEFAULT NULL, rule twtasks.stuck_rule DEFAULT 'error') RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
	id uuid := pg_temp.add(type, key);
BEGIN
	PERFORM pg_temp.grab(id, rule => rule);
	RETURN id;
END $$;
CREATE FUNCTION pg_temp.finish_keys(keys text[], result text DEFAULT 'done') RETURNS text[]
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT pg_temp.running('ON', k) FROM unnest(keys) k);
BEGIN
	RETURN ARRAY(SELECT f.status FROM unnest(ids) WITH ORDINALITY u(id, place)
		LEFT JOIN twtasks_internal.finish_tasks(ids, '{1}', ARRAY[result], '{0}', '{NULL}', pg_temp.node(), 9) f USING (id)
		ORDER BY u.place);
END $$;

-- ---- the option ----
SELECT throws_ok($$SELECT twtasks.configure_type('ON', on_end => 'app.nobody')$$, '42883', NULL, 'the function must exist');
SELECT throws_ok($$SELECT twtasks.configure_type('ON', on_end => 'app.answers')$$, '42883', NULL, 'the function returns nothing');
SELECT throws_ok($$SELECT twtasks.configure_type('ON', on_end => 'app.loose')$$, '22023', NULL, 'the function fixes its search_path');
SELECT pg_temp.finish(pg_temp.running('ON'), 'done') \g /dev/null
SELECT is(pg_temp.heard(), '{}', 'nobody hears of an end without a policy');
SELECT twtasks.configure_type('ON*', on_end => 'app.hears') \g /dev/null
SELECT twtasks.configure_type('ON|OTHER', on_end => 'app.other') \g /dev/null
SELECT twtasks.configure_type('ON|NOT', on_end => 'none') \g /dev/null
SELECT is((twtasks.policy_of('ON|OTHER')).on_end, 'app.other', 'the most special pattern names the function');

-- ---- each end ----
SELECT pg_temp.finish(pg_temp.running('ON', 'k'), 'done', message => 'paid') \g /dev/null
SELECT is(pg_temp.heard(), '{ON DONE 2 1 k y paid}', 'a function hears of a task that is done, with its content and message');
SELECT pg_temp.finish(pg_temp.running('ON'), 'delete') \g /dev/null
SELECT is(pg_temp.heard(), '{ON DONE 2 1 y}', 'a function hears of a task that leaves no trace');
SELECT twtasks.configure_type('ON|CLEAR', when_done => 'clear') \g /dev/null
SELECT pg_temp.finish(pg_temp.running('ON|CLEAR'), 'done') \g /dev/null
SELECT is(pg_temp.heard(), '{ON|CLEAR DONE 2 1 y}', 'a function gets the data that the history does not keep');
SELECT pg_temp.finish(pg_temp.running('ON'), 'error', message => 'broken') \g /dev/null
SELECT is(pg_temp.heard(), '{ON ERROR 2 1 y broken}', 'a function hears of a task in ERROR');
SELECT pg_temp.finish(pg_temp.running('ON'), result) FROM unnest('{retry,repeat,release,accepted}'::text[]) result \g /dev/null
SELECT is(pg_temp.heard(), '{}', 'a function does not hear of a task that goes on');
SELECT pg_temp.running('ON') AS id \gset
SELECT twtasks.request_cancel(:'id', 1, 'wrong') \g /dev/null
SELECT pg_temp.finish(:'id', 'cancelled') \g /dev/null
SELECT is(pg_temp.heard(), ARRAY[format('ON CANCELLED 2 1 y cancelled by %s: wrong', session_user)], 'a function hears of a running task that is cancelled');
SELECT twtasks.cancel_task(pg_temp.add('ON'), reason => 'late') \g /dev/null
SELECT is(pg_temp.heard(), '{ON CANCELLED 1 0 y late}', 'a function hears of a waiting task that is cancelled');
SELECT pg_temp.running('ON') AS id \gset
SELECT pg_temp.finish(:'id', 'error', message => 'broken') \g /dev/null
SELECT twtasks.fail_task(:'id') \g /dev/null
SELECT is(pg_temp.heard(), '{ON ERROR 2 1 y broken,ON FAILED 3 1 y broken}', 'a function hears again when a person fails the task');
SELECT pg_temp.add('ON') AS id \gset
UPDATE twtasks.task SET expires = created WHERE id = :'id';
SELECT is(twtasks_internal.expire_tasks(), 1::bigint, 'a task with a function expires');
SELECT is(pg_temp.heard(), '{ON FAILED 1 0 y expired before it was started}', 'a function hears of a task that expires');
SELECT pg_temp.running('ON', rule => r) FROM unnest('{error,fail,retry,ignore}'::twtasks.stuck_rule[]) r \g /dev/null
UPDATE twtasks.task SET deadline = created WHERE status = 'PROCESSING' AND type = 'ON';
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.calls(), 1::bigint, 'a function hears of all stuck tasks in one call');
SELECT is((SELECT array_agg(h ORDER BY h) FROM unnest(pg_temp.heard()) h), '{ON ERROR 2 1 y its deadline passed without a result,ON FAILED 2 1 y its deadline passed without a result}', 'a function hears of stuck tasks that end, not of those that run again');
SELECT pg_temp.running('ON') AS id \gset
SELECT pg_temp.finish(:'id', 'accepted', delay_ms => 60000) \g /dev/null
SELECT twtasks.finish_task(:'id', 1, message => 'from outside') \g /dev/null
SELECT is(pg_temp.heard(), '{ON DONE 2 1 y from outside}', 'a function hears of an accepted task that is finished');
SELECT pg_temp.finish(pg_temp.running('ON|NOT'), 'done') \g /dev/null
SELECT is(pg_temp.heard(), '{}', 'none removes the function of a shorter pattern');
CREATE TABLE app.times (id uuid, at timestamptz);
CREATE FUNCTION app.notes_time(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ INSERT INTO times SELECT t.id, t.state_time FROM unnest(tasks) t $$;
SELECT twtasks.configure_type('TIMED', on_end => 'app.notes_time') \g /dev/null
SELECT pg_temp.finish(pg_temp.running('TIMED'), r) FROM unnest('{done,error}'::text[]) r \g /dev/null
SELECT is(ARRAY(SELECT concat_ws(' ', t.status, t.state_time = h.at) FROM twtasks.tasks t LEFT JOIN app.times h USING (id) WHERE t.type = 'TIMED' ORDER BY t.status::text),
	'{DONE t,ERROR t}', 'a function hears the time of the end that the task has');

-- ---- one call ----
SELECT is(pg_temp.finish_keys('{a,b,c}'), '{DONE,DONE,DONE}', 'three tasks are done together');
SELECT is(pg_temp.calls(), 1::bigint, 'a function gets all tasks of a statement in one call');
SELECT is(pg_temp.heard(), '{ON DONE 2 1 a y,ON DONE 2 1 b y,ON DONE 2 1 c y}', 'the call has each task');
WITH ids AS MATERIALIZED (SELECT ARRAY[pg_temp.running('ON', 'd'), pg_temp.running('ON|OTHER'), pg_temp.running('ON', 'e'), pg_temp.running('ON|NOT')] AS ids)
SELECT count(*) FROM ids, twtasks_internal.finish_tasks(ids, '{1}', '{done,done,error,done}', '{0}', '{NULL}', pg_temp.node(), 9) \g /dev/null
SELECT is(pg_temp.calls(), 2::bigint, 'each function is called once, whatever became of its tasks');
SELECT is((SELECT array_agg(h ORDER BY h) FROM unnest(pg_temp.heard()) h), '{ON DONE 2 1 d y,ON ERROR 2 1 e y,other ON|OTHER}', 'each function gets its own tasks');

-- ---- a function that fails ----
SELECT is(pg_temp.finish_keys('{f,bad,g}'), '{DONE,ERROR,DONE}', 'the task at fault is in ERROR, the others are done');
SELECT is(pg_temp.heard(), '{ON DONE 2 1 f y,ON DONE 2 1 g y}', 'what the function wrote before it failed is undone');
SELECT is((SELECT error FROM twtasks.error_tasks WHERE key = 'bad'),
	'it became DONE, but function "app.hears" for on_end failed: no such account (SQLSTATE P0404)', 'the task says that it was done and why it is in ERROR');
SELECT is((SELECT count(*) FROM twtasks.tasks WHERE key = 'bad'), 1::bigint, 'the task in ERROR has left the history');
SELECT is(twtasks.fail_task(twtasks.id_of('bad'))::text, '(changed,3,ERROR)', 'a person who fails the task learns that the function failed again');
SELECT is((SELECT array_agg(concat_ws(' ', action, to_status) ORDER BY id) FROM twtasks.audit WHERE task_id = twtasks.id_of('bad')), '{fail ERROR}', 'the audit tells what became of that task');
UPDATE twtasks.task SET key = NULL WHERE key = 'bad';
DELETE FROM twtasks.unique_key WHERE key = 'bad';
SELECT is((twtasks.cancel_task(pg_temp.add('ON', 'bad'))).status, 'ERROR', 'a task that cannot be cancelled is in ERROR');
DELETE FROM twtasks.task WHERE key = 'bad';
DELETE FROM twtasks.unique_key WHERE key = 'bad';
SELECT pg_temp.add('ON', k) FROM unnest('{bad,h}'::text[]) k \g /dev/null
UPDATE twtasks.task SET expires = created WHERE key IN ('bad', 'h');
SELECT is(twtasks_internal.expire_tasks(), 2::bigint, 'a task that cannot expire does not stop others');
SELECT is((SELECT array_agg(concat_ws(' ', key, status) ORDER BY key) FROM twtasks.tasks WHERE key IN ('bad', 'h')), '{bad ERROR,h FAILED}', 'the task that cannot expire is in ERROR');
DELETE FROM twtasks.task WHERE key = 'bad';
DELETE FROM twtasks.unique_key WHERE key = 'bad';
SELECT pg_temp.running('ON', 'bad') AS id \gset
SELECT twtasks.request_cancel(:'id', 1) \g /dev/null
SELECT is(pg_temp.finish(:'id', 'done'), 'ERROR', 'a request to cancel does not hide the fault');
SELECT is(pg_temp.heard(), '{ON FAILED 1 0 h y expired before it was started}', 'no function hears of an ERROR that a function has caused');
DELETE FROM twtasks.task WHERE key = 'bad';
DELETE FROM twtasks.unique_key WHERE key = 'bad';

-- ---- the time limit ----
\if :is_sql
SELECT skip('the SQL edition limits no time of a function', 4);
\else
SET LOCAL twtasks.function_timeout = 20;
SELECT is(pg_temp.finish_keys('{slow}'), '{ERROR}', 'a function that takes too long has failed');
SELECT ok((SELECT error FROM twtasks.error_tasks WHERE key = 'slow') LIKE '%took too long (SQLSTATE 53400)', 'the task says that the function took too long');
DELETE FROM twtasks.task WHERE key = 'slow';
DELETE FROM twtasks.unique_key WHERE key = 'slow';
SELECT is((pg_temp.finish_keys('{slow,i}'))[1:2], '{ERROR,PROCESSING}', 'a task after slow ones is left for another finish');
SET LOCAL twtasks.function_timeout = 1000;
SELECT is(pg_temp.finish(twtasks.id_of('i'), 'done'), 'DONE', 'that finish is accepted');
\endif

-- ---- failures that are not the task's ----
SELECT pg_temp.heard() \g /dev/null
SELECT is(pg_temp.finish_keys('{j,deadlock}'), '{DONE,PROCESSING}', 'a deadlock leaves its task for another finish');
SELECT is(pg_temp.heard(), '{ON DONE 2 1 j y}', 'the other task is done');
SELECT throws_ok($$SELECT pg_temp.finish(twtasks.id_of('deadlock'), 'done')$$, '40P01', 'somebody waits', 'a deadlock of a task alone is raised');
SELECT is(pg_temp.finish_keys('{l,full}'), '{DONE,PROCESSING}', 'a full disk leaves its task for another finish, and stops no other');
SELECT throws_ok($$SELECT pg_temp.finish(twtasks.id_of('full'), 'done')$$, '53100', 'no space', 'a full disk for a task alone is raised');
SELECT is((SELECT count(*) FROM twtasks.error_tasks WHERE key IN ('deadlock', 'full')), 0::bigint, 'neither puts a task into ERROR');
\if :is_sql
SELECT is(pg_temp.finish_keys('{n,asserts,o,p}'), '{DONE,ERROR,DONE,DONE}', 'a failed assertion is a failure of its task');
\else
SELECT is(pg_temp.finish_keys('{n,asserts,o,cancels,p}'), '{DONE,ERROR,DONE,ERROR,DONE}', 'a failed assertion, and the cancel of a remote statement, are failures of their tasks');
\endif

-- ---- SQL handlers ----
UPDATE twtasks.task SET key = NULL;
TRUNCATE twtasks.unique_key;
CREATE TABLE app.effect (key text);
CREATE FUNCTION app.works(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	INSERT INTO app.effect SELECT k.key FROM twtasks.unique_key k WHERE k.task_id = task.id;
	RETURN ('done', NULL, 'worked')::twtasks.task_result;
END $$;
CREATE FUNCTION pg_temp.execute(VARIADIC keys text[]) RETURNS text[]
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT task_id FROM unnest(keys) k, twtasks.add_task('ON', '{"x": "y"}', key => k, sub_type => 'done'));
BEGIN
	RETURN ARRAY(SELECT concat_ws(' ', e.result, e.message) FROM unnest(ids) WITH ORDINALITY u(id, place)
		LEFT JOIN twtasks_internal.execute_tasks('app.works', NULL, ids, '{0}', pg_temp.node(), 10, '{60000}', '{error}') e USING (id)
		ORDER BY u.place);
END $$;
SELECT pg_temp.heard() \g /dev/null
SELECT is(pg_temp.execute('m', 'n'), '{finished,finished}', 'SQL handlers run');
SELECT is(pg_temp.heard(), '{ON DONE 2 1 m y worked,ON DONE 2 1 n y worked}', 'a function hears of the tasks of SQL handlers');
SELECT is(pg_temp.execute('o', 'bad', 'p'), '{finished,failed no such account (SQLSTATE P0404),finished}', 'a function that fails is a failure of the SQL handler');
SELECT is(ARRAY(SELECT key FROM app.effect ORDER BY key), '{m,n,o,p}', 'the work of that handler is undone with it');
SELECT is((SELECT status FROM twtasks.tasks WHERE key = 'bad'), 'PROCESSING', 'the retry policy decides about its task');
SELECT throws_ok($$SELECT pg_temp.execute('q', 'deadlock')$$, '40P01', 'somebody waits', 'a deadlock among several SQL handlers is raised');
SELECT is(pg_temp.execute('deadlock'), '{failed somebody waits (SQLSTATE 40P01)}', 'a deadlock of a SQL handler alone is its failure');

-- ---- outcomes ----
SELECT pg_temp.heard() \g /dev/null
WITH ids AS MATERIALIZED (SELECT ARRAY(SELECT pg_temp.running('ON', k) FROM unnest('{s,t,u,v}'::text[]) k) AS ids)
SELECT count(*) FROM ids, twtasks_internal.finish_tasks(ids, '{1}', '{done,error,delete,error}', '{0}', '{NULL}', pg_temp.node(), 9,
	outcomes => ARRAY['{"a": 1}', '{"a": 2}', '{"a": 3}', NULL]::jsonb[]) \g /dev/null
SELECT is((SELECT array_agg(h ORDER BY h) FROM unnest(pg_temp.heard()) h), '{"ON DONE 2 1 s y {\"a\": 1}","ON DONE 2 1 u y {\"a\": 3}","ON ERROR 2 1 t y {\"a\": 2}","ON ERROR 2 1 v y"}', 'each task has its own outcome');
SELECT pg_temp.running('ON', 'w') AS id \gset
SELECT pg_temp.finish(:'id', 'accepted', delay_ms => 60000) \g /dev/null
SELECT throws_ok(format('SELECT twtasks.finish_task(%L, 1, outcome => %L)', :'id', '[1]'), '22023', 'an outcome must be a JSON object', 'an outcome is an object');
SELECT throws_ok(format('SELECT twtasks.finish_task(%L, 1, outcome => %L)', :'id', jsonb_build_object('a', repeat('x', 8185))), '22023', 'an outcome must have at most 8192 bytes, not 8194', 'an outcome is short');
SELECT is((twtasks.finish_task(:'id', 1, outcome => jsonb_build_object('a', repeat('x', 8183)))).result, 'changed', 'an outcome may have 8,192 bytes');
SELECT is((SELECT array_agg(length(h)) FROM unnest(pg_temp.heard()) h), '{8208}', 'the function gets that outcome');
SELECT throws_ok($$SELECT twtasks_internal.finish_tasks('{00000000-0000-0000-0000-000000000001}', '{1}', '{done}', '{0}', '{NULL}', 1, 9, outcomes => '{"7"}')$$, '22023', 'an outcome must be a JSON object', 'a sidecar cannot store another outcome');
SELECT throws_ok($$SELECT twtasks.set_outcome('{}')$$, '55000', NULL, 'only a SQL handler sets an outcome');
CREATE FUNCTION app.tells(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.set_outcome('{"first": true}');
	IF task.key <> 'none' THEN
		PERFORM twtasks.set_outcome(jsonb_build_object('key', task.key));
	END IF;
	BEGIN
		PERFORM twtasks.set_outcome('{"undone": true}');
		RAISE EXCEPTION 'undo';
	EXCEPTION WHEN raise_exception THEN
	END;
	IF task.key = 'list' THEN
		PERFORM twtasks.set_outcome('[]');
	END IF;
	RETURN ('error', NULL, 'told')::twtasks.task_result;
END $$;
CREATE OR REPLACE FUNCTION app.works(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ SELECT CASE WHEN task.key LIKE 'x%' THEN NULL::twtasks.task_result ELSE app.tells(task) END $$;
SELECT is(pg_temp.execute('none', 'z', 'xx', 'list'), CASE WHEN :'is_sql' THEN '{"finished error","finished error",finished,"failed an outcome must be a JSON object (SQLSTATE 22023)"}'
	ELSE '{"finished error","finished error",finished,"failed an outcome must be a JSON object, in PL/pgSQL function app.tells(twtasks.task_input) line 13 at PERFORM, in SQL function \"works\" statement 1 (SQLSTATE 22023)"}' END::text[], 'a SQL handler with a wrong outcome fails');
SELECT is(pg_temp.heard(), '{"ON ERROR 2 1 none y told {\"first\": true}","ON ERROR 2 1 z y told {\"key\": \"z\"}","ON DONE 2 1 xx y"}', 'the last outcome that was not undone counts, for its own task');

-- ---- functions that end tasks themselves ----
SELECT pg_temp.heard() \g /dev/null
CREATE FUNCTION app.ends(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ SELECT twtasks.cancel_task(t.id) FROM twtasks.tasks t WHERE t.type = 'ON|WAITS' $$;
SELECT twtasks.configure_type('ENDS', on_end => 'app.ends') \g /dev/null
SELECT pg_temp.add('ON|WAITS', 'r') \g /dev/null
SELECT is(pg_temp.finish(pg_temp.running('ENDS'), 'done'), 'DONE', 'a function may end another task');
SELECT is(pg_temp.heard(), '{ON|WAITS CANCELLED 1 0 r y}', 'the other task''s function hears of that');

-- ---- functions that move on what is in ERROR ----
CREATE FUNCTION app.moves(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ SELECT CASE t.key WHEN 'fail' THEN twtasks.fail_task(t.id) ELSE twtasks.resume_task(t.id) END FROM unnest(tasks) t WHERE t.status = 'ERROR' $$;
SELECT twtasks.configure_type('MOVES', on_end => 'app.moves') \g /dev/null
CREATE FUNCTION pg_temp.finish_accepted(id uuid) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.finish(id, 'accepted', delay_ms => 60000);
	RETURN twtasks.finish_task(id, 1, 'error')::text;
END $$;
SELECT pg_temp.running('MOVES', 'fail') AS fails, pg_temp.running('MOVES', 'resume') AS resumes \gset
SELECT is(pg_temp.finish_accepted(:'fails'), '(changed,3,FAILED)', 'a finish answers what a task is after its function has failed it');
SELECT is(pg_temp.finish_accepted(:'resumes'), '(changed,3,WAITING)', '... or has resumed it');

SELECT * FROM finish();
ROLLBACK;
