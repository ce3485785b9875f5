--
-- Functions for tests run tasks in the test's own transaction, shift the clock,
-- wait, and begin anew.  Nobody can call them where they are not allowed.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(73);
-- Other tests leave nodes, whose silence is a warning.
TRUNCATE twtasks.node;
SELECT twtasks.is_enabled() \g /dev/null

-- Not where it is off, whoever asks.
SELECT throws_ok(x.call, '55000', 'functions for tests are switched off', x.call || ' is refused')
FROM (VALUES ('SELECT * FROM twtasks.run_inline(''pg_temp.note'')'), ('SELECT twtasks.set_clock(now())'), ('SELECT twtasks.set_clock(NULL)'),
	('SELECT twtasks.advance_clock(''1 h'')'), ('SELECT twtasks.reset_tasks()')) x(call);
INSERT INTO twtasks.test_clock VALUES (3600000000, clock_timestamp(), 'somebody');
SELECT ok(twtasks.clock() BETWEEN clock_timestamp() - interval '1 s' AND clock_timestamp(), 'a shifted clock counts only while testing is on');
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings WHERE warning <> 'no environment'), '{clock shifted}', 'a shifted clock is a warning');
DELETE FROM twtasks.test_clock;
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings), '{no environment}', 'no warning of the clock is left without a shift');
SET LOCAL twtasks.testing = on;
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings), '{testing}', 'testing that is on is a warning');
SELECT format('ALTER DATABASE %I SET twtasks.testing = on', current_database()) \gexec
SELECT is((SELECT array_agg(detail) FROM twtasks.warnings), '{twtasks.testing is on in this session,twtasks.testing is set for this database}', 'testing that is set for the database is a warning');

-- Tasks run here and now.
CREATE SCHEMA regress_app;
GRANT USAGE ON SCHEMA regress_app TO PUBLIC;
CREATE TABLE regress_app.note (n integer, by text);
CREATE FUNCTION regress_app.note(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
	INSERT INTO regress_app.note VALUES ((task.data ->> 'n')::integer, current_user);
	IF task.data ? 'next' THEN
		PERFORM twtasks.add_task(task.type, task.data -> 'next');
	END IF;
	IF task.data ? 'fails' THEN
		RAISE EXCEPTION 'no luck' USING ERRCODE = 'ZZ001';
	END IF;
	RETURN (task.data ->> 'answer', (task.data ->> 'delay')::interval, NULL)::twtasks.task_result;
END $$;
SELECT twtasks.add_task('A', '{"n": 1}'), twtasks.add_task('A', '{"n": 2}', priority => 0), twtasks.add_task('A|x', '{"n": 3, "next": {"n": 4}}'),
	twtasks.add_task('B', '{"n": 5}'), twtasks.add_task('A', '{"n": 6}', run_after => clock_timestamp() + interval '1 hour'),
	twtasks.add_task('A', '{"n": 7}', expires => clock_timestamp() + interval '1 hour') \g /dev/null
SELECT results_eq($$SELECT type, tries, result, message, status, version FROM twtasks.run_inline('regress_app.note', 'A')$$,
	$$VALUES ('A', 1, 'finished', NULL, 'DONE'::twtasks.task_status, 2::bigint), ('A', 1, 'finished', NULL, 'DONE', 2), ('A', 1, 'finished', NULL, 'DONE', 2)$$,
	'run_inline() runs the tasks of a type');
SELECT is((SELECT array_agg(n) FROM regress_app.note), '{2,1,7}', 'the most urgent task runs first');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note', 'A*')), 2::bigint, 'a pattern runs tasks, and those that they add');
SELECT is((SELECT array_agg(n ORDER BY n) FROM regress_app.note), '{1,2,3,4,7}', 'each task ran once');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note', max_tasks => 0)), 0::bigint, 'max_tasks 0 runs no task');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note')), 1::bigint, 'a call without a type runs all other tasks');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note')), 0::bigint, 'a task that waits for its time does not run');
SELECT is((SELECT count(*) FROM twtasks.node WHERE name = 'run_inline'), 0::bigint, 'the node of run_inline() is gone');

