--
-- Too many triggers, or none wanted: nothing is lost, because a sweep is asked
-- for and finds every task.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\i :directory/lib/queue.sql
\set ECHO all
\set take 'CALL pg_temp.take(''a'', NULL, NULL, NULL);'

-- Up to 1,024 adds in a transaction each is published ...
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 1024);
SELECT waiting, need_sweep FROM twtasks.queue_stats() WHERE bucket = 'a';
CALL pg_temp.take('a', NULL, NULL, NULL) \gset
\echo :sweep
TRUNCATE twtasks.task;

-- ... above that the bucket is told to sweep, once, and the sweep finds all.
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 1025);
SELECT waiting, need_sweep FROM twtasks.queue_stats() WHERE bucket = 'a';
SELECT count(DISTINCT id) FROM twtasks_internal.sweep_tasks('a', 100000);
CALL pg_temp.take('a', NULL, NULL, NULL) \gset
\echo :sweep
:take
TRUNCATE twtasks.task;

-- The limit is the transaction's: each bucket that was cut short is told.
BEGIN;
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 1024);
SELECT result FROM twtasks.add_task('LATE', bucket => 'b');
COMMIT;
SELECT bucket, waiting, need_sweep FROM twtasks.queue_stats() WHERE bucket IN ('a', 'b') ORDER BY bucket;
SELECT type FROM twtasks_internal.sweep_tasks('b', 10);
CALL pg_temp.take('a', NULL, NULL, NULL) \gset
CALL pg_temp.take('b', NULL, NULL, NULL);
TRUNCATE twtasks.task;

-- Rolled back adds make room again; a transaction that is rolled back after
-- the limit asks for nothing.
BEGIN;
SAVEPOINT s;
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 1024);
ROLLBACK TO s;
SELECT result FROM twtasks.add_task('KEPT_1', bucket => 'a');
COMMIT;
:take
BEGIN;
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 2000);
ROLLBACK;
:take
BEGIN;
SAVEPOINT s;
SELECT count(twtasks.add_task('BULK', bucket => 'a')) FROM generate_series(1, 2000);
ROLLBACK TO s;
SELECT result FROM twtasks.add_task('KEPT_1', bucket => 'a');
COMMIT;
SELECT type FROM twtasks_internal.sweep_tasks('a', 10) ORDER BY id;
CALL pg_temp.take('a', NULL, NULL, NULL) \gset
\echo :triggers
TRUNCATE twtasks.task;

-- A full queue: commits go on, the triggers that found no room are counted,
-- and the sweep finds the tasks of all, of those in the queue and of the others.
CREATE PROCEDURE pg_temp.fill(OUT overflowed boolean, OUT tasks bigint)
LANGUAGE plpgsql
AS $$
DECLARE
	before CONSTANT bigint := (SELECT dropped FROM twtasks.queue_stats() WHERE bucket = 'a');
	size CONSTANT bigint := current_setting('twtasks.queue_size')::bigint;
BEGIN
	tasks := 0;
	LOOP
		PERFORM twtasks.add_task('FILL', bucket => 'a') FROM generate_series(1, 1000);
		COMMIT;
		tasks := tasks + 1000;
		overflowed := (SELECT dropped FROM twtasks.queue_stats() WHERE bucket = 'a') > before;
		EXIT WHEN overflowed OR tasks > size + 1000;
	END LOOP;
	-- How many were dropped is no secret: all that did not fit.
	IF tasks - size <> (SELECT dropped FROM twtasks.queue_stats() WHERE bucket = 'a') - before THEN
		RAISE WARNING 'dropped % of %, room for %',
			(SELECT dropped FROM twtasks.queue_stats() WHERE bucket = 'a') - before, tasks, size;
	END IF;
	tasks := tasks - (SELECT count(DISTINCT id) FROM twtasks_internal.sweep_tasks('a', 10000000));
END $$;
CALL pg_temp.fill(NULL, NULL) \gset
\echo overflowed :overflowed, tasks that the sweep misses: :tasks
SELECT waiting = current_setting('twtasks.queue_size')::bigint AS is_full, need_sweep
FROM twtasks.queue_stats() WHERE bucket = 'a';
-- The session that takes from it is told to sweep, and gets each trigger once.
-- The queue then works as before.
CREATE TEMPORARY TABLE taken (n bigint, id uuid);
CREATE PROCEDURE pg_temp.drain(OUT told_to_sweep boolean, OUT all_of_them boolean)
LANGUAGE plpgsql
AS $$
DECLARE
	ids uuid[];
	sweeps text[];
	x1 bigint[]; x2 text[]; x3 smallint[]; x4 integer[]; x5 integer[]; x6 timestamptz; x7 boolean;
BEGIN
	told_to_sweep := false;
	LOOP
		CALL twtasks_internal.next_triggers('{a}', 5000, 0, ids, x1, x2, x3, x4, x5, x6, sweeps, x7);
		told_to_sweep := told_to_sweep OR cardinality(sweeps) > 0;
		EXIT WHEN cardinality(ids) = 0;
		INSERT INTO taken SELECT u.n, u.id FROM unnest(ids) WITH ORDINALITY u(id, n);
	END LOOP;
	SELECT count(DISTINCT t.id) = current_setting('twtasks.queue_size')::bigint AND count(*) = count(DISTINCT t.id)
	INTO all_of_them
	FROM taken t JOIN twtasks.task USING (id);
END $$;
CALL pg_temp.drain(NULL, NULL);
TRUNCATE twtasks.task;
SELECT result FROM twtasks.add_task('KEPT_1', bucket => 'a');
:take

-- Switched off: tasks can be added and wait, nothing is published, nothing is
-- grabbed.  On again, the sweep finds them.
\set ECHO none
\i :directory/lib/switch.sql
\set ECHO all
TRUNCATE twtasks.task;
CALL pg_temp.take('a', NULL, NULL, NULL) \gset
SELECT result FROM twtasks.add_task('OFF', bucket => 'a', task_id => pg_temp.id(1));
SELECT count(twtasks.add_task('OFF', bucket => 'a')) FROM generate_series(1, 1030);
:take
SELECT pg_temp.grab(pg_temp.id(1)) AS grabbed;
\set ECHO none
\i :directory/lib/switch.sql
\set ECHO all
SELECT count(*) FROM twtasks_internal.sweep_tasks('a', 100000);
SELECT pg_temp.grab(pg_temp.id(1)) AS grabbed;
