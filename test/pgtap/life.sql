--
-- life(): each kind of event of a task, live, finished or deleted, in order.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(38);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
TRUNCATE twtasks.task_attempt;

-- 'add 0 WAITING, start 1 PROCESSING': each event with its version and status.
CREATE FUNCTION pg_temp.lived(n integer) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(concat_ws(' ', l.event, coalesce(l.version::text, '-'), coalesce(l.status::text, '?')), ', ' ORDER BY l.n)
	FROM twtasks.life(pg_temp.id(n)) WITH ORDINALITY l(at, event, version, status, actor, node, detail, n) $$;
CREATE FUNCTION pg_temp.told(n integer, event text) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(concat_ws(' ', l.actor, '/', l.node, '/', l.detail), ', ') FROM twtasks.life(pg_temp.id(n)) l WHERE l.event = told.event $$;
CREATE FUNCTION pg_temp.due(n integer) RETURNS void
LANGUAGE sql
AS $$ UPDATE twtasks.task SET next_event_time = clock_timestamp() WHERE id = pg_temp.id(n) AND status = 'WAITING'; SELECT twtasks_internal.promote_tasks() $$;

-- ---- Live ----
SELECT is(pg_temp.lived(1), NULL, 'no such task');
SELECT twtasks.add_task('TEST', '{"iban": "canary"}', task_id => pg_temp.id(1), key => 'order 1', context => '{"token": "canary"}') \g /dev/null
SELECT is(pg_temp.lived(1), 'add 0 SUBMITTED', 'a new task');
SELECT is(pg_temp.told(1, 'add'), session_user || ' / / type TEST, key order 1', '... who added it, and which');
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(2), run_after => now() + interval '1 h') \g /dev/null
SELECT is(pg_temp.lived(2), 'add 0 WAITING', 'a task that waits');
SELECT pg_temp.due(2) \g /dev/null
SELECT is(pg_temp.lived(2), 'add 0 WAITING, runnable 1 SUBMITTED', '... and came into the queue');
SELECT pg_temp.grab(pg_temp.id(1)), pg_temp.grab(pg_temp.id(2)) \g /dev/null
SELECT is(pg_temp.lived(1), 'add 0 SUBMITTED, start 1 PROCESSING', 'it runs');
SELECT is(pg_temp.told(1, 'start'), '/ test / try 1', '... on a node');

-- ---- Tries that fail ----
SELECT pg_temp.finish(pg_temp.id(1), 'retry', message => 'busy', delay_ms => 3600000) \g /dev/null
SELECT is(pg_temp.lived(1), 'add 0 SUBMITTED, start 1 PROCESSING, retry 2 WAITING', 'a try that failed');
SELECT alike(pg_temp.told(1, 'retry'), '/ test / busy; next try not before %', '... its error, and the time of the next');
SELECT pg_temp.due(1) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(1), 'error', message => 'busy') \g /dev/null
SELECT is(pg_temp.lived(1), 'add 0 SUBMITTED, start 1 PROCESSING, retry 2 WAITING, runnable 3 SUBMITTED, start 4 PROCESSING, error 5 ERROR', 'the next one, to its error');
SELECT is(pg_temp.told(1, 'error'), '/ test / busy', '... also an error that is stored once');

-- ---- Changes by hand, and the end ----
SELECT twtasks.resume_task(pg_temp.id(1), 5, 'the bank is back') \g /dev/null
SELECT alike(pg_temp.lived(1), '%, error 5 ERROR, resume 6 WAITING', 'a change by hand');
SELECT is(pg_temp.told(1, 'resume'), session_user || ' / / the bank is back', '... by whom, and why');
SELECT pg_temp.due(1) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT twtasks.request_cancel(pg_temp.id(1), 8, 'too late?') \g /dev/null
SELECT alike(pg_temp.lived(1), '%, start 8 PROCESSING, request_cancel - ?', 'a request changes no version');
DELETE FROM twtasks.cancel_request;
SELECT pg_temp.finish(pg_temp.id(1), 'done', message => 'booked') \g /dev/null
SELECT is(pg_temp.lived(1), 'add 0 SUBMITTED, start 1 PROCESSING, retry 2 WAITING, runnable 3 SUBMITTED, start 4 PROCESSING, error 5 ERROR, resume 6 WAITING,'
	' start 8 PROCESSING, request_cancel - ?, done 9 DONE', 'the whole life of a task: each version once, but for the move to the queue before the last try');
SELECT is(pg_temp.told(1, 'done'), '/ test / booked', '... the message of its end');
SELECT is((SELECT array_agg(l.at ORDER BY l.n) FROM twtasks.life(pg_temp.id(1)) WITH ORDINALITY l(at, event, version, status, actor, node, detail, n)),
	(SELECT array_agg(l.at ORDER BY l.at) FROM twtasks.life(pg_temp.id(1)) l), '... in order');
