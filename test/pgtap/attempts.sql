--
-- Attempts: which ends of tries have a row, what it says, what bounds the rows, and
-- that a task ends although its attempt cannot be written.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(50);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
TRUNCATE twtasks.task_attempt;

-- A task whose grab was an hour after its add, and is an hour ago.
CREATE FUNCTION pg_temp.running(n integer, rule twtasks.stuck_rule DEFAULT 'error') RETURNS uuid
LANGUAGE sql
AS $$
	SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n), rule);
	UPDATE twtasks.task SET state_time = state_time - interval '1 hour', next_event_time = next_event_time - interval '2 hours',
		created = created - interval '2 hours'
	WHERE id = pg_temp.id(n) RETURNING id;
$$;
-- 'retry 1/1 1+1 busy -> 90': each attempt with its version and try, the full hours
-- that it waited and ran, its error, and the seconds until the next try.
CREATE FUNCTION pg_temp.said(n integer) RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(format('%s %s/%s', a.result, a.version, a.try)
			|| coalesce(' ' || floor(extract(epoch FROM a.started - a.runnable) / 3600) || '+' || floor(extract(epoch FROM a.ended - a.started) / 3600), '')
			|| coalesce(' ' || a.error, '') || coalesce(' -> ' || round(extract(epoch FROM a.next - a.ended)), ''), ', ' ORDER BY a.ended, a.version)
	FROM twtasks.task_attempt a WHERE a.task_id = pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.fail(n integer, error text) RETURNS void
LANGUAGE sql
AS $$
	UPDATE twtasks.task SET next_event_time = clock_timestamp() WHERE id = pg_temp.id(n) AND status = 'WAITING';
	SELECT twtasks_internal.promote_tasks();
	SELECT pg_temp.grab(pg_temp.id(n));
	SELECT pg_temp.finish(pg_temp.id(n), 'retry', message => error, delay_ms => 3600000);
$$;

-- ---- Results of workers ----
SELECT pg_temp.running(n) FROM generate_series(1, 12) n \g /dev/null
SELECT pg_temp.finish(pg_temp.id(1), 'retry', delay_ms => 90000, message => 'busy') \g /dev/null
SELECT is(pg_temp.said(1), 'retry 1/1 1+1 busy -> 90', 'retry: an attempt has its times, its error, and when the next try is due');
SELECT is((SELECT node || ' ' || (incarnation = pg_temp.node()) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(1)), 'test true', '... and its node');
SELECT pg_temp.finish(pg_temp.id(2), 'error', message => 'broken') \g /dev/null
SELECT is(pg_temp.said(2), 'error 1/1 1+1 broken', 'error');
SELECT pg_temp.finish(pg_temp.id(3), 'done'), pg_temp.finish(pg_temp.id(4), 'delete') \g /dev/null
SELECT is(coalesce(pg_temp.said(3), pg_temp.said(4)), NULL, 'a success writes nothing');
SELECT pg_temp.finish(pg_temp.id(5), 'repeat'), pg_temp.finish(pg_temp.id(6), 'release') \g /dev/null
SELECT is(coalesce(pg_temp.said(5), pg_temp.said(6)), NULL, 'a repeat and a release are not failures');
SELECT pg_temp.finish(pg_temp.id(7), 'accepted', delay_ms => 60000) \g /dev/null
SELECT is(pg_temp.said(7), NULL, 'a task that was handed on goes on');
SELECT twtasks.finish_task(pg_temp.id(7), 1, 'error', 'no answer') \g /dev/null
SELECT is((SELECT format('%s %s/%s %s %s', result, version, try, error, coalesce(runnable::text, node, incarnation::text)) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(7)),
	'error 1/1 no answer ', '... until another one reports an error');
SELECT twtasks.request_cancel(pg_temp.id(8), 1, 'wrong file') \g /dev/null
SELECT is(pg_temp.finish(pg_temp.id(8), 'retry'), 'CANCELLED', 'a running task is cancelled');
SELECT alike(pg_temp.said(8), 'cancelled 1/1 1+1 cancelled by %: wrong file', 'cancelled while it ran');
SELECT pg_temp.task_in('CANCELLED', pg_temp.id(20)), pg_temp.change('fail', pg_temp.id(2), 2) \g /dev/null
SELECT is(pg_temp.said(20) IS NULL AND pg_temp.said(2) = 'error 1/1 1+1 broken', true, 'changes by hand of tasks that do not run are in the audit alone');
SELECT twtasks_internal.end_now(ARRAY[pg_temp.id(9)], '{FAILED}', '{no longer needed}') \g /dev/null
SELECT is(pg_temp.said(9), 'failed 1/1 1+1 no longer needed', 'failed: another extension ends a running task');

