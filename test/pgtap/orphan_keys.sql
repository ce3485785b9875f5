--
-- A key is free when its task is gone, however that came: its table was emptied,
-- its day dropped, or a dump restored in part.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(13);

CREATE FUNCTION pg_temp.add(key text) RETURNS text LANGUAGE sql AS $$ SELECT result FROM twtasks.add_task('A', key => add.key) $$;

SELECT is(pg_temp.add('live'), 'added', 'a task is added with a key');
SELECT is(pg_temp.add('live'), 'already_exists', 'the key of a live task is taken');
SELECT is(pg_temp.add('finished'), 'added', 'another one is added');
SELECT twtasks.cancel_task(twtasks.id_of('finished')) \g /dev/null
SELECT is(pg_temp.add('finished'), 'already_exists', 'the key of a finished task is taken');

-- Keys without tasks.
TRUNCATE twtasks.task;
SELECT is(pg_temp.add('live'), 'added', 'TRUNCATE twtasks.task frees the keys of its tasks');
SELECT is(pg_temp.add('live'), 'already_exists', 'for one task');
SELECT is(pg_temp.add('finished'), 'already_exists', 'the history keeps its keys');
TRUNCATE twtasks.finished_task;
SELECT is(pg_temp.add('finished'), 'added', 'a key is free without the history of its task');
SELECT is((SELECT count(*) FROM twtasks.unique_key k JOIN twtasks.task t ON t.id = k.task_id AND t.key = k.key), 2::bigint, 'each key names its new task');

-- Ids of callers, and many at once.
SELECT twtasks.add_task('A', task_id => pg_temp.id(1)) \g /dev/null
TRUNCATE twtasks.task;
SELECT is((twtasks.add_task('A', task_id => pg_temp.id(1))).result, 'added', 'an id that the caller gave is free too');
SELECT is((SELECT array_agg(a.result) FROM twtasks.add_tasks('[{"type": "A", "key": "live"}, {"type": "A", "key": "live"}, {"type": "A", "key": "new"}]'::jsonb) a),
	'{added,already_exists,added}', 'the same goes for many tasks in one call');

-- A copy may be incomplete until it is adopted.
TRUNCATE twtasks.task;
UPDATE twtasks.adoption SET ended = now() WHERE ended IS NULL;
SELECT is(pg_temp.add('live'), 'already_exists', 'a copy that is not adopted keeps its keys');
SELECT twtasks.adopt(NULL) \g /dev/null
SELECT is(pg_temp.add('live'), 'added', 'until it is adopted');

SELECT * FROM finish();
ROLLBACK;
