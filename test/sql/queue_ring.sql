--
-- next_triggers(): what it takes, what it gives, and what it refuses.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\i :directory/lib/queue.sql
\set ECHO all
\set SHOW_CONTEXT never
\set next 'NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL'

SELECT twtasks.queue_kind();

-- Wrong arguments.
CALL twtasks_internal.next_triggers(NULL, 10, 0, :next);
CALL twtasks_internal.next_triggers('{}', 10, 0, :next);
CALL twtasks_internal.next_triggers('{a,NULL}', 10, 0, :next);
CALL twtasks_internal.next_triggers('{a,"b c"}', 10, 0, :next);
CALL twtasks_internal.next_triggers(array_fill('a'::text, '{101}'), 10, 0, :next);
CALL twtasks_internal.next_triggers('{a}', NULL, 0, :next);
CALL twtasks_internal.next_triggers('{a}', 0, 0, :next);
CALL twtasks_internal.next_triggers('{a}', -1, 0, :next);
CALL twtasks_internal.next_triggers('{a}', 10001, 0, :next);
CALL twtasks_internal.next_triggers('{a}', 10, NULL, :next);
CALL twtasks_internal.next_triggers('{a}', 10, -1, :next);
CALL twtasks_internal.next_triggers('{a}', 10, 600001, :next);

-- Not where its snapshot would be held: in a block, or in a function.
BEGIN;
CALL twtasks_internal.next_triggers('{a}', 10, 0, :next);
ROLLBACK;
CREATE FUNCTION pg_temp.inside() RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	triggers text;
	sweep boolean;
	due boolean;
BEGIN
	CALL pg_temp.take('a', triggers, sweep, due);
END $$;
\set VERBOSITY sqlstate
SELECT pg_temp.inside();
\set VERBOSITY default

-- Nothing there, and a wait that is over: empty arrays, no NULLs.
\x on
\t on
CALL twtasks_internal.next_triggers('{a}', 10, 0, :next);
CALL twtasks_internal.next_triggers('{a}', 10, 1, :next);

-- Several buckets in one call; the numbers say which of them each is from.
BEGIN;
SELECT count(*) FROM twtasks.add_tasks(ARRAY[
	('A_1', NULL, NULL, NULL, pg_temp.id(1), 5, NULL, 'a', NULL, NULL, NULL),
	('B_1', NULL, NULL, NULL, pg_temp.id(2), 0, NULL, 'b', NULL, NULL, '\x0102'),
	('A_2', NULL, NULL, NULL, pg_temp.id(3), 9, NULL, 'a', NULL, NULL, '\x01020304')]::twtasks.new_task[]);
COMMIT;
CALL twtasks_internal.next_triggers('{b,a}', 10, 0, :next);

-- Not more than wanted; the rest stays, in order of arrival.
SELECT count(twtasks.add_task('N_' || n, bucket => 'a')) FROM generate_series(1, 5) n;
\x off
\t off
CALL twtasks_internal.next_triggers('{a}', 2, 0, :next) \gset
\echo :types
CALL twtasks_internal.next_triggers('{a}', 2, 60000, :next) \gset
\echo :types
CALL twtasks_internal.next_triggers('{a}', 2, 0, :next) \gset
\echo :types

-- A wait ends at once when there is something already.
SELECT result FROM twtasks.add_task('READY', bucket => 'a');
SELECT clock_timestamp() AS before \gset
CALL twtasks_internal.next_triggers('{a}', 10, 600000, :next) \gset
\echo :types
SELECT clock_timestamp() - :'before' < interval '1 minute' AS at_once;

-- The earliest of several times is told, also beside one at the end of time.
SELECT date_trunc('second', now()) + interval '1 h' AS soon \gset
SELECT count(*) FROM (SELECT twtasks.add_task('LATER', bucket => 'a', run_after => :'soon'::timestamptz + interval '1 day')
	UNION ALL SELECT twtasks.add_task('SOON', bucket => 'a', run_after => :'soon')
	UNION ALL SELECT twtasks.add_task('LAST', bucket => 'a', run_after => '294276-12-30')) x;
CALL twtasks_internal.next_triggers('{a}', 10, 0, :next) \gset
SELECT :'due'::timestamptz = :'soon'::timestamptz AS is_soon, :'types' AS types;

-- Waiting leaves nobody behind.
SELECT sum(waiters) FROM twtasks.queue_stats();
