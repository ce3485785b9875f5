--
-- Policies of processing: what is kept of a task that is done, and what becomes
-- of one that is stuck.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(37);
CREATE SCHEMA app;

-- ---- when done ----
SELECT twtasks.configure_type('DONE|*', when_done => 'keep') \g /dev/null
SELECT twtasks.configure_type('DONE|CLEAR', when_done => 'clear') \g /dev/null
SELECT twtasks.configure_type('DONE|DELETE', when_done => 'delete') \g /dev/null
CREATE FUNCTION pg_temp.finished(n integer, type text, result text DEFAULT 'done') RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task(type, '{"d": 1}', key => 'key-' || n, task_id => pg_temp.id(n), context => '{"c": 1}', payload => '\x00');
	PERFORM pg_temp.grab(pg_temp.id(n));
	RETURN pg_temp.finish(pg_temp.id(n), result, message => 'm');
END $$;
CREATE FUNCTION pg_temp.history(n integer) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_strip_nulls(jsonb_build_object('data', data, 'payload', payload, 'context', context, 'message', message, 'key', key)) FROM twtasks.finished_task WHERE id = pg_temp.id(n) $$;
SELECT is(pg_temp.finished(1, 'DONE|KEEP'), 'DONE', 'keep');
SELECT is(pg_temp.history(1), '{"data": {"d": 1}, "payload": "\\x00", "context": {"c": 1}, "message": "m", "key": "key-1"}', 'all of it is kept');
SELECT is(pg_temp.finished(2, 'DONE|CLEAR'), 'DONE', 'clear');
SELECT is(pg_temp.history(2), '{"context": {"c": 1}, "message": "m", "key": "key-2"}', 'all but data and payload');
SELECT is(pg_temp.finished(3, 'DONE|DELETE'), 'DONE', 'delete');
SELECT is(pg_temp.state(pg_temp.id(3)), 'none', 'nothing');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(3)), 0::bigint, 'nor its key');
SELECT is((SELECT result FROM twtasks.add_task('DONE|DELETE', key => 'key-3', task_id => pg_temp.id(3))), 'added', 'which is free');
SELECT is((SELECT result FROM twtasks.add_task('DONE|CLEAR', key => 'key-2', task_id => pg_temp.id(2))), 'already_exists', 'that of a cleared one is not');
SELECT is(pg_temp.finished(4, 'DONE|CLEAR', 'error'), 'ERROR', 'one that failed');
SELECT is((SELECT data FROM twtasks.task WHERE id = pg_temp.id(4)), '{"d": 1}'::jsonb, 'keeps what it carries');
SELECT is(pg_temp.finished(5, 'OTHER'), 'DONE', 'a type without a policy');
SELECT is(pg_temp.history(5)->'data', '{"d": 1}'::jsonb, 'keeps it all');

-- Many in one call, each by its own type.
SELECT twtasks.add_task((ARRAY['DONE|KEEP', 'DONE|CLEAR', 'DONE|DELETE'])[1 + n % 3], '{"d": 1}', key => 'many-' || n, task_id => pg_temp.id(n)) FROM generate_series(10, 39) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(10, 39) n \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(10, 39) n), '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token())), 30::bigint, 'many are finished');
SELECT is((SELECT array_agg(DISTINCT f.type || ' ' || (f.data IS NOT NULL) ORDER BY f.type || ' ' || (f.data IS NOT NULL)) FROM twtasks.finished_task f WHERE f.key ~ 'many'), '{DONE|CLEAR false,DONE|KEEP true}'::text[], 'each as it should');
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE key ~ 'many'), 20::bigint, 'nothing of a third');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key ~ 'many'), 20::bigint, 'nor keys');

