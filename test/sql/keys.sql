--
-- Keys and ids of the caller's: one task for each, for as long as the task is
-- kept.  A second add tells which task was first and changes nothing.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all

-- The keys and ids that tasks hold.
CREATE VIEW pg_temp.held AS
	SELECT right(k.task_id::text, 2) AS id, k.key, pg_temp.state(k.task_id) AS task
	FROM twtasks.unique_key k WHERE k.task_id <= pg_temp.id(99)
	ORDER BY 1;

-- By id.
SELECT right(task_id::text, 2) AS id, version, result FROM twtasks.add_task('A', task_id => pg_temp.id(1));
SELECT right(task_id::text, 2) AS id, version, result FROM twtasks.add_task('A', task_id => pg_temp.id(1));

-- By key: the answer names the first task, whatever else the second call says.
SELECT task_id AS first FROM twtasks.add_task('A', '{"n": 1}', key => 'order-7') \gset
SELECT task_id = :'first' AS same, version, result
FROM twtasks.add_task('B', '{"n": 2}', key => 'order-7', priority => 0, bucket => 'b');
SELECT type, data, priority, bucket FROM twtasks.task WHERE id = :'first';

-- By both: the same pair is the same task; the key alone, or the id alone,
-- finds it as well, and the same key under a new id is still the first task.
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(2), key => 'both');
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(2), key => 'both');
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', key => 'both');
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(2));
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(3), key => 'both');
SELECT * FROM pg_temp.held;

-- Keys differ by every byte: case, spaces, and a composed or a combined letter.
SELECT count(*), count(*) FILTER (WHERE result = 'added') AS added
FROM unnest(ARRAY['k', 'K', ' k', 'k ', U&'\00E4', U&'a\0308', 'order-7']) k(key),
	twtasks.add_task('A', key => k.key);

-- In one call: the first of the same name wins, also over one with the same key.
SELECT n, right(task_id::text, 2) AS id, version, result
FROM twtasks.add_tasks(ARRAY[
	('A', NULL, NULL, 'batch', pg_temp.id(20), NULL, NULL, NULL, NULL, NULL, NULL),
	('A', NULL, NULL, NULL, pg_temp.id(21), NULL, NULL, NULL, NULL, NULL, NULL),
	('A', NULL, NULL, 'batch', pg_temp.id(22), NULL, NULL, NULL, NULL, NULL, NULL),
	('A', NULL, NULL, NULL, pg_temp.id(21), NULL, NULL, NULL, NULL, NULL, NULL),
	('A', NULL, NULL, 'batch', NULL, NULL, NULL, NULL, NULL, NULL, NULL)]::twtasks.new_task[])
	WITH ORDINALITY r(task_id, version, result, n)
ORDER BY n;
SELECT count(DISTINCT task_id) AS tasks, array_agg(result) AS results
FROM twtasks.add_tasks('[{"type": "A", "key": "json"}, {"type": "A", "key": "json"}]'::jsonb);

-- In one transaction, and after a savepoint that gave its key back.
BEGIN;
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(30), key => 'tx');
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(30), key => 'tx');
SAVEPOINT s;
SELECT result FROM twtasks.add_task('A', task_id => pg_temp.id(31), key => 'undone');
ROLLBACK TO s;
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(32), key => 'undone');
COMMIT;

-- A key lives through every status, and the version told is the one now.
SELECT s.status, r.version, r.result
FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY s(status, n)
CROSS JOIN LATERAL pg_temp.task_in(s.status, pg_temp.id(40 + s.n::integer)) t(id)
CROSS JOIN LATERAL twtasks.add_task('A', task_id => t.id) r
ORDER BY s.n;

-- It goes with the task when the worker says "delete" ...
SELECT right(task_id::text, 2) AS id, result FROM twtasks.add_task('A', task_id => pg_temp.id(60), key => 'deleted');
SELECT pg_temp.grab(pg_temp.id(60)), pg_temp.finish(pg_temp.id(60), 'delete');
SELECT right(task_id::text, 2) AS id, version, result FROM twtasks.add_task('A', task_id => pg_temp.id(60), key => 'deleted');

