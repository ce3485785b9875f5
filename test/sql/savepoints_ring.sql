--
-- Thousands of savepoints in a transaction: the triggers published are those
-- of the tasks that are there, whatever was released or rolled back.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\i :directory/lib/queue.sql
\set ECHO all

-- Tasks that are there, triggers in the queue, and how many belong together;
-- type "T_n" was added at step n.
CREATE PROCEDURE pg_temp.compare(
	OUT tasks bigint, OUT triggers bigint, OUT matching bigint, OUT first text, OUT last text, OUT sweep boolean)
LANGUAGE plpgsql
AS $$
DECLARE
	found text;
	due boolean;
	names text[];
BEGIN
	CALL pg_temp.take('a', found, sweep, due);
	names := CASE WHEN found = 'none' THEN '{}' ELSE string_to_array(found, ', ') END;
	triggers := cardinality(names);
	SELECT count(*), count(*) FILTER (WHERE t.type = ANY (names)),
		   min(t.type COLLATE "C"), max(t.type COLLATE "C")
	INTO tasks, matching, first, last
	FROM twtasks.task t WHERE t.bucket = 'a';
	DELETE FROM twtasks.task t WHERE t.bucket = 'a';
END $$;
\set compare 'CALL pg_temp.compare(NULL, NULL, NULL, NULL, NULL, NULL);'

CREATE PROCEDURE pg_temp.add(step integer)
LANGUAGE sql
AS $$ SELECT twtasks.add_task('T_' || to_char(step, 'FM00000'), bucket => 'a') $$;

-- 10,000 savepoints in each other, a task in every 20th.  The inner half is
-- rolled back.
CREATE TEMPORARY VIEW nested AS
	SELECT n, CASE WHEN part = 1 THEN format('SAVEPOINT s%s', n) ELSE format('CALL pg_temp.add(%s)', n) END AS statement
	FROM generate_series(1, 10000) n, generate_series(1, 2) part
	WHERE part = 1 OR n % 20 = 0
	ORDER BY n, part;
BEGIN;
\set ECHO none
SELECT statement FROM nested \gexec
\set ECHO all
ROLLBACK TO s5001;
COMMIT;
:compare

-- The same, but what is inside 2,501 is released first, then all inside
-- 1,001 is rolled back: what was released goes with it.
BEGIN;
\set ECHO none
SELECT statement FROM nested \gexec
\set ECHO all
RELEASE s2501;
CALL pg_temp.add(20000);
ROLLBACK TO s1001;
CALL pg_temp.add(20001);
COMMIT;
:compare

-- All of it released, none of it, and an end by COMMIT alone.
BEGIN;
\set ECHO none
SELECT statement FROM nested \gexec
\set ECHO all
RELEASE s1;
COMMIT;
:compare
BEGIN;
\set ECHO none
SELECT statement FROM nested \gexec
\set ECHO all
ROLLBACK;
:compare
BEGIN;
\set ECHO none
SELECT statement FROM nested \gexec
\set ECHO all
COMMIT;
:compare

-- 10,000 EXCEPTION blocks one after the other, a task in every 10th, half of
-- them undone; more subtransactions than the server keeps in memory.
DO $$
BEGIN
	FOR n IN 1..10000 LOOP
		BEGIN
			IF n % 10 = 0 THEN
				CALL pg_temp.add(n);
			END IF;
			IF n % 20 = 0 THEN
				RAISE division_by_zero;
			END IF;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
:compare

-- EXCEPTION blocks in each other, as deep as the stack allows with room to
-- spare; at level 100 all that is deeper is undone.
CREATE PROCEDURE pg_temp.descend(level integer)
LANGUAGE plpgsql
AS $$
BEGIN
	CALL pg_temp.add(level);
	BEGIN
		IF level < 200 THEN
			CALL pg_temp.descend(level + 1);
		END IF;
		IF level = 100 THEN
			RAISE division_by_zero;
		END IF;
	EXCEPTION WHEN division_by_zero THEN
		CALL pg_temp.add(1000 + level);
	END;
END $$;
CALL pg_temp.descend(1);
:compare

-- 200 transactions of random EXCEPTION blocks in each other, of which every
-- fourth is rolled back; the seed is fixed.  "different" must be 0.
CREATE FUNCTION pg_temp.walk(depth integer, budget integer) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	FOR i IN 1..budget LOOP
		PERFORM twtasks.add_task('T_' || to_char(nextval('pg_temp.steps'), 'FM00000'), bucket => 'a');
		IF depth < 6 AND random() < 0.5 THEN
			BEGIN
				PERFORM pg_temp.walk(depth + 1, 1 + (random() * 2)::integer);
				IF random() < 0.4 THEN
					RAISE division_by_zero;
				END IF;
			EXCEPTION WHEN division_by_zero THEN
			END;
		END IF;
	END LOOP;
END $$;
CREATE TEMPORARY SEQUENCE steps;
CREATE PROCEDURE pg_temp.walks(
	OUT transactions bigint, OUT with_tasks bigint, OUT with_losses bigint, OUT different bigint)
LANGUAGE plpgsql
AS $$
DECLARE
	tasks bigint;
	triggers bigint;
	same bigint;
	first text;
	last text;
	sweep boolean;
BEGIN
	with_tasks := 0;
	with_losses := 0;
	different := 0;
	PERFORM setseed(0.25);
	FOR i IN 1..200 LOOP
		PERFORM setval('pg_temp.steps', 1, false);
		PERFORM pg_temp.walk(0, 3);
		IF i % 4 = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
		transactions := i;
		CALL pg_temp.compare(tasks, triggers, same, first, last, sweep);
		COMMIT;
		IF tasks > 0 THEN
			with_tasks := with_tasks + 1;
		END IF;
		IF tasks > 0 AND tasks < currval('pg_temp.steps') THEN
			with_losses := with_losses + 1;
		END IF;
		IF tasks <> triggers OR tasks <> same OR sweep THEN
			different := different + 1;
		END IF;
	END LOOP;
END $$;
CALL pg_temp.walks(NULL, NULL, NULL, NULL);
