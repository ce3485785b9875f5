--
-- Changes by hand: what they keep of a task, what is written down, and the
-- form that changes many by a filter.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(97);
SET LOCAL application_name = 'psql at night';

-- Held and released: the time at which it was to run is kept.
SELECT task_id AS task FROM twtasks.add_task('A', run_after => '2100-01-01 00:00:00+00') \gset
SELECT is(pg_temp.change('hold', :'task', 0), 'changed', 'a waiting task is held');
SELECT is((SELECT jsonb_build_array(status, next_event_time, planned) FROM twtasks.tasks WHERE id = :'task'),
	jsonb_build_array('HELD', 'infinity'::timestamptz, '2100-01-01 00:00:00+00'::timestamptz), 'a held task never runs, but keeps its time');
SELECT is(pg_temp.change('release', :'task', 1), 'changed', 'a held task is released');
SELECT is((SELECT jsonb_build_array(status, next_event_time, planned) FROM twtasks.tasks WHERE id = :'task'),
	jsonb_build_array('WAITING', '2100-01-01 00:00:00+00'::timestamptz, NULL), 'a released task waits for its time again');
SELECT is(pg_temp.change('hold', :'task', 2), 'changed', 'a released task is held once more');
SELECT is((SELECT r.result FROM twtasks.release_task(:'task', 3, '2099-01-01 00:00:00+00') r), 'changed', 'a held task may be released for another time');
SELECT is((SELECT next_event_time FROM twtasks.tasks WHERE id = :'task'), '2099-01-01 00:00:00+00'::timestamptz, 'the other time counts after the release');

-- Held in ERROR: to release it is not to decide that it may run.
SELECT pg_temp.task_in('ERROR') AS task \gset
SELECT is(pg_temp.change('hold', :'task', 2), 'changed', 'a task in ERROR is held');
SELECT is(pg_temp.change('release', :'task', 3), 'changed', 'a task held in ERROR is released');
SELECT is(pg_temp.state(:'task'), 'ERROR 4', 'a task released from ERROR is in ERROR again');
SELECT is((SELECT count(*) FROM twtasks.error_tasks WHERE id = :'task'), 1::bigint, 'a task released to ERROR is in the view error_tasks');
SELECT is(pg_temp.change('hold', :'task', 4), 'changed', 'a task in ERROR is held once more');
SELECT is((SELECT (r.result, r.status)::text FROM twtasks.release_task(:'task', 5, clock_timestamp()) r), '(changed,WAITING)', 'a task held in ERROR and released for a time runs');

