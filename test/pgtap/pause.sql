--
-- Paused tasks are neither grabbed nor found by a sweep.  Only the named nodes grab
-- tasks that are bound to nodes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(72);

CREATE FUNCTION pg_temp.added(n integer, type text, bucket text DEFAULT 'default') RETURNS uuid LANGUAGE sql
AS $$ SELECT task_id FROM twtasks.add_task(type, task_id => pg_temp.id(n), bucket => bucket) $$;
CREATE FUNCTION pg_temp.swept(bucket text DEFAULT 'default') RETURNS text LANGUAGE sql
AS $$ SELECT coalesce(string_agg(type, ' ' ORDER BY type), 'none') FROM twtasks_internal.sweep_tasks(bucket, 10) $$;
SELECT pg_temp.added(1, 'PAY|CARD'), pg_temp.added(2, 'PAY|BANK'), pg_temp.added(3, 'MAIL'), pg_temp.added(4, 'MAIL', 'a') \g /dev/null

-- ---- types ----
SELECT is(twtasks.is_paused('PAY|CARD'), false, 'nothing is paused');
SELECT is(twtasks.pause_type('PAY|*', 'the bank is down'), true, 'types are paused');
SELECT is(twtasks.pause_type('PAY|*', 'again'), false, 'once');
SELECT is(twtasks.is_paused('PAY|CARD'), true, 'they are');
SELECT is(twtasks.is_paused('PAY'), false, 'others are not');
SELECT is((SELECT jsonb_build_array(kind, name, paused_by = session_user, reason, since <= clock_timestamp()) FROM twtasks.paused), '["type", "PAY|*", true, "the bank is down", true]',
	'the view says what, by whom and why');
SELECT is(pg_temp.grab(pg_temp.id(1)), NULL, 'none is grabbed');
SELECT is(pg_temp.grab(pg_temp.id(3)), 1::bigint, 'of the others it is');
SELECT is(pg_temp.swept(), 'none', 'a sweep does not find them');
SELECT is(pg_temp.state(pg_temp.id(1)), 'SUBMITTED 0', 'they wait');
SELECT is(pg_temp.state(pg_temp.added(5, 'PAY|NEW')), 'SUBMITTED 0', 'and can be added');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1), pg_temp.id(2), pg_temp.id(4)], '{0}', pg_temp.node(), pg_temp.token(), '{1000}', '{error}')), 1::bigint,
	'of several those that are not paused');
SELECT is(pg_temp.finish(pg_temp.id(3), 'done'), 'DONE', 'what runs ends');

-- Each pattern by itself.
SELECT is(twtasks.pause_type('PAY|CARD'), true, 'another pattern');
SELECT is(twtasks.resume_type('PAY|*'), true, 'the first is resumed');
SELECT is(twtasks.is_paused('PAY|CARD') AND NOT twtasks.is_paused('PAY|BANK'), true, 'and the other one is not');
SELECT is(pg_temp.grab(pg_temp.id(2)), 1::bigint, 'a type that is resumed is grabbed');
SELECT is(pg_temp.grab(pg_temp.id(1)), NULL, 'one that is still paused is not');
SELECT is(pg_temp.swept(), 'PAY|NEW', 'nor found');
SELECT is(twtasks.resume_type('PAY|CARD'), true, 'until it is resumed');
SELECT is(twtasks.resume_type('PAY|CARD'), false, 'once');
SELECT is(pg_temp.grab(pg_temp.id(1)), 1::bigint, 'then it is');
SELECT twtasks.configure_type('PAY|*', timeout => '1s'), twtasks.pause_type('PAY|*'), twtasks.drop_type_policy('PAY|*') \g /dev/null
SELECT is(twtasks.is_paused('PAY|NEW'), true, 'what is paused stays so when its policy is dropped');
SELECT twtasks.resume_type('PAY|*') \g /dev/null
SELECT twtasks.pause_type('*') \g /dev/null
SELECT is(twtasks.is_paused('ANYTHING'), true, 'everything can be paused');
SELECT twtasks.resume_type('*') \g /dev/null

