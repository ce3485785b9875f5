--
-- Paused tasks are neither grabbed nor found by a sweep.  Only the named nodes grab
-- tasks that are bound to nodes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(73);

CREATE FUNCTION pg_temp.added(n integer, type text, bucket text DEFAULT 'default') RETURNS uuid LANGUAGE sql
AS $$ SELECT task_id FROM twtasks.add_task(type, task_id => pg_temp.id(n), bucket => bucket) $$;
CREATE FUNCTION pg_temp.swept(bucket text DEFAULT 'default') RETURNS text LANGUAGE sql
AS $$ SELECT coalesce(string_agg(type, ' ' ORDER BY type), 'none') FROM twtasks_internal.sweep_tasks(bucket, 10) $$;
SELECT pg_temp.added(1, 'PAY|CARD'), pg_temp.added(2, 'PAY|BANK'), pg_temp.added(3, 'MAIL'), pg_temp.added(4, 'MAIL', 'a') \g /dev/null

-- ---- types ----
SELECT is(twtasks.is_paused('PAY|CARD'), false, 'nothing is paused at first');
SELECT is(twtasks.pause_type('PAY|*', 'the bank is down'), true, 'pause_type() pauses types');
SELECT is(twtasks.pause_type('PAY|*', 'again'), false, 'a type cannot be paused twice');
SELECT is(twtasks.is_paused('PAY|CARD'), true, 'is_paused() knows the paused types');
SELECT is(twtasks.is_paused('PAY'), false, 'is_paused() knows that other types are not paused');
CREATE ROLE regress_asks IN ROLE twtasks_producer;
SELECT twtasks.pause_type('ASKED') \g /dev/null
SET LOCAL ROLE regress_asks;
SELECT twtasks.is_paused('ASKED') AS answer \gset
RESET ROLE;
SELECT is(:'answer'::boolean, true, 'is_paused() answers a role without rights on the tables');
SELECT twtasks.resume_type('ASKED') \g /dev/null
SELECT is((SELECT jsonb_build_array(kind, name, paused_by = session_user, reason, since <= clock_timestamp()) FROM twtasks.paused), '["type", "PAY|*", true, "the bank is down", true]',
	'the view pauses names the pattern, the actor and the reason');
SELECT is(pg_temp.grab(pg_temp.id(1)), NULL, 'tasks of a paused type are not grabbed');
SELECT is(pg_temp.grab(pg_temp.id(3)), 1::bigint, 'tasks of other types are grabbed');
SELECT is(pg_temp.swept(), 'none', 'a sweep does not find paused tasks');
SELECT is(pg_temp.state(pg_temp.id(1)), 'SUBMITTED 0', 'paused tasks stay SUBMITTED');
SELECT is(pg_temp.state(pg_temp.added(5, 'PAY|NEW')), 'SUBMITTED 0', 'tasks of a paused type can be added');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(1), pg_temp.id(2), pg_temp.id(4)], '{0}', pg_temp.node(), pg_temp.token(), '{1000}', '{error}')), 1::bigint,
	'a mixed batch grabs the tasks that are not paused');
SELECT is(pg_temp.finish(pg_temp.id(3), 'done'), 'DONE', 'a running task of a paused type ends');

-- Each pattern by itself.
SELECT is(twtasks.pause_type('PAY|CARD'), true, 'a second pattern can pause the same types');
SELECT is(twtasks.resume_type('PAY|*'), true, 'resume_type() resumes the first pattern');
SELECT is(twtasks.is_paused('PAY|CARD') AND NOT twtasks.is_paused('PAY|BANK'), true, 'the second pattern still pauses its types');
SELECT is(pg_temp.grab(pg_temp.id(2)), 1::bigint, 'tasks of a resumed type are grabbed');
SELECT is(pg_temp.grab(pg_temp.id(1)), NULL, 'tasks of a type that is still paused are not grabbed');
SELECT is(pg_temp.swept(), 'PAY|NEW', 'a sweep does not find tasks of a type that is still paused');
SELECT is(twtasks.resume_type('PAY|CARD'), true, 'resume_type() resumes the second pattern');
SELECT is(twtasks.resume_type('PAY|CARD'), false, 'a type cannot be resumed twice');
SELECT is(pg_temp.grab(pg_temp.id(1)), 1::bigint, 'the tasks of the type are then grabbed');
SELECT twtasks.configure_type('PAY|*', timeout => '1s'), twtasks.pause_type('PAY|*'), twtasks.drop_type_policy('PAY|*') \g /dev/null
SELECT is(twtasks.is_paused('PAY|NEW'), true, 'a paused type stays paused when its policy is dropped');
SELECT twtasks.resume_type('PAY|*') \g /dev/null
SELECT twtasks.pause_type('*') \g /dev/null
SELECT is(twtasks.is_paused('ANYTHING'), true, 'everything can be paused');
SELECT twtasks.resume_type('*') \g /dev/null