-- ---- Expired ----
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(21), expires => clock_timestamp() + interval '1 hour') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(21)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(21), 'retry', message => 'busy', delay_ms => 60000) \g /dev/null
UPDATE twtasks.task SET expires = clock_timestamp() - interval '1 s' WHERE id = pg_temp.id(21);
SELECT is(twtasks_internal.expire_tasks(), 1::bigint, 'a task expires');
SELECT is(pg_temp.said(21), 'retry 1/1 0+0 busy -> 60, expired 2/2 expired before it was started', 'expired: the try that would have been next');
SELECT is((SELECT started FROM twtasks.task_attempt WHERE task_id = pg_temp.id(21) AND result = 'expired'), NULL, '... without a start');
SELECT is((SELECT runnable - clock_timestamp() > interval '50 s' FROM twtasks.task_attempt WHERE task_id = pg_temp.id(21) AND result = 'expired'), true,
	'... and from when it could have started');

-- ---- Unknown outcomes, and late results ----
SELECT pg_temp.running(31, 'retry'), pg_temp.running(32, 'error'), pg_temp.running(33, 'fail'), pg_temp.running(34, 'retry') \g /dev/null
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id IN (SELECT pg_temp.id(n) FROM generate_series(31, 34) n);
SELECT twtasks.request_cancel(pg_temp.id(34), 1) \g /dev/null
SELECT is((SELECT (retried, errors, failed)::text FROM twtasks_internal.recover_tasks()), '(1,1,1)', 'the stuck rules apply');
SELECT is(pg_temp.said(31), 'unknown 1/1 1+1 its deadline passed without a result -> 0', 'unknown: a task runs again');
SELECT is(pg_temp.said(32), 'unknown 1/1 1+1 its deadline passed without a result', 'unknown: it is in ERROR');
SELECT is(pg_temp.said(33), 'unknown 1/1 1+1 its deadline passed without a result', 'unknown: it is FAILED');
SELECT alike(pg_temp.said(34), 'cancelled 1/1 1+1 cancelled by %', 'cancelled: somebody had asked for that');
SELECT pg_temp.finish(pg_temp.id(31), 'done', 1, message => 'paid'), pg_temp.finish(pg_temp.id(32), 'error', 1, message => 'no account'),
	pg_temp.finish(pg_temp.id(33), 'release', 1), pg_temp.finish(pg_temp.id(34), 'done', 1) FROM generate_series(1, 2) \g /dev/null
SELECT is(pg_temp.said(31), 'unknown 1/1 1+1 its deadline passed without a result -> 0, late 1/1 1+1 done: paid', 'late: once, although it was told twice');
SELECT is(pg_temp.said(32), 'unknown 1/1 1+1 its deadline passed without a result, late 1/1 1+1 error: no account', 'late: with the error');
SELECT is(pg_temp.said(33), 'unknown 1/1 1+1 its deadline passed without a result', 'late: a result that says nothing about the work is not noted');
SELECT alike(pg_temp.said(34), 'cancelled 1/1 1+1 cancelled by %, late 1/1 1+1 done', 'late: done after a cancel');
SELECT pg_temp.finish(pg_temp.id(3), 'done', 1), pg_temp.finish(pg_temp.id(1), 'retry', 1), pg_temp.finish(pg_temp.id(8), 'retry', 1), pg_temp.finish(pg_temp.id(999), 'done', 1) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task_attempt WHERE result = 'late'), 3::bigint, 'results that were taken and come again, and claims on other tasks, are not late');
SELECT pg_temp.grab(pg_temp.id(31)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(31), 'done') \g /dev/null
SELECT is((SELECT string_agg(format('%s %s %s %s', result, try, version, coalesce(error, '-')), ', ' ORDER BY version, ended) FROM twtasks.task_attempts WHERE task_id = pg_temp.id(31)),
	'unknown 1 1 its deadline passed without a result, late 1 1 done: paid, done 2 3 -', 'task_attempts adds the attempt that succeeded');