-- A task that somebody lets run no longer expires, unless it has time left.
-- Returns 'status, whether it expires' after a change of a task.
CREATE FUNCTION pg_temp.changed_late(action text, status twtasks.task_status, after interval, run_after interval DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	made CONSTANT uuid := pg_temp.task_in(status);
	moment CONSTANT timestamptz := clock_timestamp();
	said text;
BEGIN
	UPDATE twtasks.task SET expires = moment + after WHERE id = made;
	EXECUTE format('SELECT r.result FROM twtasks.%I_task($1, $2%s) r', action, CASE WHEN run_after IS NOT NULL THEN ', $3' END)
	INTO said USING made, pg_temp.version_of(made), moment + run_after;
	RETURN (SELECT concat_ws(' ', said, t.status, CASE WHEN t.expires IS NULL THEN 'never' ELSE 'expires' END) FROM twtasks.task t WHERE t.id = made);
END $$;
SELECT is(pg_temp.changed_late(x.action, x.status::twtasks.task_status, x.after::interval, x.run_after::interval), x.becomes, x.what)
FROM (VALUES ('resume', 'ERROR', '-1 s', NULL, 'changed WAITING never', 'a task in ERROR that is resumed too late'),
	('resume', 'ERROR', '1 h', NULL, 'changed WAITING expires', 'a task in ERROR that is resumed in time'),
	('resume', 'WAITING', '-1 s', NULL, 'changed SUBMITTED never', 'a waiting task that is resumed too late'),
	('reschedule', 'WAITING', '1 h', '2 h', 'changed WAITING never', 'a task that is put off beyond its expiry'),
	('reschedule', 'WAITING', '2 h', '1 h', 'changed WAITING expires', 'a task that is put off within its expiry'),
	('release', 'HELD', '-1 s', NULL, 'changed WAITING expires', 'a held task that is released without a time'),
	('release', 'HELD', '-1 s', '0 s', 'changed WAITING never', 'a held task that is released for a time'),
	('release', 'HELD', '1 h', '2 h', 'changed WAITING never', 'a held task that is released for a time beyond its expiry'),
	('release', 'HELD', '1 h', NULL, 'changed WAITING expires', 'a held task that is released in time'),
	('hold', 'WAITING', '-1 s', NULL, 'changed HELD expires', 'a task that is held too late'))
	AS x(action, status, after, run_after, becomes, what);
SELECT is(twtasks_internal.expire_tasks(), 1::bigint, 'only the task whose expiry stays is given up');
SELECT is((SELECT jsonb_build_array(before ? 'expires', after ? 'expires') FROM twtasks.audit WHERE action = 'resume' ORDER BY id LIMIT 1), '[true, false]'::jsonb, 'the audit shows the removed expiry');
TRUNCATE twtasks.task, twtasks.unique_key, twtasks.audit;

-- Another priority: nothing but that, and the version.
SELECT (twtasks.add_task('SEND', expires => clock_timestamp() + interval '1 hour')).task_id AS task \gset
SELECT jsonb_build_array(next_event_time, state_time, queued, expires, tries) AS was FROM twtasks.task WHERE id = :'task' \gset
SELECT is((SELECT (r.result, r.version, r.status)::text FROM twtasks.prioritize_task(:'task', 0, 2, 'the customer waits') r), '(changed,1,SUBMITTED)', 'a task in the queue gets another priority');
SELECT is((SELECT jsonb_build_array(next_event_time, state_time, queued, expires, tries) FROM twtasks.task WHERE id = :'task'), :'was'::jsonb, 'its times and its place by age stay');
SELECT is((SELECT jsonb_build_array(action, reason, before, after) FROM twtasks.audit WHERE task_id = :'task'),
	'["prioritize", "the customer waits", {"version": 0, "priority": 5}, {"version": 1, "priority": 2}]'::jsonb, 'the audit has both priorities');
SELECT is((SELECT event || ' ' || detail FROM twtasks.life(:'task') WHERE version = 1), 'prioritize the customer waits', 'the life of the task has the change');
SELECT is(pg_temp.grab(:'task', 0), NULL, 'a trigger with the old priority does not start it');
SELECT is((SELECT (r.result, r.version, r.status)::text FROM twtasks.prioritize_task(:'task', 1, 2, 'again') r), '(unchanged,1,SUBMITTED)', 'the priority that it has is no change');
SELECT is((SELECT count(*) FROM twtasks.audit WHERE task_id = :'task' AND reason = 'again'), 0::bigint, '... and the audit has none');
SELECT is((SELECT string_agg(result, ' ') FROM twtasks.change_tasks('prioritize', 'SEND', 'again', priority => 2)), 'unchanged', '... nor is it for many');
SELECT is(pg_temp.change('prioritize', :'task', 0), 'wrong_version', 'a change of a task that moved on is refused');
SELECT is(pg_temp.grab(:'task', 1), 2::bigint, 'the new trigger starts it');
SELECT is(pg_temp.change('prioritize', :'task', 2), 'wrong_status', 'a running task keeps its priority');
SELECT pg_temp.finish(:'task', 'retry', delay_ms => 60000) \g /dev/null
SELECT is((SELECT jsonb_build_array(r.status, t.priority, t.next_event_time > clock_timestamp()) FROM twtasks.prioritize_task(:'task', 3, 9) r, twtasks.task t WHERE t.id = :'task'),
	'["WAITING", 2, true]'::jsonb, 'a task that waits for its retry gets one, and keeps its time');
SELECT is((SELECT string_agg(result, ' ') FROM twtasks.change_tasks('prioritize', 'SEND', 'first', priority => 0)), 'changed', 'many get one by a filter');
SELECT is((SELECT priority FROM twtasks.task WHERE id = :'task'), 0::smallint, 'the priority of the filter counts');
SELECT throws_ok(format('SELECT twtasks.prioritize_task(%L, priority => 10)', :'task'), '22023', 'priority must be between 0 and 9, not 10', 'a priority out of range is refused');
SELECT throws_ok($$SELECT twtasks.change_tasks('prioritize', 'SEND', 'test')$$, '22004', 'priority must not be null', 'no priority is refused');
TRUNCATE twtasks.task, twtasks.unique_key, twtasks.audit;

-- Back from the history.
SELECT (twtasks.add_task('SEND', '{"to": 7}', 'sub', 'k-1', priority => 2, expires => clock_timestamp() + interval '1 day',
	context => '{"c": 1}', payload => '\x00ff')).task_id AS task \gset
SELECT pg_temp.grab(:'task') \g /dev/null
SELECT pg_temp.finish(:'task', 'error', message => 'rejected') \g /dev/null
SELECT pg_temp.change('fail', :'task', 2) \g /dev/null
SELECT is((SELECT (r.result, r.status)::text FROM twtasks.reopen_task(:'task', 3, reason => 'by mistake') r), '(changed,WAITING)', 'a FAILED task is reopened');
SELECT is((SELECT jsonb_build_array(version, status, type, sub_type, key, priority, tries, size > 0, queued, data, payload, context, error, expires)
		   FROM twtasks.task WHERE id = :'task'),
	jsonb_build_array(4, 'WAITING', 'SEND', 'sub', 'k-1', 2, 0, true, false, '{"to": 7}'::jsonb, '\x00ff', '{"c": 1}'::jsonb, 'rejected', NULL),
	'a reopened task has all that it carried, new tries and no expiry');
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE id = :'task'), 0::bigint, 'a reopened task is no longer in the history');
SELECT is((SELECT (task_id = :'task', result)::text FROM twtasks.add_task('SEND', key => 'k-1')), '(t,already_exists)', 'a reopened task keeps its key');
SELECT is(pg_temp.change('reopen', :'task', 3), 'wrong_version', 'a task cannot be reopened twice with one version');
SELECT is(pg_temp.change('reopen', :'task', 4), 'wrong_status', 'a live task cannot be reopened');
UPDATE twtasks.task SET next_event_time = created WHERE id = :'task';
SELECT twtasks_internal.promote_tasks() \g /dev/null
SELECT is(pg_temp.grab(:'task'), 6::bigint, 'a reopened task is promoted and grabbed');
SELECT is(pg_temp.finish(:'task', 'done', 1), NULL, 'a version of before the reopening cannot finish the task');
SELECT is(pg_temp.finish(:'task', 'done'), 'DONE', 'the new grab can finish the task');
SELECT is(pg_temp.change('reopen', :'task', 7), 'wrong_status', 'a task that is DONE cannot be reopened');
SELECT (twtasks.add_task('SEND', key => 'k-2')).task_id AS task \gset
SELECT pg_temp.change('cancel', :'task', 0) \g /dev/null
DELETE FROM twtasks.unique_key WHERE key = 'k-2';
SELECT (twtasks.add_task('SEND', key => 'k-2')).result \g /dev/null
SELECT throws_ok(format('SELECT twtasks.reopen_task(%L, 1)', :'task'), '23505', NULL, 'a task whose key another task took cannot be reopened');
DELETE FROM twtasks.unique_key WHERE key = 'k-2';
SELECT is(pg_temp.change('reopen', :'task', 1), 'changed', 'a task whose key is free can be reopened');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = :'task' AND key = 'k-2'), 1::bigint, 'a reopened task claims its key again');