-- ---- functions of the database ----
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.ran (task uuid);
CREATE FUNCTION app.run(task twtasks.task_input) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ INSERT INTO app.ran VALUES (task.id) $$;
CREATE FUNCTION pg_temp.executed(VARIADIC ids uuid[]) RETURNS bigint LANGUAGE sql
AS $$
	SELECT count(*) FROM twtasks_internal.execute_tasks('app.run', NULL, ids, array_fill(0::bigint, ARRAY[cardinality(ids)]), pg_temp.node(), pg_temp.token(),
		array_fill(60000::bigint, ARRAY[cardinality(ids)]), array_fill('error'::twtasks.stuck_rule, ARRAY[cardinality(ids)]))
$$;
SELECT pg_temp.added(50, 'SQL|A'), pg_temp.added(51, 'SQL|B'), pg_temp.added(52, 'SQL|A', 'a') \g /dev/null
SELECT twtasks.pause_type('SQL|A') \g /dev/null
SELECT is(pg_temp.executed(pg_temp.id(50), pg_temp.id(51), pg_temp.id(52)), 1::bigint, 'a SQL handler runs tasks that are not paused');
SELECT bag_eq('SELECT task FROM app.ran', ARRAY[pg_temp.id(51)], 'a SQL handler is not called for paused tasks');
SELECT is(pg_temp.state(pg_temp.id(50)), 'SUBMITTED 0', 'paused tasks of a SQL handler stay as they are');
SELECT twtasks.resume_type('SQL|A'), twtasks.pause_bucket('a') \g /dev/null
SELECT is(pg_temp.executed(pg_temp.id(50), pg_temp.id(52)), 1::bigint, 'a SQL handler runs tasks whose bucket is not paused');
SELECT bag_eq('SELECT task FROM app.ran', ARRAY[pg_temp.id(50), pg_temp.id(51)], 'a SQL handler is not called for tasks in a paused bucket');
SET twtasks.testing = on;
SELECT is((SELECT count(*) FROM twtasks.run_inline('app.run', 'SQL|*')), 0::bigint, 'run_inline() runs no paused task');
SELECT twtasks.resume_bucket('a') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.run_inline('app.run', 'SQL|*')), 1::bigint, 'run_inline() runs a task when its bucket is resumed');
RESET twtasks.testing;

-- ---- buckets ----
SELECT is(twtasks.pause_bucket('a', 'for a while'), true, 'pause_bucket() pauses a bucket');
SELECT is(twtasks.pause_bucket('a'), false, 'a bucket cannot be paused twice');
SELECT is((SELECT jsonb_build_array(paused, pause_reason) FROM twtasks.buckets WHERE name = 'a'), '[true, "for a while"]', 'the view pauses shows the bucket');
SELECT is((SELECT bool_or(paused) FROM twtasks.buckets WHERE name <> 'a'), false, 'the view pauses shows no other bucket');
SELECT is(twtasks.is_paused('MAIL', 'a') AND NOT twtasks.is_paused('MAIL'), true, 'all types are paused in that bucket, and nowhere else');
SELECT pg_temp.added(10, 'MAIL', 'a'), pg_temp.added(11, 'MAIL') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(10)), NULL, 'tasks of a paused bucket are not grabbed');
SELECT is(pg_temp.grab(pg_temp.id(11)), 1::bigint, 'tasks of other buckets are grabbed');
SELECT is(pg_temp.swept('a'), 'none', 'a sweep of a paused bucket finds nothing');
SELECT is(twtasks.resume_bucket('a'), true, 'resume_bucket() resumes a bucket');
SELECT is(twtasks.resume_bucket('a'), false, 'a bucket cannot be resumed twice');
SELECT is(pg_temp.swept('a'), 'MAIL', 'a sweep finds the tasks of a resumed bucket');
SELECT is(twtasks.pause_bucket('default'), true, 'the default bucket can be paused');
SELECT is((SELECT paused FROM twtasks.buckets WHERE name = 'default'), true, 'the view shows the paused default bucket');
SELECT is(twtasks.resume_bucket('default'), true, 'the default bucket can be resumed');

