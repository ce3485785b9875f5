--
-- Functions for tests run tasks in the test's own transaction, shift the clock,
-- wait, and begin anew.  Nobody can call them where they are not allowed.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(74);
SELECT twtasks.is_enabled() \g /dev/null

-- Not where it is off, whoever asks.
SELECT throws_ok(x.call, '55000', 'functions for tests are switched off', x.call || ' is refused')
FROM (VALUES ('SELECT * FROM twtasks.run_inline(''pg_temp.note'')'), ('SELECT twtasks.set_clock(now())'), ('SELECT twtasks.set_clock(NULL)'),
	('SELECT twtasks.advance_clock(''1 h'')'), ('SELECT twtasks.reset_tasks()')) x(call);
INSERT INTO twtasks.test_clock VALUES (3600000000, clock_timestamp(), 'somebody');
SELECT ok(twtasks.clock() BETWEEN clock_timestamp() - interval '1 s' AND clock_timestamp(), 'a clock that was shifted counts only where it is on');
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings WHERE warning <> 'no environment'), '{clock shifted}', 'but there is a warning');
DELETE FROM twtasks.test_clock;
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings), '{no environment}', 'without it there is none, but that for what is no test');
SET LOCAL ROLE twtasks_tester;
SELECT throws_ok('SET LOCAL twtasks.testing = on', '42501', NULL, 'an ordinary user cannot switch it on');
RESET ROLE;
SET LOCAL twtasks.testing = on;
SELECT is((SELECT array_agg(warning) FROM twtasks.warnings), '{testing}', 'that it is on is a warning');
SELECT format('ALTER DATABASE %I SET twtasks.testing = on', current_database()) \gexec
SELECT is((SELECT array_agg(detail) FROM twtasks.warnings), '{twtasks.testing is on in this session,twtasks.testing is set for this database}', 'so is that it is set');

-- Tasks run here and now.
CREATE SCHEMA regress_app;
CREATE TABLE regress_app.note (n integer, by text);
CREATE FUNCTION regress_app.note(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql
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
	'tasks of a type run');
SELECT is((SELECT array_agg(n) FROM regress_app.note), '{2,1,7}', 'the urgent first');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note', 'A*')), 2::bigint, 'by a pattern; what is added meanwhile too');
SELECT is((SELECT array_agg(n ORDER BY n) FROM regress_app.note), '{1,2,3,4,7}', 'each once');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note', max_tasks => 0)), 0::bigint, 'so many at most');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note')), 1::bigint, 'all the rest');
SELECT is((SELECT count(*) FROM twtasks.run_inline('regress_app.note')), 0::bigint, 'not what waits for its time');
SELECT is((SELECT count(*) FROM twtasks.node WHERE name = 'run_inline'), 0::bigint, 'nothing is left of the node that did it');

-- Answers of handlers.
CREATE FUNCTION pg_temp.run(data text) RETURNS text LANGUAGE sql
AS $$
	SELECT twtasks.add_task('RUN', data::jsonb);
	SELECT concat_ws(' ', r.result, r.status, r.version, r.message) FROM twtasks.run_inline('regress_app.note', 'RUN', 1) r
$$;
SELECT is(pg_temp.run('{"answer": "delete"}'), 'finished', 'delete leaves no trace');
SELECT is(pg_temp.run('{"answer": "retry", "delay": "1 h"}'), 'finished WAITING 2', 'retry');
SELECT is(pg_temp.run('{"answer": "repeat", "delay": "1 h"}'), 'finished WAITING 2', 'repeat');
SELECT is(pg_temp.run('{"answer": "error"}'), 'finished ERROR 2', 'error');
SELECT is(pg_temp.run('{"answer": "accepted"}'), 'finished PROCESSING 1', 'accepted: somebody finishes it later');
SELECT is(pg_temp.run('{"answer": "nonsense"}'), 'failed WAITING 2 unrecognized result: "nonsense" (SQLSTATE 22023)', 'an answer that does not exist is a failure');
TRUNCATE regress_app.note;
SELECT is(pg_temp.run('{"n": 9, "fails": true}'), 'failed WAITING 2 no luck (SQLSTATE ZZ001)', 'a failure');
SELECT is((SELECT count(*) FROM regress_app.note), 0::bigint, 'undoes what the handler did');
SELECT is((SELECT jsonb_build_array(error, next_event_time - state_time, tries) FROM twtasks.task WHERE data ? 'fails'),
	'["no luck (SQLSTATE ZZ001)", "00:00:05", 1]'::jsonb, 'and is tried again');