-- The audit.
TRUNCATE twtasks.audit;
SELECT pg_temp.task_in('ERROR') AS task \gset
SELECT (twtasks.resume_task(:'task', 2, 'the bank is back')).result \g /dev/null
SELECT is((SELECT jsonb_build_array(actor, role, application, action, reason, from_version, to_version, from_status, to_status) FROM twtasks.audit),
	jsonb_build_array(session_user, session_user, 'psql at night', 'resume', 'the bank is back', 2, 3, 'ERROR', 'WAITING'), 'the audit shows the actor, the application and the reason');
SELECT is((SELECT before FROM twtasks.audit), jsonb_build_object('status', 'ERROR', 'version', 2, 'tries', 1, 'next_event_time', 'infinity'), 'the audit shows what was there before');
SELECT is((SELECT after - 'next_event_time' FROM twtasks.audit), '{"status": "WAITING", "version": 3, "tries": 0}'::jsonb, 'the audit shows what was there after');
SELECT ok((SELECT abs(extract(epoch FROM (after ->> 'next_event_time')::timestamptz - at)) < 1 FROM twtasks.audit), 'the audit shows when the task runs next');
CREATE ROLE regress_operator IN ROLE twtasks_operator;
SET LOCAL ROLE regress_operator;
SELECT r.result FROM twtasks.cancel_task(:'task', 3) r \g /dev/null
RESET ROLE;
SELECT is((SELECT jsonb_build_array(actor, role, reason, before ? 'incarnation', after) FROM twtasks.audit ORDER BY id DESC LIMIT 1),
	jsonb_build_array(session_user, 'regress_operator', NULL, true, '{"status": "CANCELLED", "version": 4}'::jsonb), 'the audit shows the role that was set');
