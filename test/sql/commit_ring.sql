--
-- A commit publishes a trigger for each task that the transaction really added,
-- and nothing else.  Tasks of type KEPT_n must be there,
-- those of type LOST_n must not.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\i :directory/lib/queue.sql
\set ECHO all
\set take 'CALL pg_temp.take(''a'', NULL, NULL, NULL);'

\set SHOW_CONTEXT never

CREATE PROCEDURE pg_temp.add(type text, bucket text DEFAULT 'a')
LANGUAGE sql
AS $$ SELECT twtasks.add_task(type, bucket => bucket) $$;

-- Nothing before the commit, nothing after a rollback, nothing twice.
BEGIN;
CALL pg_temp.add('KEPT_1');
SELECT bucket, waiting FROM twtasks.queue_stats() WHERE bucket = 'a';
COMMIT;
BEGIN;
CALL pg_temp.add('LOST_1');
ROLLBACK;
BEGIN;
CALL pg_temp.add('LOST_2');
SELECT 1 / 0;
COMMIT;
:take
:take

-- Without a transaction block; and two statements sent as one, of which the
-- second fails and undoes the first.
CALL pg_temp.add('KEPT_1');
CALL pg_temp.add('LOST_1')\; SELECT 1 / 0;
:take

-- Savepoints: rolled back, released, and used again after being rolled back to.
BEGIN;
CALL pg_temp.add('KEPT_1');
SAVEPOINT s;
CALL pg_temp.add('LOST_1');
ROLLBACK TO s;
CALL pg_temp.add('KEPT_2');
SAVEPOINT t;
CALL pg_temp.add('KEPT_3');
RELEASE t;
COMMIT;
:take

-- Released into a savepoint that is rolled back afterwards: lost, with all
-- that was added before, between and after on the way.
BEGIN;
CALL pg_temp.add('KEPT_1');
SAVEPOINT a;
CALL pg_temp.add('LOST_1');
SAVEPOINT b;
CALL pg_temp.add('LOST_2');
SAVEPOINT c;
CALL pg_temp.add('LOST_3');
RELEASE c;
CALL pg_temp.add('LOST_4');
RELEASE b;
CALL pg_temp.add('LOST_5');
ROLLBACK TO a;
CALL pg_temp.add('KEPT_2');
COMMIT;
:take

-- The triggers of two released children survive the rollback of a third.
BEGIN;
SAVEPOINT a;
CALL pg_temp.add('KEPT_1');
SAVEPOINT b;
CALL pg_temp.add('KEPT_2');
RELEASE b;
CALL pg_temp.add('KEPT_3');
SAVEPOINT c;
CALL pg_temp.add('LOST_1');
ROLLBACK TO c;
CALL pg_temp.add('KEPT_4');
COMMIT;
:take

-- An error inside a savepoint.
BEGIN;
CALL pg_temp.add('KEPT_1');
SAVEPOINT s;
CALL pg_temp.add('LOST_1');
SELECT 1 / 0;
ROLLBACK TO s;
COMMIT;
:take

-- EXCEPTION blocks: what the block added goes with it, what a handler adds
-- stays, at every depth.
DO $$
BEGIN
	CALL pg_temp.add('KEPT_1');
	BEGIN
		CALL pg_temp.add('LOST_1');
		BEGIN
			CALL pg_temp.add('LOST_2');
		EXCEPTION WHEN division_by_zero THEN
		END;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		CALL pg_temp.add('KEPT_2');
		BEGIN
			CALL pg_temp.add('KEPT_3');
			BEGIN
				CALL pg_temp.add('LOST_3');
				RAISE division_by_zero;
			EXCEPTION WHEN division_by_zero THEN
			END;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END;
END $$;
:take

-- A batch that is refused leaves no trigger of its first tasks.
DO $$
BEGIN
	PERFORM twtasks.add_tasks('[{"type": "LOST_1", "bucket": "a"}, {"type": "LOST_2", "bucket": "a"}, {"type": ""}]'::jsonb);
EXCEPTION WHEN invalid_parameter_value THEN
	PERFORM twtasks.add_tasks('[{"type": "KEPT_1", "bucket": "a"}, {"type": "KEPT_2", "bucket": "a"}]'::jsonb);
END $$;
:take

-- A task that exists already is not published again.
SELECT result FROM twtasks.add_task('KEPT_1', key => 'k', bucket => 'a');
SELECT result FROM twtasks.add_task('LOST_1', key => 'k', bucket => 'a');
:take