SELECT is((SELECT node FROM twtasks.task_attempts WHERE task_id = pg_temp.id(31) AND result = 'done'), 'test', '... with its node');
SELECT pg_temp.finish(pg_temp.id(11), 'accepted', delay_ms => 60000), twtasks.finish_task(pg_temp.id(11), 1, 'done') \g /dev/null
SELECT is((SELECT string_agg(result || ' ' || try, ', ') FROM twtasks.task_attempts WHERE task_id = pg_temp.id(11)), 'done 1', '... also of a task that was handed on');

-- ---- SQL handlers ----
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.handler(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE sql SECURITY DEFINER AS $$ SELECT CASE task.type WHEN 'FAILS' THEN ROW('retry', interval '10 s', 'not yet')::twtasks.task_result END $$;
SELECT twtasks.add_task('FAILS', task_id => pg_temp.id(41)), twtasks.add_task('WORKS', task_id => pg_temp.id(42)) \g /dev/null
SELECT twtasks_internal.execute_tasks('app.handler', NULL, ARRAY[pg_temp.id(41), pg_temp.id(42)], '{0,0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}') \g /dev/null
SELECT is(pg_temp.said(41), 'retry 1/1 0+0 not yet -> 10', 'a SQL handler that asks for another try has an attempt');
SELECT is(pg_temp.said(42), NULL, '... and one that succeeds has none');

-- ---- A function of on_end that fails ----
CREATE FUNCTION app.refuses(tasks twtasks.ended_task[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'not in the books'; END $$;
SELECT twtasks.configure_type('TEST', on_end => 'app.refuses') \g /dev/null
SELECT pg_temp.finish(pg_temp.id(10), 'done') \g /dev/null
SELECT alike(pg_temp.said(10), 'error 1/1 1+1 %not in the books%', 'a success that on_end refuses is an error, once');
SELECT twtasks.unset_type_options('TEST', 'on_end') \g /dev/null

-- ---- Bounds ----
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(50)) \g /dev/null
SELECT pg_temp.fail(50, e) FROM unnest('{a,a,b,b,b,a}'::text[]) e \g /dev/null
SELECT is((SELECT string_agg(try || coalesce(error, '='), ' ' ORDER BY try) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(50)),
	'1a 2= 3b 4= 5= 6a', 'an error that stays the same is stored once');
SELECT is((SELECT string_agg(try || error, ' ' ORDER BY version) FROM twtasks.task_attempts WHERE task_id = pg_temp.id(50)), '1a 2a 3b 4b 5b 6a', 'task_attempts fills it in');
SELECT is((SELECT array_agg(version ORDER BY version) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(50)), '{1,4,7,10,13,16}', 'each has the version of its grab');
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(51)) \g /dev/null
SELECT pg_temp.fail(51, 'x') FROM generate_series(1, 103) \g /dev/null
SELECT is((SELECT count(*) || ' ' || max(try) || ' ' || count(error) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(51)), '100 100 1', 'a task has at most 100 attempts a day');
SELECT is((SELECT tries FROM twtasks.task WHERE id = pg_temp.id(51)), 103, '... and goes on');
SELECT pg_temp.running(n, 'error') FROM generate_series(52, 53) n \g /dev/null
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result)
SELECT pg_temp.id(n), -try, try, clock_timestamp(), 'retry' FROM generate_series(1, 100) try, generate_series(52, 53) n;
SELECT pg_temp.finish(pg_temp.id(52), 'error', message => 'enough') \g /dev/null
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id = pg_temp.id(53);
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is((SELECT string_agg(result, ' ' ORDER BY task_id) FROM twtasks.task_attempt WHERE task_id IN (pg_temp.id(52), pg_temp.id(53)) AND version > 0), 'error unknown',
	'... but the try after which a person decides has its row');
UPDATE twtasks.task_attempt SET ended = ended - interval '1 day' WHERE task_id = pg_temp.id(51);
SELECT pg_temp.fail(51, 'x') \g /dev/null
SELECT is((SELECT count(*) || ' ' || max(try) || ' ' || count(error) FROM twtasks.task_attempt WHERE task_id = pg_temp.id(51)), '101 104 2', 'the next day has its own, with the error');