SELECT is((SELECT count(*) FROM twtasks.life(pg_temp.id(1), (SELECT t.state_time FROM twtasks.tasks t WHERE t.id = pg_temp.id(1)))), 10::bigint, 'the day of its end is enough');
SELECT is((SELECT count(*) FROM twtasks.life(pg_temp.id(1), clock_timestamp() - interval '3 days') l WHERE l.event IN ('add', 'done')), 0::bigint, 'another day has no part of it');
SELECT is((SELECT count(*) FROM twtasks.life(pg_temp.id(1)) l WHERE l::text LIKE '%canary%'), 0::bigint, 'no data of the task');

-- ---- Other ends ----
SELECT pg_temp.task_in('HELD', pg_temp.id(10)), pg_temp.task_in('CANCELLED', pg_temp.id(11)), pg_temp.task_in('FAILED', pg_temp.id(12)) \g /dev/null
SELECT is(pg_temp.lived(10), 'add 0 SUBMITTED, hold 1 HELD', 'a held task');
SELECT is(pg_temp.lived(11), 'add 0 SUBMITTED, cancel 1 CANCELLED', 'a cancelled task: its end is the change by hand');
SELECT is(pg_temp.lived(12), 'add 0 SUBMITTED, start 1 PROCESSING, error 2 ERROR, fail 3 FAILED', 'a task that was given up');
SELECT twtasks.reopen_task(pg_temp.id(12), 3, clock_timestamp() + interval '1 h', 'once more') \g /dev/null
SELECT alike(pg_temp.lived(12), '%, fail 3 FAILED, reopen 4 WAITING', '... and reopened');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n), CASE n WHEN 13 THEN 'retry' WHEN 14 THEN 'fail' ELSE 'error' END::twtasks.stuck_rule) FROM generate_series(13, 15) n \g /dev/null
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id IN (pg_temp.id(13), pg_temp.id(14), pg_temp.id(15));
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.lived(13), 'add 0 SUBMITTED, start 1 PROCESSING, unknown 2 SUBMITTED', 'a lost try that is repeated');
SELECT is(pg_temp.lived(14), 'add 0 SUBMITTED, start 1 PROCESSING, unknown 2 FAILED', '... after which it failed');
SELECT pg_temp.finish(pg_temp.id(15), 'done', 1, message => 'paid') \g /dev/null
SELECT is(pg_temp.lived(15), 'add 0 SUBMITTED, start 1 PROCESSING, unknown 2 ERROR, late - ?', '... and a late result, which changes nothing');
SELECT is(pg_temp.told(15, 'late'), '/ test / done: paid', '... which it was');
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(16), expires => clock_timestamp() + interval '1 h') \g /dev/null
UPDATE twtasks.task SET expires = clock_timestamp() - interval '1 s' WHERE id = pg_temp.id(16);
SELECT twtasks_internal.expire_tasks() \g /dev/null
SELECT is(pg_temp.lived(16), 'add 0 ?, expired 1 FAILED', 'a task that expired');

-- ---- Nothing is invented ----
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) FROM generate_series(20, 23) n \g /dev/null
SELECT pg_temp.finish(pg_temp.id(20), 'repeat', delay_ms => 3600000), pg_temp.finish(pg_temp.id(21), 'release'), pg_temp.finish(pg_temp.id(22), 'accepted', delay_ms => 60000),
	pg_temp.finish(pg_temp.id(23), 'retry', message => 'x') \g /dev/null
SELECT is(pg_temp.lived(20), 'add 0 ?, now 2 WAITING', 'a repeat: the try is not kept');
SELECT is(pg_temp.lived(21), 'add 0 ?, runnable 2 SUBMITTED', 'a release');
SELECT is(pg_temp.lived(22), 'add 0 SUBMITTED, start 1 PROCESSING', 'a task that was handed on');
SELECT is(pg_temp.told(22, 'start'), '/ / try 1, which has handed it on', '... which its start says, as no node has it');
TRUNCATE twtasks.task_attempt;
DELETE FROM twtasks.audit;
SELECT is(pg_temp.lived(1), 'add 0 ?, start 8 PROCESSING, done 9 DONE', 'attempts and audit that are gone: its last start and its end');
SELECT is(pg_temp.lived(10) || '; ' || pg_temp.lived(12), 'add 0 ?, now 1 HELD; add 0 ?, now 4 WAITING', 'a status of which nothing else is kept');

-- ---- The order is the one of the versions ----
SELECT pg_temp.task_in('ERROR', pg_temp.id(30)) \g /dev/null
SELECT twtasks.resume_task(pg_temp.id(30), 2, 'the bank is back') \g /dev/null
SELECT pg_temp.due(30) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(30)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(30), 'retry', message => 'busy', delay_ms => 3600000) \g /dev/null
UPDATE twtasks.task_attempt SET runnable = runnable - interval '1 h' WHERE task_id = pg_temp.id(30);
SELECT is(pg_temp.lived(30), 'add 0 SUBMITTED, start 1 PROCESSING, error 2 ERROR, resume 3 WAITING, runnable 4 SUBMITTED, start 5 PROCESSING, retry 6 WAITING',
	'a task that could have started before it was resumed');

-- ---- Rights ----
SELECT throws_ok('SELECT * FROM twtasks.life(NULL)', '22004', NULL, 'no id');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) FROM twtasks.life('00000000-0000-0000-0000-000000000001')), 3::bigint, 'a viewer may ask');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
