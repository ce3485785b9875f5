--
-- Questions about hundreds of thousands of tasks read a few thousand of them,
-- whatever the planner knows or believes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(34);
SET LOCAL TimeZone = 'UTC';

-- Rows of the table that were read since the last call.
CREATE TEMPORARY TABLE read_before AS SELECT 0::bigint AS rows;
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
	before bigint := rows FROM read_before;
	now_read bigint := seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'twtasks.task'::regclass;
BEGIN
	UPDATE read_before SET rows = now_read;
	RETURN now_read - before;
END $$;

-- Adds n rows of a type as add_tasks() would: ids in order of time.
CREATE FUNCTION pg_temp.fill(
	tasks integer, first integer, type text, status twtasks.task_status, at timestamptz,
	priority integer DEFAULT 5, stuck_at timestamptz DEFAULT clock_timestamp() + interval '1 hour')
RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, priority)
	SELECT pg_temp.id(first + n), stuck_at, at + n * interval '1 ms', at, status,
		   status IN ('SUBMITTED', 'PROCESSING'), type, priority
	FROM generate_series(1, tasks) n
$$;

CREATE FUNCTION pg_temp.counted(type text, cap integer DEFAULT 10000) RETURNS jsonb
LANGUAGE sql
AS $$
	SELECT jsonb_object_agg(c.status, jsonb_build_array(c.tasks, c.capped))
	FROM twtasks.count_tasks(cap) c WHERE c.type = counted.type
$$;

-- The planner believes that the table was small, and that indexes are slow.
SET LOCAL random_page_cost = 10000;
SELECT pg_temp.fill(1, 0, 'OLD', 'SUBMITTED', '2020-01-01', 9) \g /dev/null
ANALYZE twtasks.task;
SELECT pg_temp.fill(120000, 100000, 'MANY', 'SUBMITTED', '2021-01-01') \g /dev/null
SELECT pg_temp.fill(80000, 300000, 'LATER', 'WAITING', '2021-01-01') \g /dev/null
SELECT pg_temp.fill(60000, 400000, 'BROKEN', 'ERROR', '2021-01-01', stuck_at => 'infinity') \g /dev/null
SELECT pg_temp.fill(50000, 500000, 'LATE', 'SUBMITTED', '2021-01-01', stuck_at => '2021-01-01') \g /dev/null
SELECT pg_temp.fill(3, 600000, 'FEW', 'SUBMITTED', '2020-06-01') \g /dev/null
SELECT pg_temp.fill(2, 600010, 'FEW', 'PROCESSING', '2020-06-01') \g /dev/null
SELECT pg_temp.fill(4, 600020, 'MANY', 'SUBMITTED', '2020-02-01', 7) \g /dev/null
SELECT pg_temp.rows_read() \g /dev/null

-- stats, as a person or a monitor asks it.
SELECT is((SELECT count(*) FROM twtasks.stats), 7::bigint, 'stats: a row for each bucket, type and status');
SELECT cmp_ok(pg_temp.rows_read(), '<', 42000::bigint, 'stats: reads no more than 10,000 of each');
SELECT is(pg_temp.counted('OLD'), '{"SUBMITTED": [1, false]}', 'stats: exact where there are few');
SELECT is(pg_temp.counted('FEW'), '{"SUBMITTED": [3, false], "PROCESSING": [2, false]}', 'stats: by status');
SELECT is(pg_temp.counted('MANY'), '{"SUBMITTED": [10004, true]}', 'stats: at least so many where there are more; of each priority');
SELECT is(pg_temp.counted('LATER'), '{"WAITING": [10000, true]}', 'stats: so with those that wait');
SELECT is(pg_temp.counted('BROKEN'), '{"ERROR": [10000, true]}', 'stats: and with those in ERROR');
SELECT is((SELECT oldest FROM twtasks.stats WHERE type = 'MANY'), '2020-02-01 00:00:00.001'::timestamptz, 'stats: the oldest is found, also of those less urgent');
SELECT pg_temp.rows_read() \g /dev/null
SELECT is(pg_temp.counted('MANY', 100), '{"SUBMITTED": [104, true]}', 'count_tasks: with a cap');
SELECT cmp_ok(pg_temp.rows_read(), '<', 600::bigint, 'count_tasks: which bounds what it reads');
SELECT is(pg_temp.counted('FEW', 3), '{"SUBMITTED": [3, true]}', 'count_tasks: however small it is');
SELECT is(pg_temp.counted('MANY', NULL), '{"SUBMITTED": [120004, false]}', 'count_tasks: or without one, exact');
SELECT throws_ok('SELECT * FROM twtasks.count_tasks(0)', '22023', 'cap must be at least 1, not 0', 'count_tasks: of none');

