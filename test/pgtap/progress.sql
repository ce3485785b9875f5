--
-- Progress of running tasks: the last report counts while the task runs in that
-- version, and a finish pays nothing for it.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(17);
CREATE ROLE regress_producer IN ROLE twtasks_producer;
CREATE ROLE regress_viewer IN ROLE twtasks_viewer;

CREATE FUNCTION pg_temp.note(task_id uuid, percent bigint, note text DEFAULT NULL, expected bigint DEFAULT 1) RETURNS bigint
LANGUAGE sql AS $$ SELECT twtasks_internal.note_progress(ARRAY[task_id], ARRAY[expected], ARRAY[percent], ARRAY[note]) $$;
CREATE FUNCTION pg_temp.seen(task_id uuid) RETURNS text
LANGUAGE sql AS $$ SELECT concat_ws(' ', p.percent, p.note) FROM twtasks.progress p WHERE p.id = task_id $$;

SET LOCAL ROLE regress_producer;
SELECT task_id AS task FROM twtasks.add_task('A') \gset
RESET ROLE;
SELECT is(pg_temp.note(:'task', 10), 0::bigint, 'a task that does not run has no progress');
SELECT pg_temp.grab(:'task') \g /dev/null
SELECT is(pg_temp.note(:'task', 40, 'page 2 of 5'), 1::bigint, 'a running task has one');
SELECT is(pg_temp.seen(:'task'), '40 page 2 of 5', 'the view has it');
SELECT is(pg_temp.note(:'task', 60), 1::bigint, 'the next report replaces it');
SELECT is(pg_temp.seen(:'task'), '60', '... with its note');
SELECT is(pg_temp.note(:'task', 70, 'old', 0), 1::bigint, 'a report about another version is dropped');
SELECT is(pg_temp.seen(:'task'), '60', '... and changes nothing');
SELECT pg_temp.note(:'task', 600, repeat('n', 300)) \g /dev/null
SELECT is(pg_temp.seen(:'task'), '100 ' || repeat('n', 200), 'a percentage and a note have bounds');
SELECT matches((SELECT sentence FROM twtasks.why(:'task')), '; its handler reported 100 % at .*: nnn', 'why() tells of it');

SET LOCAL ROLE regress_producer;
SELECT is((SELECT progress || left(progress_note, 3) FROM twtasks.own_tasks WHERE id = :'task'), '100nnn', 'the role that added the task sees it');
SELECT throws_ok('SELECT percent FROM twtasks.progress', '42501', NULL, 'but not that of others');
SET LOCAL ROLE regress_viewer;
SELECT is((SELECT count(*) FROM twtasks.progress), 1::bigint, 'a viewer sees all');
RESET ROLE;

-- A finish leaves the row; nobody sees it, and the next call deletes it.
SELECT pg_temp.finish(:'task', 'retry', delay_ms => 60000) \g /dev/null
SELECT is(pg_temp.seen(:'task'), NULL, 'a task that waits for its retry has none');
SELECT is((SELECT count(*) FROM twtasks.task_progress), 1::bigint, 'the finish did not touch the row');
SELECT twtasks_internal.clean_tasks() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.task_progress), 0::bigint, 'cleaning deletes it');
SELECT is(twtasks_internal.note_progress('{}', '{}', '{}', '{}'), 0::bigint, 'an empty report asks what is left');
SELECT throws_ok($$SELECT twtasks_internal.note_progress('{}', '{1}', '{}', '{}')$$, '22023', NULL, 'arrays that do not match are refused');

SELECT * FROM finish();
ROLLBACK;
