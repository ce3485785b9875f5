--
-- A commit notifies, where twtasks is not preloaded: one notification for each
-- bucket, with the triggers of all tasks that were really added, or with a word to
-- sweep.
--
-- psql prints notifications with the number of the server process; what is
-- between two lines "\o" has that taken out.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all
\set show '| sed -E "s/ received from server process with PID [0-9]+//"'
\set SHOW_CONTEXT never

SELECT twtasks.queue_kind();
CREATE PROCEDURE pg_temp.add(type text, n integer, bucket text DEFAULT 'a')
LANGUAGE sql
AS $$ SELECT twtasks.add_task(type, bucket => bucket, task_id => pg_temp.id(n)) $$;
LISTEN twtasks;

-- One for all of a transaction: id, version, priority, size, due, type.
\o :show
BEGIN;
CALL pg_temp.add('KEPT_1', 1);
CALL pg_temp.add('KEPT_2', 2);
COMMIT;
\o

-- One for each bucket.
\o :show
BEGIN;
CALL pg_temp.add('IN_A', 3, 'a');
CALL pg_temp.add('IN_B', 4, 'b');
CALL pg_temp.add('IN_A', 5, 'a');
COMMIT;
\o

-- None for what was rolled back, and none for one that exists already.
\o :show
BEGIN;
CALL pg_temp.add('LOST_1', 6);
ROLLBACK;
CALL pg_temp.add('LOST_2', 1);
\o
\o :show
BEGIN;
CALL pg_temp.add('KEPT_1', 10);
SAVEPOINT a;
CALL pg_temp.add('LOST_1', 11);
SAVEPOINT b;
CALL pg_temp.add('LOST_2', 12);
RELEASE b;
CALL pg_temp.add('LOST_3', 13, 'b');
ROLLBACK TO a;
CALL pg_temp.add('KEPT_2', 14);
COMMIT;
\o
\o :show
DO $$
BEGIN
	BEGIN
		CALL pg_temp.add('LOST_1', 15);
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		CALL pg_temp.add('KEPT_1', 16);
	END;
	COMMIT;
	CALL pg_temp.add('LOST_2', 17);
	ROLLBACK;
	CALL pg_temp.add('KEPT_2', 18);
END $$;
\o

-- A deferred trigger that adds at the commit is in time.
CREATE TEMPORARY TABLE orders (n integer);
CREATE FUNCTION pg_temp.at_commit() RETURNS trigger
LANGUAGE plpgsql
AS $$ BEGIN CALL pg_temp.add('KEPT_1', NEW.n); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON orders
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.at_commit();
\o :show
INSERT INTO orders VALUES (20);
\o

-- Priority, size and time; and what a changed task is notified with.
\o :show
BEGIN;
SELECT FROM twtasks.add_task('FULL', bucket => 'a', task_id => pg_temp.id(30), priority => 0, payload => '\x010203');
SELECT FROM twtasks.add_task('LATER', bucket => 'a', task_id => pg_temp.id(31), run_after => '2100-01-01 00:00:00.000001+00');
COMMIT;
SELECT FROM twtasks.resume_task(pg_temp.id(31), 0);
\o
SELECT pg_temp.state(pg_temp.id(31));

-- Triggers of more than 8 kB, or of more than 1,024 tasks, become a word to sweep.
\o :show
SELECT FROM (SELECT count(twtasks.add_task('LONG', bucket => 'a')) FROM generate_series(1, 200)) x;
SELECT FROM (SELECT count(twtasks.add_task('LONG', bucket => 'a')) FROM generate_series(1, 2000)) x;
\o
SELECT count(*) FROM twtasks_internal.sweep_tasks('a', 10000) WHERE type = 'LONG';

-- PREPARE TRANSACTION is not hindered, and notifies nothing; the sweep finds
-- the task.
\o :show
BEGIN;
CALL pg_temp.add('PREPARED', 40);
PREPARE TRANSACTION 'twtasks notify';
COMMIT PREPARED 'twtasks notify';
\o
SELECT type FROM twtasks_internal.sweep_tasks('a', 10) WHERE type = 'PREPARED';

-- Switched off nothing is notified.
\set ECHO none
\i :directory/lib/switch.sql
\set ECHO all
\o :show
CALL pg_temp.add('OFF', 50);
\o
\set ECHO none
\i :directory/lib/switch.sql
\set ECHO all
\o :show
CALL pg_temp.add('ON', 51);
\o

-- There are no queues to look at or to wait for.
SELECT * FROM twtasks.queue_stats();
CALL twtasks_internal.next_triggers('{a}', 10, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
\set VERBOSITY sqlstate
CALL twtasks_internal.next_triggers('{a}', 10, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