SELECT is((SELECT jsonb_agg(jsonb_build_array(event, version, status, reason) ORDER BY at) FROM twtasks.task_history WHERE task_id = :'task'),
	'[["add", 0, null, null], ["resume", 3, "WAITING", "the bank is back"], ["cancel", 4, "CANCELLED", null], ["now", 4, "CANCELLED", "test"]]'::jsonb,
	'the history of a task is in one view');
SELECT is(pg_temp.change('fail', :'task', 1) || (SELECT count(*) FROM twtasks.audit), 'wrong_version2', 'a refused change leaves no row in the audit');

SELECT pg_temp.task_in('WAITING') AS task \gset
SELECT twtasks.cancel_task(:'task', reason => repeat('m', 9000)) \g /dev/null
SELECT is((SELECT jsonb_build_array(length(f.error), length(a.reason)) FROM twtasks.finished_task f JOIN twtasks.audit a ON a.task_id = f.id WHERE f.id = :'task'),
	'[8192, 9000]'::jsonb, 'the task keeps a long reason cut, and the audit keeps it whole');

-- By filter.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key, twtasks.audit;
CREATE FUNCTION pg_temp.in_error(n integer, type text, error text, minutes integer, sub_type text DEFAULT NULL, bucket text DEFAULT 'default') RETURNS void
LANGUAGE sql AS $$
	SELECT twtasks.add_task(type, task_id => pg_temp.id(n), sub_type => in_error.sub_type, bucket => in_error.bucket);
	SELECT pg_temp.grab(pg_temp.id(n));
	SELECT pg_temp.finish(pg_temp.id(n), 'error', message => in_error.error);
	UPDATE twtasks.task SET state_time = '2024-06-01 12:00+00'::timestamptz - minutes * interval '1 minute' WHERE id = pg_temp.id(n);
$$;
SELECT pg_temp.in_error(1, 'PAYOUT', 'Timeout of the bank', 10), pg_temp.in_error(2, 'PAYOUT', 'no such account', 40),
	pg_temp.in_error(3, 'PAYOUT', 'timeout', 30), pg_temp.in_error(4, 'PAYOUT|X', 'timeout', 20, 'sub'), pg_temp.in_error(5, 'PAY', '50% timeout_', 50, 'sub', 'b') \g /dev/null
SELECT twtasks.add_task('PAYOUT', task_id => pg_temp.id(6), run_after => clock_timestamp() + interval '1 hour'), twtasks.add_task('PAYOUT', task_id => pg_temp.id(7)),
	pg_temp.task_in('FAILED', pg_temp.id(8)) \g /dev/null
-- Numbers of the tasks that a call would change, in order.
CREATE FUNCTION pg_temp.would(arguments text, action text DEFAULT 'resume') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	numbers text;
BEGIN
	EXECUTE format('SELECT string_agg(right(id::text, 1), %L ORDER BY n) FROM (SELECT *, row_number() OVER () AS n FROM twtasks.change_tasks(%L, %s, dry_run => true)) x',
		' ', action, arguments) INTO numbers;
	RETURN numbers;