-- A SQL handler's and an accepted one as well.
CREATE FUNCTION app.nothing(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
SELECT twtasks.add_task('DONE|DELETE', task_id => pg_temp.id(40)) \g /dev/null
SELECT is((SELECT result FROM twtasks_internal.execute_tasks('app.nothing', NULL, ARRAY[pg_temp.id(40)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}')), 'finished', 'a SQL handler');
SELECT is(pg_temp.state(pg_temp.id(40)), 'none', 'leaves nothing either');
SELECT is(pg_temp.finished(41, 'DONE|CLEAR', 'accepted'), 'PROCESSING', 'accepted');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(41)], '{1}', '{done}', '{0}', '{NULL}', NULL, NULL)), 1::bigint, 'and finished by somebody');
SELECT is(pg_temp.history(41), '{"context": {"c": 1}, "key": "key-41"}', 'is cleared');

-- ---- stuck ----
CREATE FUNCTION app.rule(task twtasks.task_input) RETURNS twtasks.stuck_rule
LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$
BEGIN
	IF task.data->>'rule' = 'raise' THEN
		RAISE EXCEPTION 'no idea';
	ELSIF task.data->>'rule' = 'for ever' THEN
		LOOP END LOOP;
	END IF;
	RETURN (task.data->>'rule')::twtasks.stuck_rule;
END $$;
SELECT twtasks.configure_type('STUCK*', stuck_function => 'app.rule') \g /dev/null
CREATE FUNCTION pg_temp.stuck(n integer, answer text, own twtasks.stuck_rule, type text DEFAULT 'STUCK') RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task(type, jsonb_build_object('rule', answer), task_id => pg_temp.id(n));
	PERFORM pg_temp.grab(pg_temp.id(n), timeout_ms => 0, rule => own);
END $$;
SELECT pg_temp.stuck(50, 'retry', 'error'), pg_temp.stuck(51, 'error', 'retry'), pg_temp.stuck(52, 'fail', 'error'), pg_temp.stuck(53, 'ignore', 'error'),
	pg_temp.stuck(54, NULL, 'retry'), pg_temp.stuck(55, 'raise', 'fail'), pg_temp.stuck(56, 'wrong', 'error'), pg_temp.stuck(57, 'fail', 'error', 'OTHER'),
	pg_temp.stuck(58, 'fail', 'ignore') \g /dev/null
SET LOCAL client_min_messages = error;
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks()), '[2, 3, 2, false]', 'stuck tasks are recovered');
SELECT is(pg_temp.state(pg_temp.id(50)), 'SUBMITTED 2', 'a function says: retry');
SELECT is(pg_temp.state(pg_temp.id(51)), 'ERROR 2', 'error');
SELECT is(pg_temp.state(pg_temp.id(52)), 'FAILED 2', 'fail');
SELECT is(pg_temp.state(pg_temp.id(53)), 'PROCESSING 1', 'ignore');
SELECT is(pg_temp.state(pg_temp.id(54)), 'SUBMITTED 2', 'nothing: its own rule');
SELECT is(pg_temp.state(pg_temp.id(55)), 'FAILED 2', 'so when it fails');
SELECT is(pg_temp.state(pg_temp.id(56)), 'ERROR 2', 'or returns what is no rule');
SELECT is(pg_temp.state(pg_temp.id(57)), 'ERROR 2', 'a type without a function');
SELECT is(pg_temp.state(pg_temp.id(58)), 'PROCESSING 1', 'and a task that is to be ignored');
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks(batch => 1)), '[0, 0, 0, false]', 'what is ignored is asked about once, and gives no reason to look again');
SELECT is(pg_temp.finish(pg_temp.id(53), 'done'), 'DONE', 'it can be finished');

-- A function that is slow ends, and the rest are asked about later.
SET LOCAL twtasks.function_timeout = '100ms';
SELECT pg_temp.stuck(n, 'for ever', 'error') FROM generate_series(60, 62) n \g /dev/null
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks()), '[0, 1, 0, true]', 'one that takes too long holds up the next ones only so long');
SELECT is((SELECT count(*) FROM twtasks.task WHERE id BETWEEN pg_temp.id(60) AND pg_temp.id(62) AND status = 'PROCESSING'), 2::bigint, 'they stay as they are');
SELECT errors FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks()), '[0, 1, 0, false]', 'until they had their turn');

SELECT * FROM finish();
ROLLBACK;
