--
-- The library refuses a column or an attribute of ours that somebody has changed, by
-- its name, but takes the tables of version 1.0.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/statements.sql
SELECT plan(13);
SELECT twtasks.unset_type_options(pattern, 'when_done') FROM twtasks.type_policies \g /dev/null

SELECT pg_temp.node() \g /dev/null

SELECT is(pg_temp.said('ALTER TABLE twtasks.task RENAME sub_type TO kind; SELECT twtasks.add_task($$A$$)'),
	'42804 column "sub_type" of "twtasks.task" does not exist', 'a column that was renamed is refused');
SELECT is(pg_temp.said('ALTER TABLE twtasks.task RENAME planned TO plan; SELECT pg_temp.grab_all()'),
	'42804 column "planned" of "twtasks.task" does not exist', '... by a grab');
SELECT is(pg_temp.said('ALTER TABLE twtasks.task RENAME planned TO plan; SELECT twtasks_internal.sweep_tasks($$default$$, 0, $${A}$$, 100, 3, 10)'),
	'42804 column "planned" of "twtasks.task" does not exist', '... by a sweep');
SELECT is(pg_temp.said('ALTER TABLE twtasks.task RENAME planned TO plan; ALTER TABLE twtasks.task ADD planned timestamptz; SELECT twtasks.add_task($$A$$)'),
	'42804 column "planned" of "twtasks.task" is not at its place', 'a column at another place is refused');
SELECT is(pg_temp.said('SELECT twtasks.add_task($$TEST$$), pg_temp.grab_all(); ALTER TABLE twtasks.finished_task RENAME message TO told; SELECT pg_temp.finish_all($$done$$)'),
	'42804 column "message" of "twtasks.finished_task" does not exist', 'so is one of the history');
SELECT is(pg_temp.said('SELECT twtasks.add_task($$TEST$$), pg_temp.grab_all(); ALTER TABLE twtasks.finished_task RENAME created TO made; ALTER TABLE twtasks.finished_task ADD created timestamptz(0); SELECT pg_temp.finish_all($$done$$)'),
	'42804 column "created" of "twtasks.finished_task" has another type', 'so is one with another precision');
SELECT is(pg_temp.said('SELECT twtasks.add_task($$A$$); ALTER TABLE twtasks.pause RENAME kind TO sort; SELECT pg_temp.grab_all()'),
	'42804 column "kind" of "twtasks.pause" does not exist', 'so is one of the configuration');
SELECT is(pg_temp.said('ALTER TABLE twtasks.node RENAME lease TO let; SELECT pg_temp.grab_all()'),
	'42804 column "lease" of "twtasks.node" does not exist', 'so is one of the nodes');

-- ---- Types ----
CREATE FUNCTION pg_temp.works(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pg_temp.run_one() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT task_id FROM twtasks.add_tasks(ARRAY[jsonb_populate_record(NULL::twtasks.new_task, '{"type": "SQL"}')]));
BEGIN
	PERFORM twtasks_internal.execute_tasks('pg_temp.works', NULL, ids, '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}');
END $$;
SELECT is(pg_temp.said('SELECT pg_temp.run_one()'), 'ok', 'a task runs');
SELECT is(pg_temp.said('ALTER TYPE twtasks.task_input RENAME ATTRIBUTE context TO surroundings; SELECT pg_temp.run_one()'),
	'42804 column "context" of "twtasks.task_input" does not exist', 'an attribute that was renamed is refused');
SELECT is(pg_temp.said('ALTER TYPE twtasks.new_task RENAME ATTRIBUTE expires TO until; SELECT pg_temp.run_one()'),
	'42804 column "expires" of "twtasks.new_task" does not exist', '... where it is read');

-- ---- SQL of version 1.0 ----
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(8)) \g /dev/null
ALTER TABLE twtasks.finished_task RENAME started TO began;
SELECT is(pg_temp.finish(pg_temp.id(8), 'done', 1), 'DONE', 'a history without the column takes the task');
SELECT is((SELECT status FROM twtasks.finished_task WHERE id = pg_temp.id(8)), 'DONE', '... in full');

SELECT * FROM finish();
ROLLBACK;