-- ... and when the history is cleaned, but not before.
SELECT pg_temp.grab(pg_temp.id(60)), pg_temp.finish(pg_temp.id(60), 'done');
SELECT right(task_id::text, 2) AS id, version, result FROM twtasks.add_task('A', key => 'deleted');
UPDATE twtasks.finished_task SET state_time = state_time - interval '2 days' WHERE id = pg_temp.id(60);
SELECT twtasks_internal.clean_older('3 days');
SELECT right(task_id::text, 2) AS id, version, result FROM twtasks.add_task('A', key => 'deleted');
SELECT twtasks_internal.clean_older('1 day');
SELECT task_id <> pg_temp.id(60) AS another, version, result FROM twtasks.add_task('A', key => 'deleted');

-- An id that was generated is as unique as one that was given: whoever names
-- it later, while its task lives or is history, finds that task.
SELECT task_id AS generated FROM twtasks.add_task('A') \gset
SELECT task_id = :'generated' AS same, version, result FROM twtasks.add_task('A', task_id => :'generated');
SELECT task_id AS generated FROM twtasks.add_task('A') \gset
SELECT pg_temp.grab(:'generated'), pg_temp.finish(:'generated', 'done');
SELECT task_id = :'generated' AS same, version, result FROM twtasks.add_task('A', task_id => :'generated');
SELECT pg_temp.state(:'generated');

-- Nothing is held without need: no row for a generated id, none that was not
-- added.
SELECT count(*) FROM twtasks.unique_key k
WHERE NOT EXISTS (SELECT FROM twtasks.tasks t WHERE t.id = k.task_id);
SELECT * FROM pg_temp.held;

-- However long the history is, an add that finds its task there looks, and
-- locks, from the day of the task's id on; without one in the id, everywhere.
CREATE PROCEDURE pg_temp.make_days() LANGUAGE plpgsql
AS $$
DECLARE
	day date;
BEGIN
	FOR day IN SELECT d::date FROM generate_series('2020-01-01'::date, '2020-04-30', '1 day') d LOOP
		EXECUTE format('CREATE TABLE twtasks.finished_task_%s PARTITION OF twtasks.finished_task FOR VALUES FROM (%L) TO (%L)',
					   to_char(day, 'YYYYMMDD'), day || ' 00:00:00+00', day + 1 || ' 00:00:00+00');
	END LOOP;
END $$;
CALL pg_temp.make_days();
SELECT pg_temp.task_in('DONE', pg_temp.id(90)) AS other, pg_temp.task_in('DONE') AS ours \gset
INSERT INTO twtasks.unique_key (task_id, key) VALUES (:'ours', 'long ago');
CREATE FUNCTION pg_temp.parts_locked() RETURNS text LANGUAGE sql
AS $$ SELECT CASE WHEN count(*) > 100 THEN 'all' ELSE 'few' END FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
	WHERE l.pid = pg_backend_pid() AND c.relname ~ '^finished_task_[0-9]{8}$' $$;
BEGIN;
SELECT version, result FROM twtasks.add_task('A', key => 'long ago');
SELECT pg_temp.parts_locked();
COMMIT;
BEGIN;
SELECT version, result FROM twtasks.add_task('A', task_id => pg_temp.id(90));
SELECT pg_temp.parts_locked();
COMMIT;
-- A time in an id that the history contradicts: it is found all the same.
SELECT pg_temp.task_in('DONE', 'f1a20491-5311-7122-adcb-7d206eed1c4a') AS future \gset
SELECT version, result FROM twtasks.add_task('A', task_id => :'future');
SELECT count(twtasks_internal.clean_older('1000 days')) FROM generate_series(1, 121);
