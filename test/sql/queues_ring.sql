--
-- More buckets than queues: a bucket without a queue is served as if twtasks
-- were not preloaded, by notifications and sweeps, and no add fails.
--
-- In a database of its own, because a queue stays with its bucket until its
-- database is dropped.
--
\getenv directory PG_ABS_SRCDIR
\set SHOW_CONTEXT never
\set next 'NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL'
SELECT current_database() AS home \gset
-- Queues of its own, before the others take all.
SELECT twtasks.configure_bucket('a');
CALL twtasks_internal.next_triggers('{default,a}', 10, 0, :next) \gset
CREATE DATABASE regress_twtasks_queues;
\c regress_twtasks_queues
SET client_min_messages = warning;
CREATE EXTENSION twtasks;

-- Nobody can say how many are in use elsewhere: so add until none is left.
DO $$
BEGIN
	FOR i IN 1..current_setting('twtasks.queues')::integer + 1 LOOP
		PERFORM twtasks.configure_bucket('many-' || i);
		PERFORM twtasks.add_task('A', bucket => 'many-' || i);
	END LOOP;
END $$;
SELECT count(*) = current_setting('twtasks.queues')::integer + 1 AS all_added FROM twtasks.task;
SELECT count(*) BETWEEN 1 AND current_setting('twtasks.queues')::integer AS some_have_queues,
	   max(waiting) AS waiting
FROM twtasks.queue_stats();

-- The last one has none: its task is found by a sweep, and its adds are
-- notified.  The others keep theirs, in a call for both.
SELECT 'many-' || current_setting('twtasks.queues')::integer + 1 AS last \gset
SELECT twtasks_internal.lacks_queue(:'last'), twtasks_internal.lacks_queue('many-1');
CALL twtasks_internal.next_triggers(ARRAY[:'last'], 10, 1, :next) \gset
\echo :types :sweep
CALL twtasks_internal.next_triggers(ARRAY[:'last', 'many-1'], 10, 0, :next) \gset
\echo :types :bucket_numbers :sweep
SELECT count(*) FROM twtasks_internal.sweep_tasks(:'last', 10);

-- Another database with the same bucket has another queue: this one never
-- sees the other's triggers.
\c :home
CALL twtasks_internal.next_triggers('{a}', 10000, 0, :next) \gset
SELECT result FROM twtasks.add_task('HOME', bucket => 'a');
CALL twtasks_internal.next_triggers('{a}', 10, 0, :next) \gset
\echo :types

-- When the database is dropped its queues are free for others.
DROP DATABASE regress_twtasks_queues;
CREATE DATABASE regress_twtasks_queues;
\c regress_twtasks_queues
SET client_min_messages = warning;
CREATE EXTENSION twtasks;
SELECT twtasks.configure_bucket('many-1');
SELECT result FROM twtasks.add_task('FRESH', bucket => 'many-1');
SELECT bucket, waiting, pushed, dropped, need_sweep FROM twtasks.queue_stats();
\c :home
DROP DATABASE regress_twtasks_queues;
