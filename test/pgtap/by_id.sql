--
-- The id alone is enough to change a task by hand; a version that is given must
-- be that of the task.  And who added a task sees it, but no other's.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(24);
SELECT twtasks.is_enabled() \g /dev/null
CREATE ROLE regress_shop;
CREATE ROLE regress_app IN ROLE twtasks_producer, regress_shop;
CREATE ROLE regress_other IN ROLE twtasks_producer;
GRANT twtasks_producer TO regress_shop;
GRANT regress_app, regress_shop, regress_other TO CURRENT_USER;

-- By the id.
SELECT twtasks.add_task('A', task_id => pg_temp.id(1), run_after => '2100-01-01') \g /dev/null
SELECT is((SELECT result FROM twtasks.hold_task(pg_temp.id(1))), 'changed', 'hold_task() needs only the id');
SELECT is((SELECT result FROM twtasks.release_task(pg_temp.id(1))), 'changed', 'release_task() needs only the id');
SELECT is((SELECT result FROM twtasks.reschedule_task(pg_temp.id(1), run_after => '2099-01-01')), 'changed', 'reschedule_task() needs only the id');
SELECT is((SELECT result FROM twtasks.resume_task(pg_temp.id(1), reason => 'now')), 'changed', 'resume_task() needs only the id');
SELECT is((SELECT result FROM twtasks.cancel_task(pg_temp.id(1))), 'changed', 'cancel_task() needs only the id');
SELECT is((SELECT result FROM twtasks.reopen_task(pg_temp.id(1))), 'changed', 'reopen_task() needs only the id');
SELECT is((SELECT result FROM twtasks.request_cancel(pg_temp.id(1))), 'changed', 'request_cancel() needs only the id');
SELECT twtasks.add_task('A', task_id => pg_temp.id(2)) \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity', version = 3 WHERE id = pg_temp.id(2);
SELECT is((SELECT result FROM twtasks.fail_task(pg_temp.id(2), 2)), 'wrong_version', 'a wrong version is refused');
SELECT is((SELECT result FROM twtasks.fail_task(pg_temp.id(2))), 'changed', 'fail_task() needs only the id');
SELECT is((SELECT result FROM twtasks.reopen_task(pg_temp.id(2), 3)), 'wrong_version', 'a wrong version of a finished task is refused');
SELECT is((SELECT result FROM twtasks.resume_task(pg_temp.id(2))), 'wrong_status', 'a task in another status is refused');
SELECT is((SELECT result FROM twtasks.resume_task(gen_random_uuid())), 'not_found', 'a task that does not exist is not found');
SELECT throws_ok('SELECT twtasks.resume_task(NULL)', '22004', 'id must not be null', 'a NULL id is an error');
SELECT throws_ok('SELECT twtasks.reschedule_task(pg_temp.id(2))', '22004', 'run_after must not be null', 'reschedule_task() needs a time');

-- The view of a producer.
SET LOCAL ROLE regress_shop;
SELECT task_id AS shop FROM twtasks.add_task('SHOP', '{"secret": 1}', key => 'shop-1') \gset
SET LOCAL ROLE regress_app;
SELECT task_id AS app FROM twtasks.add_task('APP') \gset
SET LOCAL ROLE regress_other;
SELECT task_id AS other FROM twtasks.add_task('OTHER') \gset
SELECT is((SELECT array_agg(type) FROM twtasks.own_tasks), '{OTHER}', 'a producer sees its own tasks, and no others');
SELECT is((SELECT count(*) FROM twtasks.own_tasks WHERE id = :'shop'), 0::bigint, 'a producer cannot see another''s task by its id');
SELECT throws_ok('SELECT FROM twtasks.tasks', '42501', NULL, 'a producer cannot read the view of all tasks');
SET LOCAL ROLE regress_app;
SELECT is((SELECT array_agg(type ORDER BY type) FROM twtasks.own_tasks), '{APP,SHOP}', 'a member of a role sees the tasks of that role');
SET LOCAL ROLE regress_shop;
SELECT is((SELECT array_agg(type) FROM twtasks.own_tasks), '{SHOP}', 'the role does not see the tasks of its members');
SELECT hasnt_column('twtasks', 'own_tasks', 'data', 'own_tasks shows no payload');
RESET ROLE;
SELECT twtasks.cancel_task(:'shop', reason => 'sold out') \g /dev/null
SET LOCAL ROLE regress_shop;
SELECT is((SELECT status || ' ' || error || ' ' || key FROM twtasks.own_tasks WHERE id = :'shop'), 'CANCELLED sold out shop-1', 'own_tasks shows the outcome of a finished task');
-- A function that is called before the rule would see all.
CREATE FUNCTION pg_temp.peep(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001
AS $$ BEGIN PERFORM set_config('test.seen', concat(current_setting('test.seen', true), $1, ','), true); RETURN true; END $$;
SELECT count(*) FROM twtasks.own_tasks WHERE pg_temp.peep(type) \g /dev/null
SELECT is(current_setting('test.seen'), 'SHOP,', 'a function in the caller''s query sees no other''s tasks');
RESET ROLE;
SELECT is((SELECT count(*) FROM twtasks.own_tasks WHERE id IN (:'app', :'other')), 2::bigint, 'a superuser sees all tasks');
CREATE FUNCTION pg_temp.plan_of(id uuid) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE line text; lines text := ''; BEGIN
	SET LOCAL enable_seqscan = off;
	FOR line IN EXECUTE format('EXPLAIN SELECT status FROM twtasks.own_tasks WHERE id = %L', id) LOOP lines := lines || line || E'\n'; END LOOP;
	RETURN lines; END $$;
SELECT matches(pg_temp.plan_of(:'app'), 'task_pkey', 'a query by id uses the index');

SELECT * FROM finish();
ROLLBACK;
