--
-- Views and functions for people read as many pages beside tens of thousands of tasks
-- that wait for a time, and of finished ones, as beside none.  A list by status alone walks
-- as many tasks as its budget has.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.task_attempt, twtasks.flow;

-- Pages that a statement reads once its plans are made.
CREATE FUNCTION pg_temp.pages(statement text) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1 .. 2 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || statement INTO plan;
	END LOOP;
	RETURN (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
END $$;
-- An id in the order of time, as new tasks have.
CREATE FUNCTION pg_temp.id_at(moment timestamptz, n integer) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$ SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 8, '0'), 32, '0')::uuid $$;

-- Some of each status, as today and as later.
SELECT twtasks_internal.begin_history(), twtasks_internal.make_partitions() \g /dev/null
SELECT pg_temp.task_in(s, pg_temp.id((n * 10 + p)::integer)) FROM generate_series(1, 20) n, unnest('{SUBMITTED,PROCESSING,ERROR,HELD,DONE,FAILED}'::twtasks.task_status[]) WITH ORDINALITY s(s, p) \g /dev/null
SELECT twtasks.configure_limit('TEST', 100) \g /dev/null
ANALYZE twtasks.task, twtasks.finished_task, twtasks.task_attempt;
SELECT twtasks_internal.monitor_tasks() \g /dev/null

CREATE TEMPORARY TABLE asked (statement text PRIMARY KEY, before bigint, after bigint);
INSERT INTO asked SELECT u FROM unnest(ARRAY[
	'SELECT * FROM twtasks.warnings', 'SELECT * FROM twtasks.monitor', 'SELECT * FROM twtasks.monitor_type',
	'SELECT * FROM twtasks.stuck_tasks', 'SELECT * FROM twtasks.error_tasks', 'SELECT * FROM twtasks.unknown_outcomes',
	'SELECT * FROM twtasks.limits', 'SELECT * FROM twtasks.incidents', 'SELECT * FROM twtasks.nodes',
	'SELECT * FROM twtasks.metrics()', 'SELECT * FROM twtasks.type_loads()', 'SELECT * FROM twtasks.recent_minutes()',
	'SELECT * FROM twtasks.error_groups()', 'SELECT * FROM twtasks.list_tasks()', 'SELECT * FROM twtasks.list_unknown()',
	$$SELECT * FROM twtasks.list_tasks('{SUBMITTED}', 'TEST')$$, $$SELECT * FROM twtasks.list_tasks('{ERROR}')$$,
	$$SELECT * FROM twtasks.why('00000000-0000-0000-0000-000000000011')$$, $$SELECT * FROM twtasks.why('00000000-0000-0000-0000-000000000013')$$,
	$$SELECT * FROM twtasks.life('00000000-0000-0000-0000-000000000015')$$, $$SELECT * FROM twtasks.what_if_limit('TEST', 7)$$,
	$$SELECT * FROM twtasks.change_tasks('resume', '*', 'test', dry_run => true)$$]) u;
UPDATE asked SET before = pg_temp.pages(statement);

INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, data)
SELECT pg_temp.id_at(c.at, n), c.at + interval '20 days', c.at, c.at, 'WAITING', false, 'WAITS|' || n % 500, jsonb_build_object('n', n)
FROM generate_series(1, 30000) n CROSS JOIN LATERAL (SELECT now() - interval '5 days' + n * interval '1 s') c(at);
INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket, data, started)
SELECT pg_temp.id_at(c.at, n), 2, c.at, c.at, 'DONE', 1, 5, 'ENDED|' || n % 500, 'default', jsonb_build_object('n', n), c.at
FROM generate_series(1, 30000) n CROSS JOIN LATERAL (SELECT now() - interval '100 s' - n * interval '1 ms') c(at);
ANALYZE twtasks.task, twtasks.finished_task;
UPDATE asked SET after = pg_temp.pages(statement);

SELECT plan(count(*)::integer + 1) FROM asked;
SELECT cmp_ok((SELECT sum(pg_relation_size(c.oid) / 8192) FROM pg_class c WHERE c.oid = 'twtasks.task'::regclass), '>', 800::numeric, 'the table has many pages');
SELECT cmp_ok(a.after, '<', a.before + 200, format('%s reads %s pages, and %s before', a.statement, a.after, a.before)) FROM asked a ORDER BY a.statement;
SELECT * FROM finish();
ROLLBACK;