-- stuck_tasks.
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(type, status)) FROM twtasks.stuck_tasks), '[["LATE", "SUBMITTED"]]', 'stuck_tasks: those that are');
SELECT cmp_ok(pg_temp.rows_read(), '<', 32000::bigint, 'stuck_tasks: reads no more than 10,000 of each');
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 10000::bigint, 'stuck_tasks: nor does it show more of a type');
SELECT is((SELECT array_agg(since) FROM twtasks.find_stuck(1)), '{2021-01-01}', 'find_stuck: since when');
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT array_agg(id) FROM twtasks.find_stuck(3)), ARRAY[pg_temp.id(500003), pg_temp.id(500002), pg_temp.id(500001)], 'find_stuck: newest first, with limits');
SELECT cmp_ok(pg_temp.rows_read(), '<', 3200::bigint, 'find_stuck: and reads few for few');
SELECT throws_ok('SELECT * FROM twtasks.find_stuck(0)', '22023', 'max_each must be at least 1, not 0', 'find_stuck: none');
SELECT throws_ok('SELECT * FROM twtasks.find_stuck(NULL)', '22023', 'max_each must be at least 1, not NULL', 'find_stuck: without end');

-- Neither many of one kind nor those that wait for a person hide another.
UPDATE twtasks.task SET next_event_time = '2021-01-02' WHERE id BETWEEN pg_temp.id(300001) AND pg_temp.id(312000);
UPDATE twtasks.task SET status = 'PROCESSING', deadline = '2021-01-02' WHERE id = pg_temp.id(100001);
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_agg(x ORDER BY x) FROM (SELECT jsonb_build_array(type, status, since, count(*)) FROM twtasks.stuck_tasks WHERE type <> 'LATE' GROUP BY type, status, since) c(x)),
	'[["LATER", "WAITING", "2021-01-02T00:00:00+00:00", 10000], ["MANY", "PROCESSING", "2021-01-02T00:00:00+00:00", 1]]', 'stuck_tasks: neither many of one kind nor those that wait for a person hide others');
SELECT cmp_ok(pg_temp.rows_read(), '<', 32000::bigint, 'stuck_tasks: and no more is read');

-- Small types beside a large one: it has what they leave, and none costs a walk through it.
CREATE TEMPORARY TABLE pages_before AS SELECT 0::bigint AS pages;
CREATE FUNCTION pg_temp.pages_read() RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
	before bigint := pages FROM pages_before;
	now_read bigint := pg_stat_get_xact_blocks_fetched('twtasks.task_queued'::regclass);
BEGIN
	UPDATE pages_before SET pages = now_read;
	RETURN now_read - before;
END $$;
SELECT pg_temp.fill(1, 800000 + 10 * n, 'A|' || n, 'SUBMITTED', '2021-01-01', stuck_at => '2021-01-01') FROM generate_series(1, 50) n \g /dev/null
SELECT pg_temp.pages_read() \g /dev/null
SELECT is(pg_temp.counted('MANY'), '{"SUBMITTED": [10003, true], "PROCESSING": [1, true]}', 'count_tasks: small types take nothing from a large one');
SELECT cmp_ok(pg_temp.pages_read(), '<', 1000::bigint, 'count_tasks: and cost a descent of the index each');
SELECT is((SELECT count(*) FROM twtasks.find_stuck() WHERE type ~ '^A'), 50::bigint, 'find_stuck: those of small types');
SELECT cmp_ok(pg_temp.pages_read(), '<', 1000::bigint, 'find_stuck: and no walk through the others');
SELECT is((SELECT stuck FROM twtasks_internal.monitor_tasks()), 20051::bigint, 'monitor_tasks: so many are stuck');

SET LOCAL track_functions = 'all';
SELECT is((SELECT count(DISTINCT type) FROM twtasks.stuck_tasks WHERE status = 'SUBMITTED') + pg_stat_get_xact_function_calls('twtasks_internal.works_for'::regproc), 52::bigint,
	'stuck_tasks: what holds up 51 types of one bucket is looked up once');

-- A thousand types: each is seen, none in full.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(700000 + n), 'infinity', '2021-01-01', '2021-01-01', 'SUBMITTED', true, 'TYPE|' || n % 1000
FROM generate_series(0, 19999) n;
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_build_array(count(*), min(tasks), max(tasks), bool_and(capped)) FROM twtasks.count_tasks(1100) WHERE type ~ '^TYPE'),
	'[1000, 3, 3, true]', 'count_tasks: the more types, the less is read of each');
SELECT cmp_ok(pg_temp.rows_read(), '<', 7000::bigint, 'count_tasks: so that all is bounded');
SELECT is((SELECT count(*) FROM twtasks.count_tasks(100) WHERE type ~ '^TYPE'), 45::bigint, 'count_tasks: at most so many types, too');
UPDATE twtasks.task SET next_event_time = '2021-01-01' WHERE type ~ '^TYPE';
SELECT is((SELECT count(DISTINCT type) FROM twtasks.find_stuck(1100) WHERE type ~ '^TYPE'), 1000::bigint, 'find_stuck: each of a thousand types');
SELECT cmp_ok((SELECT count(*) FROM twtasks.find_stuck(1100) WHERE status = 'SUBMITTED'), '<=', 1100::bigint, 'find_stuck: the more types, the fewer of each');

SELECT * FROM finish();
ROLLBACK;
