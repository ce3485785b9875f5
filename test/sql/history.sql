--
-- The history: a partition for each day, the default one for days that have
-- none, cleaned by whole days, with the keys of its tasks.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all

-- No partitions of other tests, nor those that the start of a node makes.
DO $$
DECLARE
	name regclass;
BEGIN
	PERFORM pg_temp.node();
	FOR name IN SELECT c.oid FROM pg_class c
		WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relname ~ '^finished_task_[0-9]{8}$'
	LOOP
		EXECUTE format('DROP TABLE %s', name);
	END LOOP;
END $$;

-- Days are told from today on, so that every run prints the same.
CREATE VIEW pg_temp.partitions AS
	SELECT CASE WHEN c.relname = 'finished_task_other' THEN 'default'
				ELSE 'today ' || to_char(to_date(right(c.relname, 8), 'YYYYMMDD')
										 - (clock_timestamp() AT TIME ZONE 'UTC')::date, 'SG00')
		   END AS partition,
		   pg_get_userbyid(c.relowner) AS owner,
		   (SELECT count(*) FROM twtasks.finished_task f WHERE f.tableoid = c.oid) AS tasks
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'twtasks.finished_task'::regclass;

-- Makes the partition of a day, as make_partitions() did on that day.
CREATE FUNCTION pg_temp.make_day(days_from_today integer) RETURNS void
LANGUAGE plpgsql
SET timezone = 'UTC'
AS $$
DECLARE
	day CONSTANT date := clock_timestamp()::date + days_from_today;
BEGIN
	EXECUTE format('CREATE TABLE twtasks.%I PARTITION OF twtasks.finished_task FOR VALUES FROM (%L) TO (%L)',
				   'finished_task_' || to_char(day, 'YYYYMMDD'), day, day + 1);
	EXECUTE format('ALTER TABLE twtasks.%I OWNER TO twtasks_owner',
				   'finished_task_' || to_char(day, 'YYYYMMDD'));
END $$;

-- A task that finished so many days ago.
CREATE FUNCTION pg_temp.finished(n integer, days_ago numeric) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task('A', task_id => pg_temp.id(n), key => 'key ' || n);
	PERFORM pg_temp.grab(pg_temp.id(n));
	PERFORM pg_temp.finish(pg_temp.id(n), 'done');
	UPDATE twtasks.finished_task SET state_time = clock_timestamp() - days_ago * interval '1 day'
	WHERE id = pg_temp.id(n);
END $$;

-- A finish needs no partition: there is the default one.
SELECT pg_temp.finished(1, 0);
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";

-- Today is in the default partition already and stays there; the days ahead
-- get theirs.  A second call finds nothing to make.
SELECT twtasks_internal.make_partitions(2) AS made;
SELECT twtasks_internal.make_partitions(2) AS made;
SELECT twtasks_internal.make_partitions(3) AS made;
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";

-- With the default partition empty, today gets one, and what finishes today
-- goes there.
TRUNCATE twtasks.finished_task, twtasks.unique_key;
SELECT twtasks_internal.make_partitions(0) AS made;
SELECT pg_temp.finished(2, 0);
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";

-- Partitions are for the owner alone, as their parent is.
SELECT count(*) FILTER (WHERE relacl IS NOT NULL) AS granted FROM pg_class
WHERE relnamespace = 'twtasks'::regnamespace AND relname ~ '^finished_task';
SELECT count(*) FROM pg_class c, unnest('{twtasks_producer,twtasks_worker,twtasks_operator,twtasks_viewer}'::name[]) r
WHERE relnamespace = 'twtasks'::regnamespace AND relname ~ '^finished_task_'
  AND has_table_privilege(r, c.oid, 'SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER');

-- Cleaning: a day a call, the oldest first, until nothing is due.
SELECT pg_temp.make_day(-1), pg_temp.make_day(-2), pg_temp.make_day(-3);
SELECT pg_temp.finished(11, 1), pg_temp.finished(12, 2), pg_temp.finished(13, 3), pg_temp.finished(14, 40);
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";
SELECT array_agg(key ORDER BY key) FROM twtasks.unique_key;

-- Nothing is older than the setting says, except in the default partition.
SELECT twtasks_internal.keep_finished() = interval '30 days' AS kept;
SELECT twtasks_internal.clean_tasks();
SELECT array_agg(key ORDER BY key) FROM twtasks.unique_key;

CREATE FUNCTION pg_temp.dropped(name text) RETURNS text
LANGUAGE sql
AS $$
	SELECT 'today ' || to_char(to_date(right(name, 8), 'YYYYMMDD')
							   - (clock_timestamp() AT TIME ZONE 'UTC')::date, 'SG00')
$$;
-- One call drops a whole day of few tasks.
SELECT pg_temp.dropped(twtasks_internal.clean_older('2 days'));
SELECT pg_temp.dropped(twtasks_internal.clean_older('2 days'));
SELECT pg_temp.dropped(twtasks_internal.clean_older('2 days'));
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";

-- The keys of what was dropped are free, the others are not.
SELECT array_agg(key ORDER BY key) FROM twtasks.unique_key;
SELECT key, result
FROM unnest('{key 11,key 13,key 14}'::text[]) k(key), twtasks.add_task('A', key => k.key)
ORDER BY key;

-- "Keep nothing" still keeps today: its day is not over.
SELECT pg_temp.dropped(twtasks_internal.clean_older('0')) FROM generate_series(1, 5);
SELECT * FROM pg_temp.partitions ORDER BY partition COLLATE "C";
SELECT pg_temp.state(pg_temp.id(2));

-- Live tasks are never cleaned, however old.
UPDATE twtasks.task SET state_time = state_time - interval '1000 days', created = created - interval '1000 days';
SELECT twtasks_internal.clean_older('0');
SELECT count(*) FROM twtasks.task;

-- Each way into the history keeps what the task was.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key;
SELECT result FROM twtasks.add_task('TYPE', '{"d": 1}', 'sub', 'k', pg_temp.id(50), 3, NULL, 'b',
	NULL, '{"c": 2}', '\x00ff');
SELECT pg_temp.grab(pg_temp.id(50)), pg_temp.finish(pg_temp.id(50), 'done', message => 'all well');
SELECT version, status, tries, priority, type, sub_type, bucket, key, error, message, data, payload, context,
	   incarnation = pg_temp.node() AS mine, created < state_time AS in_order
FROM twtasks.finished_task;
SELECT result FROM twtasks.add_task('TYPE', '{"d": 1}', 'sub', 'k2', pg_temp.id(51), 3, NULL, 'b',
	NULL, '{"c": 2}', '\x00ff');
SELECT result, status FROM twtasks.cancel_task(pg_temp.id(51), 0, 'not wanted');
SELECT version, status, tries, priority, type, sub_type, bucket, key, error, data, payload, context,
	   incarnation, created < state_time AS in_order
FROM twtasks.finished_task WHERE id = pg_temp.id(51);
SELECT result FROM twtasks.add_task('TYPE', '{"d": 1}', 'sub', 'k3', pg_temp.id(52), 3, NULL, 'b',
	clock_timestamp(), '{"c": 2}', '\x00ff');
SELECT twtasks_internal.expire_tasks();
SELECT version, status, tries, priority, type, sub_type, bucket, key, error, data, payload, context,
	   incarnation, created < state_time AS in_order
FROM twtasks.finished_task WHERE id = pg_temp.id(52);
