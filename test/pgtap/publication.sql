--
-- In a database whose tables are all published nothing of ours fails, and each
-- row that is changed or deleted can be told.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(9);
SELECT twtasks_internal.make_partitions(1) \g /dev/null

SET LOCAL client_min_messages = error;	-- wal_level
CREATE PUBLICATION everything FOR ALL TABLES;
RESET client_min_messages;
SELECT is(ARRAY(
		SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relkind IN ('r', 'p') AND c.relreplident <> 'f'
		  AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
		ORDER BY c.relname COLLATE "C"),
	'{transition}'::name[], 'each table but the one that nothing changes has an identity');

SELECT pg_temp.task_in('FAILED', pg_temp.id(1)) AS task \gset
SELECT is(pg_temp.change('reopen', :'task', 3), 'changed', 'a finished task is opened again');
SELECT is(pg_temp.change('cancel', :'task', 4), 'changed', 'a reopened task is cancelled');
SELECT lives_ok($$SELECT pg_temp.task_in(s, pg_temp.id(9 + n::integer))
	FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY x(s, n)$$, 'tasks take every way');

-- A day of long ago, and rows of none.
DO $$
BEGIN
	CREATE TABLE twtasks.finished_task_20200101 PARTITION OF twtasks.finished_task FOR VALUES FROM ('2020-01-01 00:00:00+00') TO ('2020-01-02 00:00:00+00');
	INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket)
	SELECT pg_temp.id(100 + n), 1, t, t, 'DONE', 1, 5, 'OLD', 'default'
	FROM (VALUES (1, '2020-01-01 12:00:00+00'::timestamptz), (2, '2019-06-01 12:00:00+00')) x(n, t);
	INSERT INTO twtasks.unique_key (task_id, key) SELECT pg_temp.id(100 + n), 'key ' || n FROM generate_series(1, 2) n;
END $$;
SELECT is(twtasks_internal.clean_tasks(), 'finished_task_20200101', 'a day is dropped');
SELECT is(twtasks_internal.clean_tasks(), NULL, 'rows without a partition are deleted');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(100 + n)) FROM generate_series(1, 2) n), '{none,none}'::text[], 'the cleaned tasks are gone');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key LIKE 'key %'), 0::bigint, 'the keys of the cleaned tasks are gone');
SELECT lives_ok($$UPDATE twtasks.finished_task SET error = 'redacted'$$, 'the history may be redacted');

SELECT * FROM finish();
ROLLBACK;