SELECT twtasks.reset_tasks() \g /dev/null
SELECT twtasks.add_task('FAILS', '{"fails": true}') \g /dev/null
DO $$ BEGIN FOR n IN 1 .. 18 LOOP PERFORM twtasks.run_inline('regress_app.note', 'FAILS'); PERFORM twtasks.advance_clock('2 h'); END LOOP; END $$;
SELECT is((SELECT tries || r.status::text FROM twtasks.run_inline('regress_app.note', 'FAILS') r), '19WAITING', 'and again');
SELECT twtasks.advance_clock('2 h') \g /dev/null
SELECT is((SELECT tries || r.status::text FROM twtasks.run_inline('regress_app.note', 'FAILS') r), '20ERROR', 'until it is given up');
SELECT twtasks.configure_type('STRICT', retry => '{"delays": ["1 min"]}') \g /dev/null
SELECT twtasks.add_task('STRICT', '{"fails": true}') \g /dev/null
SELECT twtasks.run_inline('regress_app.note', 'STRICT') \g /dev/null
SELECT is((SELECT status || ' ' || next_event_time - state_time FROM twtasks.task WHERE type = 'STRICT'), 'WAITING 00:01:00', 'as the policies of its type say');
SELECT twtasks.advance_clock('1 min') \g /dev/null
SELECT is((SELECT r.status::text FROM twtasks.run_inline('regress_app.note', 'STRICT') r), 'ERROR', 'which may be less often');
CREATE ROLE regress_handler;
GRANT USAGE ON SCHEMA regress_app, twtasks TO regress_handler;
GRANT INSERT ON regress_app.note TO regress_handler;
SELECT twtasks.add_task('ROLE', '{"n": 1}') \g /dev/null
SELECT is((SELECT result FROM twtasks.run_inline('regress_app.note', 'ROLE', role => 'regress_handler')), 'finished', 'in another role');
SELECT is((SELECT by FROM regress_app.note), 'regress_handler', 'which the handler has');
SELECT twtasks.add_task('NONE') \g /dev/null
SELECT twtasks.configure_limit('LIM', 1, 'cluster'), twtasks.add_task('LIM'), twtasks.add_task('LIM') \g /dev/null
SELECT is((SELECT string_agg(r.result, ' ') FROM twtasks.run_inline('regress_app.note', 'LIM') r), 'finished finished', 'under a limit of the cluster, one after the other');
SELECT twtasks.configure_limit('LIM', 0, 'cluster'), twtasks.add_task('LIM') \g /dev/null
SELECT throws_like($$SELECT * FROM twtasks.run_inline('regress_app.note', 'LIM')$$, 'limit "LIM" does not let task "%" run now', 'a limit that lets none run is an error');
SELECT twtasks.drop_limit('LIM') \g /dev/null
SELECT throws_ok($$SELECT * FROM twtasks.run_inline('regress_app.none', 'NONE')$$, '42883', NULL, 'a function that does not exist is an error');

-- The clock.
SELECT twtasks.reset_tasks() \g /dev/null
CREATE FUNCTION pg_temp.ahead() RETURNS interval LANGUAGE sql AS $$ SELECT date_trunc('minute', twtasks.clock() - clock_timestamp() + interval '1 s') $$;
SELECT is(pg_temp.ahead(), interval '0', 'the clock shows the time');
SELECT (twtasks.add_task('SOON', task_id => pg_temp.id(1), run_after => clock_timestamp() + interval '30 min')).version,
	(twtasks.add_task('LATER', task_id => pg_temp.id(2), run_after => clock_timestamp() + interval '3 h')).version,
	(twtasks.add_task('EXPIRES', task_id => pg_temp.id(3), expires => clock_timestamp() + interval '30 min')).version,
	(twtasks.add_task('STUCK', task_id => pg_temp.id(4))).version \g /dev/null
SELECT pg_temp.grab(pg_temp.id(4), timeout_ms => 1800000) \g /dev/null
SELECT ok(twtasks.advance_clock('1 h') > clock_timestamp() + interval '59 min', 'it is advanced');
SELECT is(pg_temp.ahead(), interval '1 h', 'and shows it');
SELECT is(pg_temp.state(pg_temp.id(1)), 'SUBMITTED 1', 'what is due by then may run');
SELECT is(pg_temp.state(pg_temp.id(2)), 'WAITING 0', 'what is not, waits');
SELECT is(pg_temp.state(pg_temp.id(3)), 'FAILED 1', 'what expired is FAILED');
SELECT is(pg_temp.state(pg_temp.id(4)), 'ERROR 2', 'what is past its deadline is stuck');
SELECT is((SELECT count(*) FROM twtasks.nodes WHERE ended IS NULL AND incarnation = pg_temp.node()), 1::bigint, 'the node that had it still lives');
SELECT is((SELECT array_agg(warning ORDER BY warning) FROM twtasks.warnings), '{clock shifted,testing,testing}', 'there is a warning');
SELECT is((SELECT date_trunc('hour', state_time - clock_timestamp() + interval '1 min') FROM twtasks.task WHERE id = pg_temp.id(1)), interval '1 h', 'changes are stamped by it');
SELECT (twtasks.add_task('PAST', run_after => clock_timestamp() + interval '30 min')).task_id AS task \gset
SELECT is(pg_temp.state(:'task'), 'SUBMITTED 0',
	'to add a task for a time that is past by it is to let it run');