-- Chained transactions publish their own, each at its commit.
BEGIN;
CALL pg_temp.add('KEPT_1');
COMMIT AND CHAIN;
SELECT waiting FROM twtasks.queue_stats() WHERE bucket = 'a';
CALL pg_temp.add('LOST_1');
ROLLBACK AND CHAIN;
CALL pg_temp.add('KEPT_2');
SELECT waiting FROM twtasks.queue_stats() WHERE bucket = 'a';
COMMIT;
:take

-- A procedure and a block of code that end transactions on their way.
CREATE PROCEDURE pg_temp.work()
LANGUAGE plpgsql
AS $$
BEGIN
	CALL pg_temp.add('KEPT_1');
	COMMIT;
	CALL pg_temp.add('LOST_1');
	ROLLBACK;
	CALL pg_temp.add('KEPT_2');
	COMMIT;
	CALL pg_temp.add('LOST_2');
	RAISE division_by_zero;
END $$;
CALL pg_temp.work();
:take
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		CALL pg_temp.add('KEPT_' || i);
		COMMIT;
		CALL pg_temp.add('LOST_' || i);
		ROLLBACK;
	END LOOP;
END $$;
:take

-- Deferred triggers run at the commit: what one adds is included, and when
-- one fails nothing is published.
CREATE TEMPORARY TABLE orders (n integer);
CREATE FUNCTION pg_temp.at_commit() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
	CALL pg_temp.add(CASE WHEN NEW.n > 0 THEN 'KEPT_' ELSE 'LOST_' END || abs(NEW.n));
	IF NEW.n <= 0 THEN
		RAISE EXCEPTION 'n must be positive';
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON orders
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.at_commit();
BEGIN;
CALL pg_temp.add('KEPT_1');
INSERT INTO orders VALUES (2), (3);
COMMIT;
:take
BEGIN;
CALL pg_temp.add('LOST_1');
INSERT INTO orders VALUES (2), (0);
COMMIT;
:take

-- Each bucket gets its own.
BEGIN;
CALL pg_temp.add('IN_A');
CALL pg_temp.add('IN_B', 'b');
CALL pg_temp.add('IN_A_TOO');
COMMIT;
:take
CALL pg_temp.take('b', NULL, NULL, NULL);

-- Every change that lets a task run is published with its new version; one
-- that is to wait tells its time instead.
SELECT task_id AS task FROM twtasks.add_task('WAITING', bucket => 'a', run_after => now() + interval '1 h') \gset
:take
SELECT result FROM twtasks.reschedule_task(:'task', 0, now() - interval '1 h');
:take
SELECT promoted FROM twtasks_internal.promote_tasks();
:take
SELECT pg_temp.grab(:'task'), pg_temp.finish(:'task', 'release');
:take
SELECT pg_temp.grab(:'task'), pg_temp.finish(:'task', 'retry', delay_ms => 3600000);
:take
SELECT result FROM twtasks.resume_task(:'task', 6);
:take
SELECT pg_temp.grab(:'task', timeout_ms => 0, rule => 'retry');
SELECT retried FROM twtasks_internal.recover_tasks();
:take
-- These let nothing run.
SELECT pg_temp.grab(:'task'), pg_temp.finish(:'task', 'error');
SELECT pg_temp.state(:'task');
SELECT result FROM twtasks.hold_task(:'task', 11);
:take

-- PREPARE TRANSACTION takes the triggers with it.  COMMIT PREPARED asks for a
-- sweep, which finds the task, and for duties.  Nobody finds the task of the
-- transaction that rolls back, and no other transaction asks.
BEGIN;
CALL pg_temp.add('PREPARED', 'b');
PREPARE TRANSACTION 'twtasks committed';
BEGIN;
CALL pg_temp.add('LOST_1', 'b');
PREPARE TRANSACTION 'twtasks rolled back';
SELECT type FROM twtasks_internal.sweep_tasks('b', 10) WHERE type IN ('PREPARED', 'LOST_1');
ROLLBACK PREPARED 'twtasks rolled back';
CALL pg_temp.take('b', NULL, NULL, NULL);
COMMIT PREPARED 'twtasks committed';
CALL pg_temp.take('b', NULL, NULL, NULL);
SELECT type FROM twtasks_internal.sweep_tasks('b', 10) WHERE type IN ('PREPARED', 'LOST_1');
BEGIN;
PREPARE TRANSACTION 'twtasks committed';
COMMIT PREPARED 'twtasks committed';
CALL pg_temp.take('b', NULL, NULL, NULL);
