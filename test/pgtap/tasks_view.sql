--
-- A query of twtasks.tasks reads only the parts that can have its rows: a status
-- rules out the tasks that wait for a time, the queue or the history, and a join
-- by id uses indexes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(7);

CREATE FUNCTION pg_temp.plan_of(query text) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$ DECLARE line text; lines text := ''; BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP lines := lines || line || chr(10); END LOOP;
	RETURN lines; END $$;

SELECT twtasks_internal.begin_history() \g /dev/null
SELECT twtasks.add_task('VIEWED', task_id => pg_temp.id(n)) FROM generate_series(1, 7) n \g /dev/null
SELECT twtasks.add_task('VIEWED', task_id => pg_temp.id(8), run_after => '2100-01-01') \g /dev/null
UPDATE twtasks.task SET status = 'PROCESSING' WHERE id = pg_temp.id(2);
UPDATE twtasks.task SET status = 'PROCESSING', queued = false WHERE id = pg_temp.id(3);
UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity' WHERE id = pg_temp.id(4);
SELECT twtasks.hold_task(pg_temp.id(5)), twtasks.cancel_task(pg_temp.id(6)) \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity' WHERE id = pg_temp.id(7);
SELECT twtasks.fail_task(pg_temp.id(7)) \g /dev/null

SELECT is((SELECT string_agg(t.status::text, ' ' ORDER BY t.id) FROM twtasks.tasks t WHERE t.type = 'VIEWED'),
	'SUBMITTED PROCESSING PROCESSING ERROR HELD CANCELLED FAILED WAITING', 'a task of each status is in the view, once');

SELECT unalike(pg_temp.plan_of($$SELECT * FROM twtasks.tasks WHERE status = 'SUBMITTED' LIMIT 20$$), '%NOT queued%',
	'a query for SUBMITTED tasks does not read those that wait for a time');
SELECT unalike(pg_temp.plan_of($$SELECT * FROM twtasks.tasks WHERE status IN ('SUBMITTED', 'PROCESSING')$$), '%finished_task%',
	'... nor, with PROCESSING ones, the history');
SELECT unalike(pg_temp.plan_of($$SELECT * FROM twtasks.tasks WHERE status IN ('WAITING', 'ERROR', 'HELD')$$), '%task_queued%',
	'a query for tasks that wait does not read the queue');
SELECT unalike(pg_temp.plan_of($$SELECT * FROM twtasks.tasks WHERE status IN ('WAITING', 'ERROR', 'HELD')$$), '%finished_task%',
	'... nor the history');
SELECT unalike(pg_temp.plan_of($$SELECT * FROM twtasks.tasks WHERE status = 'DONE'$$), '% on task %',
	'a query for finished tasks reads the history alone');
SELECT matches(pg_temp.plan_of('SELECT t.status FROM (VALUES (gen_random_uuid()), (gen_random_uuid())) v(id) JOIN twtasks.tasks t ON t.id = v.id'),
	'task_pkey.*Index Cond: .id = .*NOT queued', 'a join by id finds live tasks by an index');

SELECT * FROM finish();
ROLLBACK;
