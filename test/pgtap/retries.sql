--
-- Tasks that fail and are retried: the monitor counts them by type, and the
-- warnings name a type of which many are.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.monitor_look, twtasks.monitor_type;
SELECT plan(21);

-- Adds tasks of a type; those with tries have an error with their number.
CREATE FUNCTION pg_temp.fill(type text, status twtasks.task_status, tasks integer, tries integer DEFAULT 0, first integer DEFAULT 0, priority integer DEFAULT 5) RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, tries, error, priority)
	SELECT gen_random_uuid(), now() + interval '1 hour' * (1 - sign(tries)) + interval '1 minute', now() + n * interval '1 ms', now(),
		status, status <> 'WAITING', type, tries, CASE WHEN tries > 0 THEN 'refused ' || n END, priority
	FROM generate_series(first + 1, first + tasks) n
$$;
-- The count must be made before the view is read.
CREATE FUNCTION pg_temp.look(type text) RETURNS text LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks_internal.monitor_tasks();
	RETURN (SELECT string_agg(v.detail, '; ') FROM twtasks.warnings v WHERE v.warning = 'tasks fail and are retried' AND v.detail ~ format('"%s"', type));
END $$;

SELECT pg_temp.fill('A', 'WAITING', 1, 1), pg_temp.fill('B', 'WAITING', 3, 1), pg_temp.fill('C', 'WAITING', 9, 1), pg_temp.fill('C', 'SUBMITTED', 9),
	pg_temp.fill('D', 'WAITING', 7, 1), pg_temp.fill('D', 'SUBMITTED', 3, 2, 100), pg_temp.fill('D', 'PROCESSING', 50), pg_temp.fill('D', 'WAITING', 2000),
	pg_temp.fill('E', 'WAITING', 10, 1), pg_temp.fill('E', 'SUBMITTED', 91), pg_temp.fill('F', 'SUBMITTED', 1000, 1), pg_temp.fill('F', 'PROCESSING', 9500, priority => 3) \g /dev/null
SELECT is(pg_temp.look('A'), NULL, 'a task that is retried is no warning');
SELECT is(pg_temp.look('B'), '3 tasks of type "B" fail and are retried: newest error: refused 3', 'all tasks of a type are one');
SELECT is(pg_temp.look('C'), NULL, 'nine of many are none');
SELECT is(pg_temp.look('D'), '10 tasks of type "D" fail and are retried: newest error: refused 7', 'ten are, if they are a tenth of those that could have run');
SELECT is(pg_temp.look('E'), NULL, 'less than a tenth are none');
SELECT is(pg_temp.look('F'), '1000 tasks of type "F" fail and are retried: newest error: refused 1000', 'a thousand are, however many others there are');
SELECT ok((SELECT hint ~ 'pause_type\(''D''\)' FROM twtasks.warnings WHERE warning = 'tasks fail and are retried' AND detail ~ '"D"'), 'the hint says how to stop them');
SELECT is((SELECT retrying FROM twtasks.monitor), 1033::bigint, 'the monitor counts all of them');
SELECT is((SELECT string_agg(concat_ws(' ', status, tasks, capped, retrying, error), ', ' ORDER BY status) FROM twtasks.monitor_type WHERE type = 'D'),
	'WAITING 2007 f 7 refused 7, SUBMITTED 3 f 3 refused 103, PROCESSING 50 f 0', 'the count of a type has its statuses');
SELECT is((SELECT count(*) FROM twtasks.monitor_type m JOIN twtasks.stats s USING (bucket, type, status, tasks, capped, oldest)), (SELECT count(*) FROM twtasks.stats), 'the count has the figures of stats');

-- When the storm is over.
UPDATE twtasks.task SET tries = 0, error = NULL WHERE type = 'D';
SELECT is(pg_temp.look('D'), NULL, 'the warning goes when the storm is over');
UPDATE twtasks.monitor_type SET at = at - interval '10 minutes';
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'tasks fail and are retried'), 0::bigint, 'figures of long ago are no warning');
UPDATE twtasks.task SET error = repeat('x', 1000) WHERE type = 'B';
SELECT is(length(pg_temp.look('B')), 56 + 200, 'a long error is cut');

-- Beside a large backlog the count reads a part of it.
CREATE FUNCTION pg_temp.rows_read() RETURNS bigint LANGUAGE sql
AS $$ SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'twtasks.task'::regclass $$;
SELECT pg_temp.fill('G', 'WAITING', 40000), pg_temp.fill('G', 'SUBMITTED', 40000), pg_temp.fill('G', 'WAITING', 12, 1) \g /dev/null
SELECT pg_temp.rows_read() AS before \gset
SELECT is(pg_temp.look('F') IS NOT NULL, true, 'many are found beside a large backlog');
SELECT cmp_ok(pg_temp.rows_read() - :before, '<', 110000::bigint, 'the count reads a part of a large backlog');
UPDATE twtasks.task SET tries = 0 WHERE type = 'F';
SELECT pg_temp.rows_read() AS before \gset
SELECT is(pg_temp.look('F'), NULL, 'tasks in the queue that were not tried are no warning');
SELECT cmp_ok(pg_temp.rows_read() - :before, '<', 90000::bigint, 'the queue is read once if no task in it has been tried');
SELECT is((SELECT retrying FROM twtasks.monitor_type WHERE type = 'G' AND status = 'WAITING'), 12::bigint, 'tasks that are retried soon are counted before those that wait for long');

-- Rights.
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) > 0 FROM twtasks.monitor_type), true, 'a viewer reads the count');
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'tasks fail and are retried' AND detail ~ '"B"'), 1::bigint, 'a viewer reads the warning');
RESET ROLE;
UPDATE twtasks.adoption SET ended = clock_timestamp();
SELECT is(pg_temp.look('B') IS NOT NULL, true, 'a copy that is not adopted keeps its last count');

SELECT * FROM finish();
ROLLBACK;
