--
-- Questions about hundreds of thousands of tasks read a few thousand of them,
-- whatever the planner knows or believes.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(46);
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
SELECT is((SELECT count(*) FROM twtasks.stats), 7::bigint, 'stats: there is a row for each bucket, type and status');
SELECT cmp_ok(pg_temp.rows_read(), '<', 42000::bigint, 'stats: at most 10,000 tasks of each kind are read');
SELECT is(pg_temp.counted('OLD'), '{"SUBMITTED": [1, false]}', 'stats: small counts are exact');
SELECT is(pg_temp.counted('FEW'), '{"SUBMITTED": [3, false], "PROCESSING": [2, false]}', 'stats: each status is counted apart');
SELECT is(pg_temp.counted('MANY'), '{"SUBMITTED": [10004, true]}', 'stats: large counts are capped, for each priority');
SELECT is(pg_temp.counted('LATER'), '{"WAITING": [10000, true]}', 'stats: waiting tasks are capped too');
SELECT is(pg_temp.counted('BROKEN'), '{"ERROR": [10000, true]}', 'stats: tasks in ERROR are capped too');
SELECT is((SELECT oldest FROM twtasks.stats WHERE type = 'MANY'), '2020-02-01 00:00:00.001'::timestamptz, 'stats: the oldest task is found, also among the less urgent');
SELECT pg_temp.rows_read() \g /dev/null
SELECT is(pg_temp.counted('MANY', 100), '{"SUBMITTED": [104, true]}', 'count_tasks: a cap is obeyed');
SELECT cmp_ok(pg_temp.rows_read(), '<', 600::bigint, 'count_tasks: a cap bounds the rows that are read');
SELECT is(pg_temp.counted('FEW', 3), '{"SUBMITTED": [3, true]}', 'count_tasks: a small cap is obeyed');
SELECT is(pg_temp.counted('MANY', NULL), '{"SUBMITTED": [120004, false]}', 'count_tasks: a count without a cap is exact');
SELECT is((SELECT string_agg(DISTINCT type, ' ' ORDER BY type) FROM twtasks.count_tasks(100, 2) WHERE status = 'SUBMITTED'), 'FEW LATE', 'count_tasks: groups bounds the groups of the queue');
SELECT is((SELECT bool_or(capped) FROM twtasks.count_tasks(100000000, groups => 1) WHERE status = 'SUBMITTED'), true, '... and the last one says that there are more');
SELECT is((SELECT count(*) FROM twtasks.count_tasks(100, groups => 20000)), 7::bigint, 'count_tasks: a large bound of groups shows all');
SELECT is((SELECT count(*) FROM twtasks.count_tasks(NULL, NULL)), 7::bigint, 'count_tasks: without bounds too');
SELECT throws_ok('SELECT * FROM twtasks.count_tasks(1, 0)', '22023', 'groups must be between 1 and 1000000, not 0', 'count_tasks: no group is refused');
SELECT throws_ok('SELECT * FROM twtasks.count_tasks(0)', '22023', 'cap must be at least 1, not 0', 'count_tasks: a cap of 0 is refused');

-- stuck_tasks.
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_agg(DISTINCT jsonb_build_array(type, status)) FROM twtasks.stuck_tasks), '[["LATE", "SUBMITTED"]]', 'stuck_tasks: only stuck tasks are shown');
SELECT cmp_ok(pg_temp.rows_read(), '<', 32000::bigint, 'stuck_tasks: at most 10,000 tasks of each kind are read');
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 10000::bigint, 'stuck_tasks: at most 10,000 tasks of a type are shown');
SELECT is((SELECT array_agg(since) FROM twtasks.find_stuck(1)), '{2021-01-01}', 'find_stuck: a stuck task shows since when');
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT array_agg(id) FROM twtasks.find_stuck(3)), ARRAY[pg_temp.id(500003), pg_temp.id(500002), pg_temp.id(500001)], 'find_stuck: the newest tasks come first, up to the limit');
SELECT cmp_ok(pg_temp.rows_read(), '<', 3200::bigint, 'find_stuck: a small limit reads few rows');
SELECT throws_ok('SELECT * FROM twtasks.find_stuck(0)', '22023', 'max_each must be at least 1, not 0', 'find_stuck: a limit of 0 is refused');
SELECT throws_ok('SELECT * FROM twtasks.find_stuck(NULL)', '22023', 'max_each must be at least 1, not NULL', 'find_stuck: a limit of NULL is refused');