SELECT is((SELECT count(*) FROM twtasks_internal.sweep_tasks('default', 10)), 2::bigint, 'sweeping goes by it');
SELECT (twtasks.add_task('OVER', task_id => pg_temp.id(5), expires => twtasks.clock() + interval '1 h')).version \g /dev/null
SELECT ok(twtasks.advance_clock('1 day') IS NOT NULL, 'advances add up');
SELECT is(pg_temp.ahead(), interval '25 h', 'to a day and an hour');
SELECT is(pg_temp.state(pg_temp.id(2)), 'SUBMITTED 1', 'everything is due now');
SELECT twtasks.add_task('PAYS', task_id => pg_temp.id(6)) \g /dev/null
UPDATE twtasks.task SET expires = clock_timestamp() + interval '1 h' WHERE id = pg_temp.id(6);
SELECT is(pg_temp.grab(pg_temp.id(6)), NULL, 'grabbing goes by it');
SELECT is((SELECT count(*) FROM twtasks_internal.clean_older('12 h') c WHERE c IS NULL), 1::bigint, 'so does cleaning');
SELECT ok(twtasks.set_clock('2100-01-01 00:00:00+00') = twtasks.clock() OR twtasks.clock() < '2100-01-01 00:00:10+00', 'it is set');
SELECT ok(twtasks.clock() BETWEEN '2100-01-01 00:00:00+00' AND '2100-01-01 00:01:00+00', 'to any time');
SELECT throws_ok($$SELECT twtasks.set_clock('infinity')$$, '22023', NULL, 'but a finite one');
SELECT throws_ok($$SELECT twtasks.advance_clock(NULL)$$, '22004', NULL, 'to advance it by nothing is a mistake');
SAVEPOINT a;
SELECT twtasks.advance_clock('1 h') \g /dev/null
ROLLBACK TO a;
SELECT ok(twtasks.clock() < '2100-01-01 00:01:00+00', 'rolled back it is where it was');
SELECT ok(twtasks.set_clock(NULL) - clock_timestamp() < interval '1 s', 'and right again');
SELECT is((SELECT count(*) FROM twtasks.test_clock), 0::bigint, 'without a trace');
SET LOCAL twtasks.testing = off;
SELECT is(twtasks_internal.clock_ahead(), 0::bigint, 'switched off it is right in any case');
SET LOCAL twtasks.testing = on;

SELECT twtasks.schedule('hourly', '0 * * * *', 'HOURLY') \g /dev/null
SELECT twtasks.advance_clock('1 h') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.tasks WHERE type = 'HOURLY'), 1::bigint, 'schedules go by it');
SELECT ok((SELECT next_run > clock_timestamp() + interval '1 h' FROM twtasks.schedules WHERE name = 'hourly'), 'and wait for the next time');
SELECT twtasks.set_clock(NULL) \g /dev/null

-- Waiting.
SELECT is(twtasks.wait_for_task(pg_temp.task_in('DONE')), 'DONE', 'what is DONE need not be waited for');
SELECT is(twtasks.wait_for_task(pg_temp.task_in('HELD'), '{ERROR,HELD}'), 'HELD', 'nor any other status');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L, timeout => ''10 ms'')', pg_temp.task_in('WAITING')), '55000', NULL, 'a wait ends');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L, timeout => ''1 h'')', pg_temp.task_in('CANCELLED')), '55000', NULL, 'at once when it is in vain');
SELECT throws_ok(format('SELECT twtasks.wait_for_task(%L)', pg_temp.id(99)), 'P0002', NULL, 'there must be a task');
SELECT throws_ok('SELECT twtasks.wait_until_idle(timeout => ''10 ms'')', '55000', 'tasks were still to run', 'not idle while tasks could run');
SELECT lives_ok('SELECT twtasks.wait_until_idle(''TEST|*'')', 'idle, of other types');

-- Anew.
SELECT ok(twtasks.reset_tasks() > 5, 'all tasks are removed');
SELECT is((SELECT count(*) FROM twtasks.tasks) + (SELECT count(*) FROM twtasks.unique_key) + (SELECT count(*) FROM twtasks.audit), 0::bigint, 'with keys and audit');
SELECT twtasks.advance_clock('1 h') \g /dev/null
SELECT twtasks.reset_tasks() \g /dev/null
SELECT is(twtasks_internal.clock_ahead(), 0::bigint, 'and the clock is right');
SELECT * FROM finish();
ROLLBACK;
