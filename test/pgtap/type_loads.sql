--
-- type_loads() and recent_minutes(): figures of types without a look at all tasks.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(27);
TRUNCATE twtasks.flow, twtasks.monitor_look, twtasks.monitor_type, twtasks.limit_rule, twtasks.slot_use, twtasks.pause;

-- ---- quantiles ----
CREATE FUNCTION pg_temp.bins(VARIADIC n bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE
AS $$ SELECT array_agg(coalesce(n[i], 0) ORDER BY i) FROM generate_series(1, 21) i $$;
SELECT is(twtasks_internal.quantile(pg_temp.bins(100), 0.95), 0.000238, 'the share of the first bound');
SELECT is(twtasks_internal.quantile(pg_temp.bins(50, 50), 0.5), 0.00025, 'half of the tries within the first bound');
SELECT is(twtasks_internal.quantile(pg_temp.bins(0, 0, 0, 10), 1), 0.0025, 'all within a bound');
SELECT is(twtasks_internal.quantile(pg_temp.bins(0), 0.95), NULL, 'no tries');
SELECT is(twtasks_internal.quantile(array_fill(0::bigint, '{20}') || 7::bigint, 0.5), 3600.000000, 'above an hour: an hour');

-- ---- nothing is known yet ----
SELECT results_eq('SELECT type, submitted, in_per_min, done_per_min, p95_run FROM twtasks.type_loads()',
	'VALUES (NULL::text, 0::bigint, 0.0, 0.0, NULL::numeric)', 'without a count there is the row of all types');
SELECT is_empty('SELECT FROM twtasks.recent_minutes() WHERE started > 0', '... and no minute with tries');

-- ---- a count, and ten minutes of flow ----
SELECT twtasks.add_task('A'), twtasks.add_task('A', priority => 0), twtasks.add_task('B|1', bucket => 'a'), twtasks.add_task('B|1', bucket => 'b'),
	twtasks.add_task('C', run_after => now() + interval '1 day'), twtasks.add_task('E') \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity', tries = 1, error = 'away' WHERE type = 'E';
UPDATE twtasks.task SET state_time = state_time - interval '1 h' WHERE type = 'A';
SELECT twtasks.pause_type('B|*'), twtasks.configure_limit('A', 4, scope => 'cluster') \g /dev/null
SELECT twtasks_internal.monitor_tasks() \g /dev/null
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, wait, run)
SELECT twtasks.clock() - m * interval '1 min', '1 min', 1, 'default', t, 10, 6, 1, 1, 2, 0, 0, pg_temp.bins(10), pg_temp.bins(0, 0, 10)
FROM generate_series(1, 9) m, unnest('{A,D}'::text[]) t;

SELECT results_eq('SELECT type, bucket, submitted, waiting, errors, is_paused FROM twtasks.type_loads() WHERE type IS NOT NULL',
	$$VALUES ('A', 'default', 2::bigint, 0::bigint, 0::bigint, false), ('B|1', NULL, 2, 0, 0, true), ('C', 'default', 0, 1, 0, false),
		('D', NULL, 0, 0, 0, false), ('E', 'default', 0, 0, 1, false)$$, 'types by name, with tasks or with tries only');
SELECT results_eq('SELECT type FROM twtasks.type_loads(worst_first => true) LIMIT 3', $$VALUES (NULL), ('A'), ('E')$$,
	'the worst first: all, the oldest task, the one in ERROR');
SELECT results_eq($$SELECT started_per_min, done_per_min, failed_per_min, errors_per_min, retried_per_min, retry_percent FROM twtasks.type_loads('A')$$,
	'VALUES (9.0, 5.4, 0.9, 0.9, 1.8, 20.0)', 'rates of ten minutes');
SELECT results_eq($$SELECT done_per_min, p95_wait, p95_run FROM twtasks.type_loads() WHERE type IS NULL$$, 'VALUES (10.8, 0.000238, 0.000975)',
	'... and of all types, with times');
SELECT results_eq($$SELECT in_per_min FROM twtasks.type_loads() WHERE type IN ('A', 'B|1') OR type IS NULL ORDER BY type$$, 'VALUES (0.2), (0.2), (0.6)',
	'tasks of the last ten minutes');
SELECT is((SELECT in_per_min FROM twtasks.type_loads('D')), NULL, 'none was added of a type');
SELECT results_eq($$SELECT type FROM twtasks.type_loads('B|*')$$, $$VALUES ('B|1')$$, 'the beginning of types');
SELECT results_eq($$SELECT type FROM twtasks.type_loads(after => 'B|1', max_types => 2) WHERE type IS NOT NULL$$, $$VALUES ('C'), ('D')$$, 'the next ones');
SELECT is((SELECT slots FROM twtasks.type_loads('A')), NULL, 'a limit that is not in use is not shown');
SELECT throws_ok('SELECT twtasks.type_loads(NULL)', '22004', NULL, 'a pattern is needed');
SELECT throws_ok('SELECT twtasks.type_loads(max_types => 0)', '22023', NULL, 'at least one type');
SELECT throws_ok('SELECT twtasks.type_loads(max_types => 1001)', '22023', NULL, 'at most a thousand');

-- ---- minutes ----
SELECT is((SELECT sum(started) FROM twtasks.recent_minutes()), 180::numeric, 'tries of all types by minute');
SELECT is((SELECT sum(started) FROM twtasks.recent_minutes('A')), 90::numeric, '... and of one');
SELECT is((SELECT sum(added) FROM twtasks.recent_minutes()), 6::numeric, 'tasks that were added');
SELECT is((SELECT sum(added) FROM twtasks.recent_minutes('A')), 2::numeric, '... of one type');
-- More tasks than the look reads: minutes before them are not known.
SELECT count(*) FROM twtasks.add_tasks('M', array_fill('{}'::jsonb, '{1001}')) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.recent_minutes() WHERE added IS NOT NULL AND at <= date_trunc('minute', now())), 0::bigint, 'what was added before the newest 1,000 tasks is not known');
-- More rows than are read: the time that they span counts.
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown)
SELECT twtasks.clock() - interval '30 s', '1 min', n, 'default', 'F', 10, 10, 0, 0, 0, 0, 0 FROM generate_series(1, 20000) n;
SELECT is((SELECT done_per_min FROM twtasks.type_loads('F')), 200000.0, 'rates of many nodes');
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown)
SELECT c.minute - m * interval '1 min' + n * interval '1 ms', '1 min', n, 'default', 'G', 1, 1, 0, 0, 0, 0, 0
FROM (SELECT date_trunc('minute', twtasks.clock()) AS minute OFFSET 0) c, generate_series(1, 20000) n, unnest('{20,40}'::integer[]) m;
SELECT is((SELECT array_agg(started) FROM twtasks.recent_minutes('G')), '{20000}'::bigint[], 'a minute of which not all rows are read is left out');
SELECT is((SELECT array_agg(started) FROM twtasks.recent_minutes('G') WHERE at < date_trunc('minute', twtasks.clock()) - interval '30 min'), NULL, '... and not counted in part');
SELECT * FROM finish();
ROLLBACK;