-- No walk through tasks that are not late.
SELECT pg_temp.rows_read() \g /dev/null
SELECT isnt((SELECT count(*) FROM twtasks.warnings), NULL, 'warnings: the view can be read');
SELECT cmp_ok(pg_temp.rows_read(), '<', 1000::bigint, 'warnings: tasks that wait for a time are not read');
UPDATE twtasks.adoption SET held = 60000 WHERE ended IS NULL;
UPDATE twtasks.task SET status = 'HELD' WHERE status = 'ERROR';
INSERT INTO twtasks.audit (task_id, action, from_version, to_version, from_status, to_status) SELECT t.id, 'adopt', t.version, t.version, t.status, t.status FROM twtasks.task t WHERE t.status = 'HELD';
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT detail FROM twtasks.warnings WHERE warning = 'held'), 'over 1000 of 60000 tasks that adopt() held wait for a person', 'warnings: held tasks are counted up to a bound');
SELECT cmp_ok(pg_temp.rows_read(), '<', 2500::bigint, 'warnings: no more of them are read');
UPDATE twtasks.task SET status = 'ERROR' WHERE status = 'HELD';
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.lonely_buckets()), 1::bigint, 'lonely_buckets: the bucket without a node is found');
SELECT cmp_ok(pg_temp.rows_read(), '<', 100::bigint, 'lonely_buckets: tasks that are not due are not read');

-- Neither many of one kind nor those that wait for a person hide another.
UPDATE twtasks.task SET next_event_time = '2021-01-02' WHERE id BETWEEN pg_temp.id(300001) AND pg_temp.id(312000);
UPDATE twtasks.task SET status = 'PROCESSING', deadline = '2021-01-02' WHERE id = pg_temp.id(100001);
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_agg(x ORDER BY x) FROM (SELECT jsonb_build_array(type, status, since, count(*)) FROM twtasks.stuck_tasks WHERE type <> 'LATE' GROUP BY type, status, since) c(x)),
	'[["LATER", "WAITING", "2021-01-02T00:00:00+00:00", 10000], ["MANY", "PROCESSING", "2021-01-02T00:00:00+00:00", 1]]', 'stuck_tasks: many tasks of one kind hide no other kind');
SELECT cmp_ok(pg_temp.rows_read(), '<', 32000::bigint, 'stuck_tasks: other kinds are read up to the same bound');

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
SELECT cmp_ok(pg_temp.pages_read(), '<', 1000::bigint, 'count_tasks: each small type costs one descent of the index');
SELECT is((SELECT count(*) FROM twtasks.find_stuck() WHERE type ~ '^A'), 50::bigint, 'find_stuck: the stuck tasks of small types are found');
SELECT cmp_ok(pg_temp.pages_read(), '<', 1000::bigint, 'find_stuck: small types are found without a walk through the others');
SELECT is((SELECT stuck FROM twtasks_internal.monitor_tasks()), 20051::bigint, 'monitor_tasks: the number of stuck tasks is right');

SET LOCAL track_functions = 'all';
SELECT is((SELECT count(DISTINCT type) FROM twtasks.stuck_tasks WHERE status = 'SUBMITTED') + pg_stat_get_xact_function_calls('twtasks_internal.works_for'::regproc), 52::bigint,
	'stuck_tasks: the cause for 51 types of one bucket is looked up once');

-- A thousand types: each is seen, none in full.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(700000 + n), 'infinity', '2021-01-01', '2021-01-01', 'SUBMITTED', true, 'TYPE|' || n % 1000
FROM generate_series(0, 19999) n;
SELECT pg_temp.rows_read() \g /dev/null
SELECT is((SELECT jsonb_build_array(count(*), min(tasks), max(tasks), bool_and(capped)) FROM twtasks.count_tasks(1100) WHERE type ~ '^TYPE'),
	'[1000, 3, 3, true]', 'count_tasks: the more types there are, the less is read of each');
SELECT cmp_ok(pg_temp.rows_read(), '<', 7000::bigint, 'count_tasks: the rows that are read stay bounded with a thousand types');
SELECT is((SELECT count(*) FROM twtasks.count_tasks(100) WHERE type ~ '^TYPE'), 1000::bigint, 'count_tasks: a small cap hides no type');
UPDATE twtasks.task SET next_event_time = '2021-01-01' WHERE type ~ '^TYPE';
SELECT is((SELECT count(DISTINCT type) FROM twtasks.find_stuck(1100) WHERE type ~ '^TYPE'), 1000::bigint, 'find_stuck: each of a thousand types is found');
SELECT cmp_ok((SELECT count(*) FROM twtasks.find_stuck(1100) WHERE status = 'SUBMITTED'), '<=', 1100::bigint, 'find_stuck: the more types there are, the fewer tasks of each are shown');

-- More types than are counted.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(720000 + n), 'infinity', '2021-01-01', '2021-01-01', 'SUBMITTED', true, 'ZTYPE|' || n
FROM generate_series(10000, 19999) n;
SELECT is((SELECT jsonb_build_array(count(*), count(*) FILTER (WHERE capped), max(type COLLATE "C") FILTER (WHERE capped)) FROM twtasks.count_tasks(100) WHERE type ~ '^ZTYPE'),
	'[8945, 1, "ZTYPE|18944"]', 'count_tasks: the number of types is bounded, and the last one says that there are more');

SELECT * FROM finish();
ROLLBACK;