-- ---- buckets come and go ----
SELECT throws_ok($$SELECT twtasks.pause_bucket('nowhere')$$, '22023', 'bucket "nowhere" is not configured', 'a bucket that does not exist cannot be paused');
SELECT throws_ok($$SELECT twtasks.pause_bucket(NULL)$$, '22004', 'name must not be null', 'a NULL bucket cannot be paused');
SELECT throws_ok($$SELECT twtasks.pause_type('A B')$$, '22023', 'invalid pattern: "A B"', 'a malformed pattern cannot be paused');
SELECT throws_ok($$SELECT twtasks.drop_bucket('default')$$, '22023', 'cannot drop bucket "default"', 'the default bucket cannot be dropped');
SELECT throws_ok($$SELECT twtasks.drop_bucket('a')$$, '55000', 'bucket "a" has live tasks', 'a bucket with tasks cannot be dropped');
SELECT twtasks.configure_bucket('gone'), twtasks.configure_type('G', bucket => 'gone'), twtasks.pause_bucket('gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" is that of a policy', 'a bucket that a policy names cannot be dropped');
SELECT twtasks.drop_type_policy('G') \g /dev/null
SELECT twtasks.schedule('gone', '0 0 * * *', 'G', bucket => 'gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" is that of a schedule', 'a bucket that a schedule names cannot be dropped');
SELECT twtasks.unschedule('gone') \g /dev/null
SELECT pg_temp.added(60, 'G', 'gone'), twtasks.resume_bucket('gone') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(60)), twtasks.pause_bucket('gone') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_bucket('gone')$$, '55000', 'bucket "gone" has live tasks', 'a bucket with a running task cannot be dropped');
SELECT pg_temp.finish(pg_temp.id(60), 'error') \g /dev/null
SELECT twtasks.fail_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60))) \g /dev/null
SELECT is(twtasks.drop_bucket('gone'), true, 'any other bucket can be dropped');
SELECT is(twtasks.drop_bucket('gone'), false, 'a bucket cannot be dropped twice');
SELECT is((SELECT count(*) FROM twtasks.paused), 0::bigint, 'a dropped bucket loses its pause');
SELECT throws_ok($$SELECT twtasks.add_task('A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'no task can be added to a dropped bucket');
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "A"}, {"type": "A", "bucket": "gone"}]'::jsonb)$$, '22023', 'bucket "gone" is not configured', 'a batch with a task for a dropped bucket is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'no policy can name a dropped bucket');
SELECT throws_ok($$SELECT twtasks.schedule('a', '* * * * *', 'A', bucket => 'gone')$$, '22023', 'bucket "gone" is not configured', 'no schedule can name a dropped bucket');
SELECT is((SELECT status FROM twtasks.tasks WHERE id = pg_temp.id(60)), 'FAILED', 'finished tasks of a dropped bucket stay');
SELECT throws_ok($$SELECT twtasks.reopen_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60)))$$, '22023', 'bucket "gone" is not configured', 'no task can be reopened into a dropped bucket');
SELECT twtasks.configure_bucket('gone') \g /dev/null
SELECT is((SELECT r.status FROM twtasks.reopen_task(pg_temp.id(60), pg_temp.version_of(pg_temp.id(60))) r), 'WAITING', 'a task can be reopened when its bucket exists again');

-- ---- nodes ----
SELECT twtasks.configure_type('BOUND|*', nodes => '{test,other}'), twtasks.configure_type('BOUND|FAR', nodes => '{far-*}'), twtasks.configure_type('BOUND|NEAR', nodes => '{far,te*}') \g /dev/null
SELECT pg_temp.added(20, 'BOUND|ANY'), pg_temp.added(21, 'BOUND|FAR'), pg_temp.added(22, 'BOUND|NEAR') \g /dev/null
SELECT is(pg_temp.grab(pg_temp.id(20)), 1::bigint, 'a node with the name grabs tasks bound to it');
SELECT is(pg_temp.grab(pg_temp.id(21)), NULL, 'a node does not grab tasks bound to other names');
SELECT is(pg_temp.grab(pg_temp.id(22)), 1::bigint, 'a name may be the beginning of the node''s name');
SELECT is((SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(21)], '{0}', twtasks_internal.start_node('far-1'), 1, '{60000}', '{error}')), 1::bigint, 'a node whose name begins so grabs the task');
SELECT throws_ok($$SELECT twtasks.configure_type('A', nodes => '{}')$$, '22023', 'invalid names of nodes', 'an empty list of nodes is refused');
SELECT throws_ok($$SELECT twtasks.configure_type('A', nodes => '{NULL}')$$, '22023', 'invalid names of nodes', 'a NULL name of a node is refused');

-- ---- why a task does not move ----
UPDATE twtasks.task SET next_event_time = '2000-01-01' WHERE id = pg_temp.id(10);
SELECT is((SELECT why ~ 'paused' FROM twtasks.stuck_tasks WHERE id = pg_temp.id(10)), false, 'a stuck task of a resumed bucket has another reason than a pause');
SELECT twtasks.pause_bucket('a') \g /dev/null
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT why FROM twtasks.stuck_tasks WHERE bucket = 'a' AND status = 'SUBMITTED'), format('bucket "a" is paused by %s: see twtasks.paused', session_user), 'the reason of a stuck task names the pause');
RESET ROLE;
SELECT twtasks.resume_bucket('a') \g /dev/null
DELETE FROM twtasks.bucket_policy WHERE name = 'a';
SELECT is((SELECT why FROM twtasks.stuck_tasks WHERE bucket = 'a' AND status = 'SUBMITTED'), 'its bucket was dropped: SELECT twtasks.configure_bucket(''a'') makes it again', 'the reason of a stuck task names the dropped bucket');

SELECT * FROM finish();
ROLLBACK;
