--
-- Policies of processing: what is kept of a task that is done, and what becomes
-- of one that is stuck.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(53);
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;

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
SELECT is(pg_temp.finished(1, 'DONE|KEEP'), 'DONE', 'a task whose type has when_done keep is DONE');
SELECT is(pg_temp.history(1), '{"data": {"d": 1}, "payload": "\\x00", "context": {"c": 1}, "message": "m", "key": "key-1"}', 'keep leaves all that the task carried');
SELECT is(pg_temp.finished(2, 'DONE|CLEAR'), 'DONE', 'a task whose type has when_done clear is DONE');
SELECT is(pg_temp.history(2), '{"context": {"c": 1}, "message": "m", "key": "key-2"}', 'clear removes data and payload, and nothing else');
SELECT is(pg_temp.finished(3, 'DONE|DELETE'), 'DONE', 'a task whose type has when_done delete is DONE');
SELECT is(pg_temp.state(pg_temp.id(3)), 'none', 'delete removes the task');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(3)), 0::bigint, 'delete removes the key of the task');
SELECT is((SELECT result FROM twtasks.add_task('DONE|DELETE', key => 'key-3', task_id => pg_temp.id(3))), 'added', 'the key of a deleted task is free');
SELECT is((SELECT result FROM twtasks.add_task('DONE|CLEAR', key => 'key-2', task_id => pg_temp.id(2))), 'already_exists', 'the key of a cleared task is taken');
SELECT is(pg_temp.finished(4, 'DONE|CLEAR', 'error'), 'ERROR', 'a failed task whose type has when_done clear is in ERROR');
SELECT is((SELECT data FROM twtasks.task WHERE id = pg_temp.id(4)), '{"d": 1}'::jsonb, 'a failed task keeps its data');
SELECT is(pg_temp.finished(5, 'OTHER'), 'DONE', 'a task of a type without a policy is DONE');
SELECT is(pg_temp.history(5)->'data', '{"d": 1}'::jsonb, 'a type without a policy keeps its data');

-- Many in one call, each by its own type.
SELECT twtasks.add_task((ARRAY['DONE|KEEP', 'DONE|CLEAR', 'DONE|DELETE'])[1 + n % 3], '{"d": 1}', key => 'many-' || n, task_id => pg_temp.id(n)) FROM generate_series(10, 39) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(10, 39) n \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(10, 39) n), '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), pg_temp.token())), 30::bigint, 'many tasks are finished in one call');
SELECT is((SELECT array_agg(DISTINCT f.type || ' ' || (f.data IS NOT NULL) ORDER BY f.type || ' ' || (f.data IS NOT NULL)) FROM twtasks.finished_task f WHERE f.key ~ 'many'), '{DONE|CLEAR false,DONE|KEEP true}'::text[], 'each of many tasks is kept or cleared by its type');
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE key ~ 'many'), 20::bigint, 'the deleted tasks are not in the history');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key ~ 'many'), 20::bigint, 'the deleted tasks have no keys');

-- A SQL handler's and an accepted one as well.
CREATE FUNCTION app.nothing(task twtasks.task_input) RETURNS void LANGUAGE sql SECURITY DEFINER AS '';
SELECT twtasks.add_task('DONE|DELETE', task_id => pg_temp.id(40)) \g /dev/null
SELECT is((SELECT result FROM twtasks_internal.execute_tasks('app.nothing', NULL, ARRAY[pg_temp.id(40)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}')), 'finished', 'a SQL handler finishes a task');
SELECT is(pg_temp.state(pg_temp.id(40)), 'none', 'a task of a SQL handler is deleted too');
SELECT is(pg_temp.finished(41, 'DONE|CLEAR', 'accepted'), 'PROCESSING', 'the task is accepted');
SELECT pg_temp.grab((SELECT task_id FROM twtasks.add_task('RUNNING'))) \g /dev/null
-- recover_tasks() looks for the tasks of gone nodes among queued ones only.
SELECT bag_eq($$SELECT queued, incarnation IS NOT NULL FROM twtasks.task WHERE status = 'PROCESSING'$$,
	'VALUES (true, true), (false, false)', 'a running task is queued and has a node, an accepted one is and has neither');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(41)], '{1}', '{done}', '{0}', '{NULL}', NULL, NULL)), 1::bigint, 'an accepted task is finished by another caller');
SELECT is(pg_temp.history(41), '{"context": {"c": 1}, "key": "key-41"}', 'an accepted task is cleared when it is done');

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
SELECT is(pg_temp.state(pg_temp.id(50)), 'SUBMITTED 2', 'the function lets a stuck task be retried');
SELECT is(pg_temp.state(pg_temp.id(51)), 'ERROR 2', 'the function sends a stuck task to ERROR');
SELECT is(pg_temp.state(pg_temp.id(52)), 'FAILED 2', 'the function lets a stuck task be FAILED');
SELECT is(pg_temp.state(pg_temp.id(53)), 'PROCESSING 1', 'the function leaves a stuck task alone');
SELECT is(pg_temp.state(pg_temp.id(54)), 'SUBMITTED 2', 'a function without an answer leaves it to the task''s own rule');
SELECT is(pg_temp.state(pg_temp.id(55)), 'FAILED 2', 'a failed function leaves it to the task''s own rule');
SELECT is(pg_temp.state(pg_temp.id(56)), 'ERROR 2', 'an unknown answer leaves it to the task''s own rule');
SELECT is(pg_temp.state(pg_temp.id(57)), 'ERROR 2', 'a task of a type without a function follows its own rule');
SELECT is(pg_temp.state(pg_temp.id(58)), 'PROCESSING 1', 'a task with the stuck rule ignore is not asked about');
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks(batch => 1)), '[0, 0, 0, false]', 'an ignored task is asked about once, and needs no further look');
SELECT is(pg_temp.finish(pg_temp.id(53), 'done'), 'DONE', 'an ignored task can be finished');