END $$;
SELECT is(pg_temp.would($$'PAYOUT'$$), '2 3 1', 'tasks of a type come with the oldest first');
SELECT is(pg_temp.would($$'PAYOUT', newest_first => true$$), '1 3 2', 'newest_first turns the order');
SELECT is(pg_temp.would($$'PAYOUT', max_tasks => 2$$), '2 3', 'max_tasks limits the tasks');
SELECT is(pg_temp.would($$'PAYOUT', newest_first => true, max_tasks => 1$$), '1', 'max_tasks limits the newest tasks too');
SELECT is(pg_temp.would($$'PAYOUT*'$$), '2 3 4 1', 'a pattern finds all types that begin so');
SELECT is(pg_temp.would($$'*'$$), '5 2 3 4 1', 'the pattern * finds all tasks');
SELECT is(pg_temp.would($$'NONE'$$), NULL, 'an unknown type finds no task');
SELECT is(pg_temp.would($$'*', sub_type => 'sub'$$), '5 4', 'sub_type selects tasks');
SELECT is(pg_temp.would($$'PAYOUT*', sub_type => 'sub'$$), '4', 'type and sub_type select together');
SELECT is(pg_temp.would($$'*', bucket => 'b'$$), '5', 'bucket selects tasks');
SELECT is(pg_temp.would($$'*', error => 'TIMEOUT'$$), '5 3 4 1', 'error selects tasks in upper or lower case');
SELECT is(pg_temp.would($$'*', error => '%'$$), '5', 'no character of error has a special meaning');
SELECT is(pg_temp.would($$'*', since => '2024-06-01 11:20+00', until => '2024-06-01 11:40+00'$$), '2 3', 'since and until select a span of time');
SELECT is(pg_temp.would($$'*', statuses => '{WAITING}'$$), '6', 'statuses selects tasks');
SELECT is(pg_temp.would($$'PAY', statuses => '{WAITING,ERROR}'$$), '5', 'type and statuses select together');
SELECT is(pg_temp.would($$'*', statuses => '{WAITING,ERROR}'$$), '5 2 3 4 1 6', 'several statuses select tasks');
SELECT is(pg_temp.would($$'PAYOUT'$$, 'cancel'), '6 7', 'cancel selects tasks that have not started');
SELECT is(pg_temp.would($$'PAYOUT'$$, 'hold'), '6 7', 'hold selects tasks that have not started');
SELECT is(pg_temp.would($$'*', since => '2024-01-01'$$, 'reopen'), '8', 'reopen selects only FAILED tasks of the history');
SELECT is((SELECT count(*) FROM twtasks.audit WHERE action <> 'fail') + (SELECT count(*) FROM twtasks.tasks WHERE version > 3), 0::bigint, 'a dry run changes nothing');

SELECT results_eq($$SELECT right(id::text, 1), type, from_status, result, version, status FROM twtasks.change_tasks('resume', 'PAYOUT*', 'back again', error => 'timeout', max_tasks => 2)$$,
	$$VALUES ('3', 'PAYOUT', 'ERROR'::twtasks.task_status, 'changed', 3::bigint, 'WAITING'::twtasks.task_status), ('4', 'PAYOUT|X', 'ERROR', 'changed', 3, 'WAITING')$$,
	'the result shows what became of each task');
SELECT is((SELECT count(*) FROM twtasks.change_tasks('resume', 'PAYOUT*', 'back again', error => 'timeout', max_tasks => 2)), 1::bigint, 'the next call takes the tasks that are left');
SELECT is((SELECT count(*) FROM twtasks.change_tasks('resume', 'PAYOUT*', 'back again', error => 'timeout', max_tasks => 2)), 0::bigint, 'a call without tasks left returns nothing');
SELECT is((SELECT jsonb_object_agg(action, n) FROM (SELECT action, count(*) AS n FROM twtasks.audit WHERE reason = 'back again' GROUP BY 1) x), '{"resume": 3}'::jsonb, 'the audit has a row for each task');
SELECT is((SELECT string_agg(DISTINCT result, ' ') FROM twtasks.change_tasks('reopen', '*', 'once more', since => '2024-01-01')), 'changed', 'tasks of the history are reopened in a batch');

-- A mistake in the call changes nothing.
SELECT throws_ok(format('SELECT FROM twtasks.change_tasks(%s)', x.arguments), x.state, NULL, 'refused: ' || x.arguments)
FROM (VALUES ($$'resume', NULL, 'x'$$, '22004'), ($$'resume', '*'$$, '22004'), ($$'reopen', '*', 'x'$$, '22004'), ($$'reschedule', '*', 'x'$$, '22004'),
	($$'explode', '*', 'x'$$, '22023'), ($$NULL, '*', 'x'$$, '22023'), ($$'resume', '*', 'x', statuses => '{DONE}'$$, '22023'),
	($$'resume', '*', 'x', max_tasks => 0$$, '22023'), ($$'resume', '*', 'x', max_tasks => 10001$$, '22023'), ($$'release', '*', 'x', run_after => 'infinity'$$, '22023'))
	AS x(arguments, state);
SELECT * FROM finish();
ROLLBACK;