-- Answers of handlers.
CREATE FUNCTION pg_temp.run(data text) RETURNS text LANGUAGE sql
AS $$
	SELECT twtasks.add_task('RUN', data::jsonb);
	SELECT concat_ws(' ', r.result, r.status, r.version, r.message) FROM twtasks.run_inline('regress_app.note', 'RUN', 1) r
$$;
SELECT is(pg_temp.run('{"answer": "delete"}'), 'finished', 'delete leaves no trace');
SELECT is(pg_temp.run('{"answer": "retry", "delay": "1 h"}'), 'finished WAITING 2', 'the answer retry lets the task wait');
SELECT is(pg_temp.run('{"answer": "repeat", "delay": "1 h"}'), 'finished WAITING 2', 'the answer repeat lets the task wait');
SELECT is(pg_temp.run('{"answer": "error"}'), 'finished ERROR 2', 'the answer error sends the task to ERROR');
SELECT is(pg_temp.run('{"answer": "accepted"}'), 'finished PROCESSING 1', 'the answer accepted leaves the task in PROCESSING');
SELECT is(pg_temp.run('{"answer": "nonsense"}'), 'failed WAITING 2 unrecognized result: "nonsense" (SQLSTATE 22023)', 'an answer that does not exist is a failure');
TRUNCATE regress_app.note;
SELECT is(pg_temp.run('{"n": 9, "fails": true}'), 'failed WAITING 2 no luck (SQLSTATE ZZ001)', 'a failed handler lets the task wait');
SELECT is((SELECT count(*) FROM regress_app.note), 0::bigint, 'a failure undoes what the handler did');
SELECT is((SELECT jsonb_build_array(error, next_event_time - state_time, tries) FROM twtasks.task WHERE data ? 'fails'),
	'["no luck (SQLSTATE ZZ001)", "00:00:05", 1]'::jsonb, 'a failed task is tried again after five seconds');
SELECT twtasks.reset_tasks() \g /dev/null
SELECT twtasks.add_task('FAILS', '{"fails": true}') \g /dev/null
DO $$ BEGIN FOR n IN 1 .. 18 LOOP PERFORM twtasks.run_inline('regress_app.note', 'FAILS'); PERFORM twtasks.advance_clock('2 h'); END LOOP; END $$;
SELECT is((SELECT tries || r.status::text FROM twtasks.run_inline('regress_app.note', 'FAILS') r), '19WAITING', 'the failed task still waits after its 19th try');
SELECT twtasks.advance_clock('2 h') \g /dev/null
SELECT is((SELECT tries || r.status::text FROM twtasks.run_inline('regress_app.note', 'FAILS') r), '20ERROR', 'the task is given up after its 20th try');
SELECT twtasks.configure_type('STRICT', retry => '{"delays": ["1 min"]}') \g /dev/null
SELECT twtasks.add_task('STRICT', '{"fails": true}') \g /dev/null
SELECT twtasks.run_inline('regress_app.note', 'STRICT') \g /dev/null
SELECT is((SELECT status || ' ' || next_event_time - state_time FROM twtasks.task WHERE type = 'STRICT'), 'WAITING 00:01:00', 'the policy of the type decides when to retry');
SELECT twtasks.advance_clock('1 min') \g /dev/null
SELECT is((SELECT r.status::text FROM twtasks.run_inline('regress_app.note', 'STRICT') r), 'ERROR', 'the policy of the type decides how often to retry');
CREATE ROLE regress_handler;
GRANT USAGE ON SCHEMA regress_app, twtasks TO regress_handler;
GRANT INSERT ON regress_app.note TO regress_handler;
ALTER FUNCTION regress_app.note OWNER TO regress_handler;
SELECT twtasks.add_task('ROLE', '{"n": 1}') \g /dev/null
SELECT is((SELECT result FROM twtasks.run_inline('regress_app.note', 'ROLE', role => 'regress_handler')), 'finished', 'run_inline() takes a role');
SELECT is((SELECT by FROM regress_app.note), 'regress_handler', 'the handler runs as that role');
SELECT twtasks.add_task('NONE') \g /dev/null
SELECT twtasks.configure_limit('LIM', 1, 'cluster'), twtasks.add_task('LIM'), twtasks.add_task('LIM') \g /dev/null
SELECT is((SELECT string_agg(r.result, ' ') FROM twtasks.run_inline('regress_app.note', 'LIM') r), 'finished finished', 'tasks under a limit of the cluster run one after the other');
SELECT twtasks.configure_limit('LIM', 0, 'cluster'), twtasks.add_task('LIM') \g /dev/null
SELECT throws_like($$SELECT * FROM twtasks.run_inline('regress_app.note', 'LIM')$$, 'limit "LIM" does not let task "%" run now', 'a limit that lets none run is an error');
SELECT twtasks.drop_limit('LIM') \g /dev/null
SELECT throws_ok($$SELECT * FROM twtasks.run_inline('regress_app.none', 'NONE')$$, '42883', NULL, 'a function that does not exist is an error');

