--
-- The history and twtasks.tasks say when a task was grabbed last, so that waiting
-- and running can be told apart, and own_tasks shows what its handler said.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(12);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null

-- Brings a task into PROCESSING, and its grab a minute back.
CREATE FUNCTION pg_temp.running(task_id uuid, rule twtasks.stuck_rule DEFAULT 'error') RETURNS timestamptz
LANGUAGE sql
AS $$
	SELECT pg_temp.task_in('PROCESSING', task_id, rule);
	UPDATE twtasks.task SET state_time = state_time - interval '1 minute', created = created - interval '2 minutes'
	WHERE id = task_id RETURNING state_time;
$$;
CREATE FUNCTION pg_temp.started(task_id uuid) RETURNS timestamptz
LANGUAGE sql AS $$ SELECT started FROM twtasks.finished_task WHERE id = task_id $$;

SELECT pg_temp.running(pg_temp.id(1)) AS at \gset
SELECT is((SELECT started FROM twtasks.tasks WHERE id = pg_temp.id(1)), :'at', 'tasks shows when a running task was grabbed');
SELECT pg_temp.finish(pg_temp.id(1), 'done', message => 'paid') \g /dev/null
SELECT is(pg_temp.started(pg_temp.id(1)), :'at', 'a task that is done keeps the time of its grab');
SELECT is((SELECT jsonb_build_array(started = :'at', state_time - started >= interval '1 minute', started - created >= interval '1 minute', message)
		FROM twtasks.tasks WHERE id = pg_temp.id(1)), '[true, true, true, "paid"]', 'tasks tells waiting from running');
SELECT is((SELECT jsonb_agg(jsonb_build_array(event, version, status) ORDER BY at) FROM twtasks.task_history WHERE task_id = pg_temp.id(1)),
	'[["add", 0, null], ["start", 1, "PROCESSING"], ["now", 2, "DONE"]]', 'task_history has the start');
SELECT is((SELECT message FROM twtasks.own_tasks WHERE id = pg_temp.id(1)), 'paid', 'own_tasks shows the message');

SELECT pg_temp.running(pg_temp.id(2)) AS at \gset
SELECT pg_temp.finish(pg_temp.id(2), 'accepted', delay_ms => 60000) \g /dev/null
SELECT is((SELECT started FROM twtasks.tasks WHERE id = pg_temp.id(2)), :'at', 'a task that was handed on keeps it');
SELECT twtasks.finish_task(pg_temp.id(2), 1, 'done') \g /dev/null
SELECT is(pg_temp.started(pg_temp.id(2)), :'at', '... when another one finishes it');

SELECT pg_temp.running(pg_temp.id(3)) AS at \gset
INSERT INTO twtasks.cancel_request (task_id, version, created, requested)
	SELECT id, version, created, clock_timestamp() FROM twtasks.task WHERE id = pg_temp.id(3);
SELECT is(pg_temp.finish(pg_temp.id(3), 'retry'), 'CANCELLED', 'a running task is cancelled');
SELECT is(pg_temp.started(pg_temp.id(3)), :'at', '... and has started');

SELECT pg_temp.running(pg_temp.id(4), 'fail') AS at \gset
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 s' WHERE id = pg_temp.id(4);
SELECT is((SELECT failed FROM twtasks_internal.recover_tasks()), 1::bigint, 'a stuck task fails');
SELECT is(pg_temp.started(pg_temp.id(4)), :'at', '... and has started');

SELECT pg_temp.task_in('CANCELLED', pg_temp.id(5)), pg_temp.task_in('FAILED', pg_temp.id(6)),
	twtasks.add_task('TEST', task_id => pg_temp.id(7), expires => clock_timestamp() - interval '1 s') \g /dev/null
SELECT twtasks_internal.expire_tasks() \g /dev/null
SELECT is((SELECT array_agg(status || coalesce(' ' || started, '') ORDER BY id) FROM twtasks.tasks WHERE id IN (pg_temp.id(5), pg_temp.id(6), pg_temp.id(7))),
	'{CANCELLED,FAILED,FAILED}', 'tasks that end without a grab, or after an error, have none');

SELECT finish();
ROLLBACK;