-- ---- What keeps attempts from being written ----
SELECT format('ALTER TABLE twtasks.task_attempt DETACH PARTITION %s', i.inhrelid::regclass) FROM pg_inherits i WHERE i.inhparent = 'twtasks.task_attempt'::regclass \gexec
SELECT pg_temp.running(61) \g /dev/null
SELECT is(pg_temp.finish(pg_temp.id(61), 'retry', message => 'busy'), 'WAITING', 'a task fails while the table has no partition for it');
SELECT is((SELECT error FROM twtasks.task WHERE id = pg_temp.id(61)), 'busy', '... and its error is kept');
SELECT is(pg_temp.said(61), NULL, '... but not its attempt');
ALTER TABLE twtasks.task_attempt ATTACH PARTITION twtasks.task_attempt_other DEFAULT;
SELECT pg_temp.fail(61, 'again') \g /dev/null
SELECT is((SELECT tableoid::regclass FROM twtasks.task_attempt WHERE task_id = pg_temp.id(61)), 'twtasks.task_attempt_other', 'without a partition of its day it is in the default one');
ALTER TABLE twtasks.task_attempt_other ADD CHECK (error <> 'odd');
SELECT pg_temp.fail(61, 'odd') \g /dev/null
SELECT is((SELECT status || ' ' || error FROM twtasks.task WHERE id = pg_temp.id(61)), 'WAITING odd', 'a row that a constraint refuses costs the attempt alone');
SELECT pg_temp.running(62, 'retry'), pg_temp.running(63, 'fail') \g /dev/null
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id IN (pg_temp.id(62), pg_temp.id(63));
ALTER TABLE twtasks.task_attempt_other ADD CHECK (result <> 'unknown');
SELECT is((SELECT (retried, failed)::text FROM twtasks_internal.recover_tasks()), '(1,1)', '... also of tasks that are recovered');
ALTER TABLE twtasks.task_attempt RENAME TO gone;
SELECT pg_temp.fail(61, 'on') \g /dev/null
SELECT is((SELECT status || ' ' || error FROM twtasks.task WHERE id = pg_temp.id(61)), 'WAITING on', 'SQL of version 1.0, which has no such table, works');
ALTER TABLE twtasks.gone RENAME TO task_attempt;

-- ---- A partition that a restore has given to another role ----
CREATE ROLE attempts_test;
SELECT format('ALTER TABLE twtasks.%I OWNER TO attempts_test', relname) FROM pg_class WHERE relnamespace = 'twtasks'::regnamespace AND relname ~ '^task_attempt_(other|\d{8})$' \gexec
SELECT pg_temp.running(64) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(64), 'retry', message => 'busy') \g /dev/null
SELECT is(pg_temp.said(64), 'retry 1/1 1+1 busy -> 0', 'attempts are written into a partition of another owner');
SELECT pg_temp.running(65, 'retry') \g /dev/null
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id = pg_temp.id(65);
ALTER TABLE twtasks.task_attempt_other DROP CONSTRAINT task_attempt_other_result_check;
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(pg_temp.said(65), 'unknown 1/1 1+1 its deadline passed without a result -> 0', '... also of tasks that are recovered');

-- ---- Days ----
DROP TABLE twtasks.task_attempt_other;
SELECT format('DROP TABLE twtasks.%I', relname) FROM pg_class WHERE relnamespace = 'twtasks'::regnamespace AND relname ~ '^task_attempt_\d{8}$' \gexec
-- Zones whose names PostgreSQL writes, and does not read.
SET LOCAL datestyle = 'SQL, DMY';
SET LOCAL timezone = 'Asia/Jakarta';
SELECT pg_temp.fail(61, 'first') \g /dev/null
SELECT is((SELECT string_agg(regexp_replace(c.relname, '\d{8}', 'DAY'), ', ' ORDER BY c.relname) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'twtasks.task_attempt'::regclass),
	'task_attempt_DAY, task_attempt_other', 'the first attempt makes today''s partition and the default one');
SELECT is((SELECT tableoid::regclass::text ~ '_\d{8}$' FROM twtasks.task_attempt WHERE task_id = pg_temp.id(61)), true, '... and is in today''s');

SELECT twtasks_internal.make_part(d, d + 3, 'task_attempt') FROM (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - 15) x(d) \g /dev/null
INSERT INTO twtasks.task_attempt (task_id, version, try, ended, result) SELECT pg_temp.id(1), n, n, clock_timestamp() - interval '14 days 1 s', 'retry' FROM generate_series(1, 100) n;
SELECT twtasks_internal.clean_attempts() \g /dev/null
SELECT is((SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname ~ '^task_attempt_\d{8}_3$'), 0::numeric, 'cleaning reads no day that is kept');

SELECT finish();
ROLLBACK;