-- The clock.
SELECT twtasks.reset_tasks() \g /dev/null
CREATE FUNCTION pg_temp.ahead() RETURNS interval LANGUAGE sql AS $$ SELECT date_trunc('minute', twtasks.clock() - clock_timestamp() + interval '1 s') $$;
SELECT is(pg_temp.ahead(), interval '0', 'the clock shows the time at first');
SELECT (twtasks.add_task('SOON', task_id => pg_temp.id(1), run_after => clock_timestamp() + interval '30 min')).version,
	(twtasks.add_task('LATER', task_id => pg_temp.id(2), run_after => clock_timestamp() + interval '3 h')).version,
	(twtasks.add_task('EXPIRES', task_id => pg_temp.id(3), expires => clock_timestamp() + interval '30 min')).version,
	(twtasks.add_task('STUCK', task_id => pg_temp.id(4))).version \g /dev/null
SELECT pg_temp.grab(pg_temp.id(4), timeout_ms => 1800000) \g /dev/null
SELECT ok(twtasks.advance_clock('1 h') > clock_timestamp() + interval '59 min', 'the clock can be advanced');
SELECT is(pg_temp.ahead(), interval '1 h', 'the clock shows the advance');
SELECT is(pg_temp.state(pg_temp.id(1)), 'SUBMITTED 1', 'a task that is due by then may run');
SELECT is(pg_temp.state(pg_temp.id(2)), 'WAITING 0', 'a task that is not due waits');
SELECT is(pg_temp.state(pg_temp.id(3)), 'FAILED 1', 'an expired task is FAILED');
SELECT is(pg_temp.state(pg_temp.id(4)), 'ERROR 2', 'a task past its deadline follows its stuck rule');
SELECT is((SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL AND incarnation = pg_temp.node()), 1::bigint, 'the node of that task is still alive');
SELECT is((SELECT array_agg(warning ORDER BY warning) FROM twtasks.warnings), '{clock shifted,testing,testing}', 'the shifted clock is a warning');
SELECT is((SELECT date_trunc('hour', state_time - clock_timestamp() + interval '1 min') FROM twtasks.task WHERE id = pg_temp.id(4)), interval '1 h', 'changes have the time of the clock');
SELECT (twtasks.add_task('PAST', run_after => clock_timestamp() + interval '30 min')).task_id AS task \gset
SELECT is(pg_temp.state(:'task'), 'SUBMITTED 0',
	'a task for a time that the clock has passed may run');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 10)), 2::bigint, 'a sweep goes by the clock');