-- A function that is slow ends, and the rest are asked about later.
SET LOCAL twtasks.function_timeout = '100ms';
SELECT pg_temp.stuck(n, 'for ever', 'error') FROM generate_series(60, 62) n \g /dev/null
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks()), '[0, 1, 0, true]', 'a slow function ends, and the call looks again later');
SELECT is((SELECT count(*) FROM twtasks.task WHERE id BETWEEN pg_temp.id(60) AND pg_temp.id(62) AND status = 'PROCESSING'), 2::bigint, 'the tasks behind a slow function stay as they are');
SELECT errors FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT jsonb_build_array(retried, errors, failed, next_ms IS NOT DISTINCT FROM 0) FROM twtasks_internal.recover_tasks()), '[0, 1, 0, false]', 'the last of these tasks is decided by a later call');

-- ---- when a task of a gone node is taken over ----
DELETE FROM twtasks.task;
SELECT twtasks.configure_type('LATE*', takeover => 'deadline') \g /dev/null
SELECT twtasks.configure_type('LATE|GONE', takeover => 'gone') \g /dev/null
SELECT is((twtasks.policy_of('LATE|GONE')).takeover, 'gone', 'a longer pattern may take over at once again');
SELECT twtasks_internal.start_node('gone') AS gone \gset
CREATE FUNCTION pg_temp.run_on(node bigint, n integer, type text, rule twtasks.stuck_rule) RETURNS void
LANGUAGE sql
AS $$
	SELECT twtasks.add_task(type, task_id => pg_temp.id(n));
	SELECT twtasks_internal.grab_tasks(ARRAY[pg_temp.id(n)], '{0}', node, pg_temp.token(), '{600000}', ARRAY[rule]);
$$;
SELECT pg_temp.run_on(:gone, (100 + n)::integer, 'LATE', rule) FROM unnest('{retry,error,fail,ignore}'::twtasks.stuck_rule[]) WITH ORDINALITY r(rule, n) \g /dev/null
SELECT pg_temp.run_on(:gone, 105, 'LATE|GONE', 'retry'), pg_temp.run_on(:gone, 106, 'OTHER', 'retry'), pg_temp.run_on(:gone, 107, 'LATE', 'retry') \g /dev/null
SELECT twtasks_internal.end_node(:gone) \g /dev/null
SELECT is((SELECT retried FROM twtasks_internal.recover_tasks()), 2::bigint, 'tasks without a policy, and of one with gone, are taken over at once');
SELECT is((SELECT array_agg(type ORDER BY type) FROM twtasks.task WHERE status = 'SUBMITTED'), '{LATE|GONE,OTHER}', 'the tasks that wait for their deadline are not taken over');
SELECT cmp_ok((SELECT next_ms FROM twtasks_internal.recover_tasks()), '<=', 600010::bigint, 'the next look is no later than the first deadline');
SELECT is((SELECT count(*) FROM twtasks.node WHERE incarnation = :gone), 1::bigint, 'the gone node is remembered for its tasks');
UPDATE twtasks.node SET ended = ended - interval '1 h' WHERE incarnation = :gone;
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'LATE' AND status = 'PROCESSING'), 5::bigint, 'an hour after the node ended its tasks still wait');
SELECT is((twtasks.request_cancel(pg_temp.id(107), 1, 'wrong')).result, 'requested', 'a task that may still run is not cancelled at once');
SELECT twtasks_internal.take_cancels(pg_temp.node()) \g /dev/null
SELECT is(pg_temp.state(pg_temp.id(107)), 'PROCESSING 1', 'no other sidecar cancels that task');
SELECT is(pg_temp.state(pg_temp.id(101)), 'PROCESSING 1', 'the task waits with the version that its handler knows');
SELECT is((SELECT status FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(101)], '{1}', '{done}', '{0}', '{NULL}', :gone, 5)), 'DONE', 'until its deadline the result of its handler counts');
UPDATE twtasks.task SET deadline = deadline - interval '11 min' WHERE type = 'LATE';
SELECT is((SELECT jsonb_build_array(retried, errors, failed) FROM twtasks_internal.recover_tasks(false)), '[0, 1, 1]', 'the stuck rules apply after the deadline');
SELECT is(pg_temp.state(pg_temp.id(107)), 'CANCELLED 2', 'a request to cancel counts after the deadline');
SELECT is(pg_temp.state(pg_temp.id(104)), 'PROCESSING 1', 'the rule ignore is followed after the deadline too');
SELECT is((SELECT status FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(102)], '{1}', '{done}', '{0}', '{NULL}', :gone, 6)), NULL, 'after its deadline the result of its handler is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('LATE', takeover => 'never')$$, '22P02', NULL, 'takeover is one of two words');

SELECT * FROM finish();
ROLLBACK;
