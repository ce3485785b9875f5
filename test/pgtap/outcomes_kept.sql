--
-- The outcome of a handler stays with the ended task, for the role that added it.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(14);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null
CREATE ROLE regress_producer IN ROLE twtasks_producer;
CREATE ROLE regress_other IN ROLE twtasks_producer;
CREATE ROLE regress_viewer IN ROLE twtasks_viewer;

-- Finishes a task with an outcome.
CREATE FUNCTION pg_temp.end_with(task_id uuid, result text, outcome jsonb) RETURNS twtasks.task_status
LANGUAGE sql AS $$
	SELECT status FROM twtasks_internal.finish_tasks(ARRAY[task_id], ARRAY[pg_temp.version_of(task_id)], ARRAY[result], '{0}', '{NULL}',
		pg_temp.node(), pg_temp.token(), outcomes => ARRAY[outcome])
$$;

SET LOCAL ROLE regress_producer;
SELECT task_id AS first FROM twtasks.add_task('A', '{"secret": 1}') \gset
SELECT task_id AS second FROM twtasks.add_task('A') \gset
SELECT task_id AS third FROM twtasks.add_task('A') \gset
SELECT is((SELECT outcome FROM twtasks.own_tasks WHERE id = :'first'), NULL, 'a task that waits has none');
RESET ROLE;
SELECT pg_temp.grab(:'first'), pg_temp.grab(:'second'), pg_temp.grab(:'third') \g /dev/null
SELECT is(pg_temp.end_with(:'first', 'done', '{"price": 119.00}'), 'DONE', 'a task ends with an outcome');
SELECT is(pg_temp.end_with(:'second', 'done', NULL), 'DONE', 'another without one');
SELECT is(pg_temp.end_with(:'third', 'error', '{"why": "no"}'), 'ERROR', 'a third ends in ERROR');

SET LOCAL ROLE regress_producer;
SELECT is((SELECT outcome::text FROM twtasks.own_tasks WHERE id = :'first'), '{"price": 119.00}', 'the role that added the task reads it, with all digits');
SELECT is((SELECT outcome FROM twtasks.own_tasks WHERE id = :'second'), NULL, 'the other one has none');
SELECT is((SELECT outcome FROM twtasks.own_tasks WHERE id = :'third'), NULL, 'nor has the one in ERROR');
SET LOCAL ROLE regress_other;
SELECT is((SELECT count(*) FROM twtasks.own_tasks WHERE id = :'first'), 0::bigint, 'another producer does not see it');
SET LOCAL ROLE regress_viewer;
SELECT throws_ok('SELECT outcome FROM twtasks.finished_task', '42501', NULL, 'a viewer cannot read it');
RESET ROLE;
SELECT hasnt_column('twtasks', 'tasks', 'outcome', 'twtasks.tasks does not show it');

-- Kept as data are.
SELECT twtasks.configure_type('A', when_done => 'clear') \g /dev/null
SELECT pg_temp.task_in('PROCESSING') AS fourth \gset
UPDATE twtasks.task SET type = 'A' WHERE id = :'fourth';
SELECT is(pg_temp.end_with(:'fourth', 'done', '{"price": 1}'), 'DONE', 'a task whose data are not kept');
SELECT is((SELECT outcome FROM twtasks.finished_task WHERE id = :'fourth'), NULL, 'its outcome is not kept either');

-- A SQL handler, and a program that finishes an accepted task.
SELECT pg_temp.task_in('PROCESSING') AS fifth \gset
SELECT pg_temp.finish(:'fifth', 'accepted', delay_ms => 60000) \g /dev/null
SELECT is((SELECT result FROM twtasks.finish_task(:'fifth', 1, outcome => '{"booking": 17}')), 'changed', 'a program finishes an accepted task');
SELECT is((SELECT outcome FROM twtasks.finished_task WHERE id = :'fifth'), '{"booking": 17}', 'its outcome is kept');

SELECT * FROM finish();
ROLLBACK;
