--
-- A function of a policy that gives up the locks of its session, whatever for,
-- does not end the node whose session it is.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(10);
CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;

CREATE FUNCTION app.unlock_all() RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM pg_advisory_lock(17);
	PERFORM pg_advisory_unlock_all();
END $$;
CREATE FUNCTION app.intercept(task twtasks.new_task) RETURNS twtasks.new_task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	PERFORM unlock_all();
	IF task.data ? 'raise' THEN
		RAISE EXCEPTION 'no' USING ERRCODE = 'P0042';
	END IF;
	RETURN task;
END $$;
CREATE FUNCTION app.delay(task twtasks.task_input, message text) RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$
BEGIN
	PERFORM unlock_all();
	IF task.data ? 'fail' THEN
		RAISE EXCEPTION 'no';
	END IF;
	RETURN clock_timestamp();
END $$;
CREATE FUNCTION app.rule(task twtasks.task_input) RETURNS twtasks.stuck_rule
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ BEGIN PERFORM unlock_all(); RETURN 'error'; END $$;
SELECT twtasks.configure_type('T', intercept => 'app.intercept', retry_function => 'app.delay', stuck_function => 'app.rule') \g /dev/null

SELECT pg_temp.node() \g /dev/null
CREATE FUNCTION pg_temp.is_held() RETURNS boolean LANGUAGE sql
AS $$ SELECT twtasks_internal.session_holds(twtasks_internal.node_lock(pg_temp.node())) $$;
SELECT ok(pg_temp.is_held(), 'the session of a node holds the lock of that node');
SELECT is((SELECT string_agg(mode, ' ' ORDER BY mode) FROM pg_locks WHERE locktype = 'advisory' AND classid = x'74776e6f'::bigint::oid AND objid = (pg_temp.node() & x'ffffffff'::bigint)::oid AND pid = pg_backend_pid()), 'AccessExclusiveLock ExclusiveLock',
	'other sessions can see the lock of a node, and that it is held');
SELECT twtasks_internal.heartbeat(pg_temp.node()) \g /dev/null
SELECT is((SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = x'74776e6f'::bigint::oid AND objid = (pg_temp.node() & x'ffffffff'::bigint)::oid), 2::bigint,
	'a node holds its lock once, however many its heartbeats');
SELECT lives_ok($$SELECT twtasks.add_task('T', task_id => pg_temp.id(1))$$, 'a function that releases all session locks runs when a task is added');
SELECT ok(pg_temp.is_held(), 'the node keeps its lock afterwards');
SELECT throws_ok($$SELECT twtasks.add_task('T', '{"raise": true}')$$, 'P0042', 'no', 'a function that releases all locks may also fail');
SELECT ok(pg_temp.is_held(), 'the node keeps its lock after the failure');

SELECT twtasks.add_task('T', CASE n WHEN 2 THEN '{"fail": true}'::jsonb END, task_id => pg_temp.id(n)) FROM generate_series(2, 3) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n), rule => 'retry') FROM generate_series(1, 3) n \g /dev/null
CREATE FUNCTION pg_temp.fail(n integer) RETURNS SETOF record LANGUAGE sql
AS $$ SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(n)], '{1}', '{retry}', '{NULL}', '{busy}', pg_temp.node(), 9, retries => '{"{}"}', ask => true) $$;
SELECT pg_temp.fail(1) \g /dev/null
SELECT ok(pg_temp.is_held(), 'the node keeps its lock when such a function decides on a retry');
SET LOCAL client_min_messages = error;
SELECT pg_temp.fail(2) \g /dev/null
SELECT ok(pg_temp.is_held(), 'the node keeps its lock when that function fails');
UPDATE twtasks.task SET deadline = '-infinity' WHERE id = pg_temp.id(3);
SELECT * FROM twtasks_internal.recover_tasks() \g /dev/null
SELECT ok(pg_temp.is_held(), 'the node keeps its lock when such a function judges a stuck task');

SELECT * FROM finish();
ROLLBACK;