-- ---- functions of the database ----
CREATE SCHEMA app;
CREATE TABLE app.ran (task uuid);
CREATE FUNCTION app.run(task twtasks.task_input) RETURNS void LANGUAGE sql AS $$ INSERT INTO app.ran VALUES (task.id) $$;
CREATE FUNCTION pg_temp.executed(VARIADIC ids uuid[]) RETURNS bigint LANGUAGE sql
AS $$
	SELECT count(*) FROM twtasks_internal.execute_tasks('app.run', NULL, ids, array_fill(0::bigint, ARRAY[cardinality(ids)]), pg_temp.node(), pg_temp.token(),
		array_fill(60000::bigint, ARRAY[cardinality(ids)]), array_fill('error'::twtasks.stuck_rule, ARRAY[cardinality(ids)]))
$$;
SELECT pg_temp.added(50, 'SQL|A'), pg_temp.added(51, 'SQL|B'), pg_temp.added(52, 'SQL|A', 'a') \g /dev/null
SELECT twtasks.pause_type('SQL|A') \g /dev/null
SELECT is(pg_temp.executed(pg_temp.id(50), pg_temp.id(51), pg_temp.id(52)), 1::bigint, 'a SQL handler runs those that are not paused');
SELECT bag_eq('SELECT task FROM app.ran', ARRAY[pg_temp.id(51)], 'it was not called for the others');
SELECT is(pg_temp.state(pg_temp.id(50)), 'SUBMITTED 0', 'which are as they were');
SELECT twtasks.resume_type('SQL|A'), twtasks.pause_bucket('a') \g /dev/null
SELECT is(pg_temp.executed(pg_temp.id(50), pg_temp.id(52)), 1::bigint, 'by bucket as well');
SELECT bag_eq('SELECT task FROM app.ran', ARRAY[pg_temp.id(50), pg_temp.id(51)], 'not for what is in one that is paused');
SET twtasks.testing = on;
SELECT is((SELECT count(*) FROM twtasks.run_inline('app.run', 'SQL|*')), 0::bigint, 'nor in a test');
SELECT twtasks.resume_bucket('a') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.run_inline('app.run', 'SQL|*')), 1::bigint, 'until it is resumed');
RESET twtasks.testing;

-- ---- buckets ----
SELECT is(twtasks.pause_bucket('a', 'for a while'), true, 'a bucket is paused');
SELECT is(twtasks.pause_bucket('a'), false, 'once');
SELECT is((SELECT jsonb_build_array(paused, pause_reason) FROM twtasks.buckets WHERE name = 'a'), '[true, "for a while"]', 'the view says so');
SELECT is((SELECT bool_or(paused) FROM twtasks.buckets WHERE name <> 'a'), false, 'of it alone');
SELECT is(twtasks.is_paused('MAIL', 'a') AND NOT twtasks.is_paused('MAIL'), true, 'all types in it are paused, and nowhere else');
SELECT pg_temp.added(10, 'MAIL', 'a'), pg_temp.added(11, 'MAIL') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(10)), NULL, 'none is grabbed in it');
SELECT is(pg_temp.grab(pg_temp.id(11)), 1::bigint, 'in others it is');
SELECT is(pg_temp.swept('a'), 'none', 'a sweep finds none');
SELECT is(twtasks.resume_bucket('a'), true, 'it is resumed');
SELECT is(twtasks.resume_bucket('a'), false, 'once');
SELECT is(pg_temp.swept('a'), 'MAIL', 'then they are found');
SELECT is(twtasks.pause_bucket('default'), true, 'the default bucket can be paused');
SELECT is((SELECT paused FROM twtasks.buckets WHERE name = 'default'), true, 'the view has it');
SELECT is(twtasks.resume_bucket('default'), true, 'and resumed');

