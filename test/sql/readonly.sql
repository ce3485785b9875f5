--
-- Adding is writing: refused in a read-only transaction and in a parallel
-- worker, with the SQLSTATE that says so.
--
\set SHOW_CONTEXT never
\set VERBOSITY sqlstate

BEGIN READ ONLY;
SELECT * FROM twtasks.add_task('A');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM twtasks.add_task('A', key => 'k');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM twtasks.add_tasks('[{"type": "A"}]'::jsonb);
ROLLBACK;
SET default_transaction_read_only = on;
SELECT * FROM twtasks.add_task('A');
RESET default_transaction_read_only;
\set VERBOSITY default
BEGIN READ ONLY;
SELECT * FROM twtasks.add_task('A');
ROLLBACK;

-- Looking is not writing.
BEGIN READ ONLY;
SELECT count(*) FROM twtasks.tasks WHERE type = 'READONLY';
SELECT count(*) FROM twtasks_internal.sweep_tasks('readonly', 10);
ROLLBACK;

-- A function that writes is parallel unsafe, so the planner never sends it to a
-- worker.  These functions that somebody may call do not write.
SELECT p.oid::regprocedure
FROM pg_proc p
WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND p.proparallel <> 'u'
  AND EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner)
ORDER BY p.proname, p.pronargs;
SELECT p.oid::regprocedure
FROM pg_proc p
WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace) AND p.provolatile <> 'v'
  AND EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner)
ORDER BY p.proname, p.pronargs;

-- With the planner told to use workers wherever it can, adds stay where they
-- are, and all of them are there.
SELECT name AS parallel FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET :parallel = on;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
CREATE TABLE orders AS SELECT n FROM generate_series(1, 1000) n;
ANALYZE orders;
EXPLAIN (COSTS off) SELECT count(*) FROM orders WHERE n % 2 = 0;
EXPLAIN (COSTS off) SELECT count(twtasks.add_task('READONLY')) FROM orders WHERE n % 2 = 0;
SELECT count(twtasks.add_task('READONLY')) FROM orders WHERE n % 2 = 0;
SELECT count(*) FROM twtasks.task WHERE type = 'READONLY';

-- A function that lies about itself is found out by the server.
CREATE FUNCTION add_in_worker() RETURNS text
LANGUAGE plpgsql PARALLEL SAFE
AS $$ BEGIN RETURN (SELECT result FROM twtasks.add_task('LIED')); END $$;
\set VERBOSITY sqlstate
SELECT count(add_in_worker()) FROM orders;
\set VERBOSITY default
SELECT count(*) FROM twtasks.task WHERE type = 'LIED';

DROP FUNCTION add_in_worker;
DROP TABLE orders;
DELETE FROM twtasks.task WHERE type = 'READONLY';