SELECT (twtasks.add_task('OVER', task_id => pg_temp.id(5), expires => twtasks.clock() + interval '1 h')).version \g /dev/null
SELECT ok(twtasks.advance_clock('1 day') IS NOT NULL, 'the clock can be advanced again');
SELECT is(pg_temp.ahead(), interval '25 h', 'the advances add up to a day and an hour');
SELECT is(pg_temp.state(pg_temp.id(2)), 'SUBMITTED 1', 'every task is due now');
SELECT twtasks.add_task('PAYS', task_id => pg_temp.id(6)) \g /dev/null
UPDATE twtasks.task SET expires = clock_timestamp() + interval '1 h' WHERE id = pg_temp.id(6);
SELECT is(pg_temp.grab(pg_temp.id(6)), NULL, 'a grab goes by the clock');
SELECT twtasks_internal.clean_older('12 h') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.clean_older('12 h') c WHERE c IS NULL), 1::bigint, 'cleaning goes by the clock');
SELECT ok(twtasks.set_clock('2100-01-01 00:00:00+00') = twtasks.clock() OR twtasks.clock() < '2100-01-01 00:00:10+00', 'the clock can be set');
SELECT ok(twtasks.clock() BETWEEN '2100-01-01 00:00:00+00' AND '2100-01-01 00:01:00+00', 'the clock can be set to any time');
SELECT throws_ok($$SELECT twtasks.set_clock('infinity')$$, '22023', NULL, 'the clock cannot be set to infinity');
SELECT throws_ok($$SELECT twtasks.advance_clock(NULL)$$, '22004', NULL, 'the clock cannot be advanced by NULL');
SAVEPOINT a;
SELECT twtasks.advance_clock('1 h') \g /dev/null
ROLLBACK TO a;
SELECT ok(twtasks.clock() < '2100-01-01 00:01:00+00', 'an advance that is rolled back does not count');
SELECT ok(twtasks.set_clock(NULL) - clock_timestamp() < interval '1 s', 'the clock can be set right again');
SELECT is((SELECT count(*) FROM twtasks.test_clock), 0::bigint, 'a clock that is right leaves no row');
SET LOCAL twtasks.testing = off;
SELECT is(twtasks_internal.clock_ahead(), 0::bigint, 'the clock is right while testing is off');
SET LOCAL twtasks.testing = on;

SELECT twtasks.schedule('hourly', '0 * * * *', 'HOURLY') \g /dev/null
SELECT twtasks.advance_clock('1 h') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.tasks WHERE type = 'HOURLY'), 1::bigint, 'schedules go by the clock');
SELECT ok((SELECT next_run > clock_timestamp() + interval '1 h' FROM twtasks.schedules WHERE name = 'hourly'), 'the schedule waits for its next time');
SELECT twtasks.set_clock(NULL) \g /dev/null

-- Waiting.
SELECT is(twtasks.wait_for_task(pg_temp.task_in('DONE')), 'DONE', 'a task that is DONE need not be waited for');
SELECT is(twtasks.wait_for_task(pg_temp.task_in('HELD'), '{ERROR,HELD}'), 'HELD', 'a task in another wanted status need not be waited for');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L, timeout => ''10 ms'')', pg_temp.task_in('WAITING')), '55000', NULL, 'a wait ends after its timeout');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L, timeout => ''1 h'')', pg_temp.task_in('CANCELLED')), '55000', NULL, 'a wait in vain ends at once');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L)', pg_temp.id(99)), 'P0002', NULL, 'a wait for a missing task is an error');
SELECT throws_ok('SELECT twtasks.wait_until_idle(timeout => ''10 ms'')', '55000', 'tasks were still to run', 'wait_until_idle() fails while tasks could run');
SELECT lives_ok('SELECT twtasks.wait_until_idle(''TEST|*'')', 'wait_until_idle() looks only at the wanted types');

-- Anew.
SELECT ok(twtasks.reset_tasks() > 5, 'reset_tasks() removes all tasks');
SELECT is((SELECT count(*) FROM twtasks.tasks) + (SELECT count(*) FROM twtasks.unique_key) + (SELECT count(*) FROM twtasks.audit), 0::bigint, 'reset_tasks() removes keys and audit too');
SELECT twtasks.advance_clock('1 h') \g /dev/null
SELECT twtasks.reset_tasks() \g /dev/null
SELECT is(twtasks_internal.clock_ahead(), 0::bigint, 'reset_tasks() sets the clock right');
SELECT * FROM finish();
ROLLBACK;