-- ---- buckets come and go ----
SELECT throws_ok($$SELECT twtasks.pause_bucket('nowhere')$$, '22023', 'bucket "nowhere" is not configured', 'a bucket that is not there');
SELECT throws_ok($$SELECT twtasks.pause_bucket(NULL)$$, '22004', 'name must not be null', 'no bucket');
SELECT throws_ok($$SELECT twtasks.pause_type('A B')$$, '22023', 'invalid pattern: "A B"', 'no pattern');
SELECT throws_ok($$SELECT twtasks.drop_bucket('default')$$, '22023', 'cannot drop bucket "default"', 'the default bucket stays');
SELECT throws_ok($$SELECT twtasks.drop_bucket('a')$$, '55000', 'bucket "a" has live tasks', 'so does one with tasks');
SELECT twtasks.configure_bucket('gone'), twtasks.configure_type('G', bucket => 'gone'), twtasks.pause_bucket('gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" is that of a policy', 'and one of a policy');
SELECT twtasks.drop_type_policy('G') \g /dev/null
SELECT twtasks.schedule('gone', '0 0 * * *', 'G', bucket => 'gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" is that of a schedule', 'and one of a schedule');
SELECT twtasks.unschedule('gone') \g /dev/null
SELECT pg_temp.added(60, 'G', 'gone'), twtasks.resume_bucket('gone') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(60)), twtasks.pause_bucket('gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" has live tasks', 'and one in which a task runs');
SELECT pg_temp.finish(pg_temp.id(60), 'error') \g /dev/null
SELECT twtasks.fail_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60))) \g /dev/null
SELECT is(twtasks.drop_bucket('gone'), true, 'another is dropped');
SELECT is(twtasks.drop_bucket('gone'), false, 'once');
SELECT is((SELECT count(*) FROM twtasks.paused), 0::bigint, 'with its pause');
SELECT throws_ok($$SELECT twtasks.add_task('A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'nothing can be added to it');
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "A"}, {"type": "A", "bucket": "gone"}]'::jsonb)$$, '22023', 'bucket "gone" is not configured', 'nor among others');
SELECT throws_ok($$SELECT twtasks.configure_type('A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'nor by a policy');
SELECT throws_ok($$SELECT twtasks.schedule('a', '* * * * *', 'A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'nor by a schedule');
SELECT is((SELECT status FROM twtasks.tasks WHERE id = pg_temp.id(60)), 'FAILED', 'what has ended in it is still there');
SELECT throws_ok($$SELECT twtasks.reopen_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60)))$$, '22023', 'bucket "gone" is not configured', 'but nothing can be taken back into it');
SELECT twtasks.configure_bucket('gone') \g /dev/null
SELECT is((SELECT r.status FROM twtasks.reopen_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60))) r), 'WAITING', 'before it is there again');

-- ---- nodes ----
SELECT twtasks.configure_type('BOUND|*', nodes => '{test,other}'), twtasks.configure_type('BOUND|FAR', nodes => '{far-*}'), twtasks.configure_type('BOUND|NEAR', nodes => '{far,te*}') \g /dev/null
SELECT pg_temp.added(20, 'BOUND|ANY'), pg_temp.added(21, 'BOUND|FAR'), pg_temp.added(22, 'BOUND|NEAR') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(20)), 1::bigint, 'a type is grabbed by a node of that name');
SELECT is(pg_temp.grab(pg_temp.id(21)), NULL, 'by no other');
SELECT is(pg_temp.grab(pg_temp.id(22)), 1::bigint, 'a name may be the beginning of one');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(21)], '{0}', twtasks_internal.start_node('far-1'), 1, '{1000}', '{error}')), 1::bigint, 'which another has');
SELECT throws_ok($$SELECT twtasks.configure_type('A', nodes => '{}')$$, '22023', 'invalid names of nodes', 'no names');
SELECT throws_ok($$SELECT twtasks.configure_type('A', nodes => '{NULL}')$$, '22023', 'invalid names of nodes', 'no name');

-- ---- why a task does not move ----
UPDATE twtasks.task SET next_event_time = '2000-01-01' WHERE id = pg_temp.id(10);
SELECT is((SELECT why ~ 'paused' FROM twtasks.stuck_tasks WHERE id = pg_temp.id(10)), false, 'not because it is paused');
SELECT twtasks.pause_bucket('a') \g /dev/null
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT why FROM twtasks.stuck_tasks WHERE bucket = 'a'), format('bucket "a" is paused by %s: see twtasks.paused', session_user), 'because it is paused');
RESET ROLE;
SELECT twtasks.resume_bucket('a') \g /dev/null
DELETE FROM twtasks.bucket_policy WHERE name = 'a';
SELECT is((SELECT why FROM twtasks.stuck_tasks WHERE bucket = 'a'), 'its bucket was dropped: see twtasks.configure_bucket()', 'because it was added while its bucket was dropped');

SELECT * FROM finish();
ROLLBACK;
