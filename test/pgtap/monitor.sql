--
-- The figures that the leading sidecar leaves for whoever looks.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.monitor_look, twtasks.monitor_type;
SELECT plan(23);

CREATE FUNCTION pg_temp.look() RETURNS text
LANGUAGE sql
AS $$ SELECT format('%s in ERROR, %s stuck%s', errors, stuck, CASE WHEN is_news THEN ', new' END) FROM twtasks_internal.monitor_tasks() $$;

-- Nobody has looked; then nothing is there.
SELECT is((SELECT count(*) FROM twtasks.monitor), 0::bigint, 'the view is empty before the first look');
SELECT is(pg_temp.look(), '0 in ERROR, 0 stuck', 'an empty queue is no news');
SELECT is((SELECT to_jsonb(m) - '{at,age,finished_estimate,dropped}'::text[] FROM twtasks.monitor m),
	'{"waiting": 0, "submitted": 0, "processing": 0, "errors": 0, "held": 0, "capped": false, "oldest_submitted": null, "newest_error": null, "stuck": 0, "newest_stuck": null, "nodes": 0, "retrying": 0}',
	'the view has all figures');

-- Tasks in each status.
SELECT pg_temp.task_in(s, pg_temp.id(n::integer)) AS made FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY x(s, n) \g /dev/null
SELECT is((SELECT errors FROM twtasks.monitor), 0::bigint, 'the figures are those of the last look');
SELECT is(pg_temp.look(), '1 in ERROR, 0 stuck, new', 'a task in ERROR is news');
SELECT is((SELECT jsonb_build_array(waiting, submitted, processing, errors, held, stuck, nodes) FROM twtasks.monitor), '[1, 1, 1, 1, 1, 0, 1]', 'the view counts tasks of each status, and the nodes');
SELECT is((SELECT oldest_submitted FROM twtasks.monitor), (SELECT state_time FROM twtasks.task WHERE status = 'SUBMITTED'), 'the view shows since when the oldest task waits');
SELECT is(pg_temp.look(), '1 in ERROR, 0 stuck', 'a task in ERROR of the last look is no news');
SELECT ok((SELECT age BETWEEN '0' AND '3 minutes' FROM twtasks.monitor), 'the view shows the age of the figures');
UPDATE twtasks.monitor_look SET at = at - interval '1 hour';
SELECT ok((SELECT age > '1 hour' FROM twtasks.monitor), 'the view shows the age when nobody looks any more');

-- One went and another came: that is news too.
SELECT is(pg_temp.change('resume', pg_temp.id(4), 2), 'changed', 'the task in ERROR is resumed');
SELECT pg_temp.task_in('ERROR', pg_temp.id(20)) \g /dev/null
SELECT is(pg_temp.look(), '1 in ERROR, 0 stuck, new', 'another task in ERROR in its place is news');
UPDATE twtasks.task SET deadline = clock_timestamp() - interval '1 hour' WHERE id = pg_temp.id(3);
SELECT is(pg_temp.look(), '1 in ERROR, 1 stuck, new', 'a stuck task is news');
SELECT is(pg_temp.look(), '1 in ERROR, 1 stuck', 'a stuck task of the last look is no news');
UPDATE twtasks.task SET deadline = NULL WHERE id = pg_temp.id(3);
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '2 minutes' WHERE id = pg_temp.id(1);
SELECT is(pg_temp.look(), '1 in ERROR, 1 stuck, new', 'another stuck task in its place is news');
SELECT is((SELECT count(*) FROM twtasks.monitor_look), 1::bigint, 'the monitor keeps one row');

-- More are HELD than are counted, and they stand before the next in ERROR.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(1000 + n), 'infinity', now(), now(), 'HELD', false, 'TEST' FROM generate_series(1, 10000) n;
SELECT pg_temp.task_in('ERROR', pg_temp.id(21)) \g /dev/null
SELECT is((SELECT sum(tasks) FILTER (WHERE status = 'HELD') < 10001 FROM twtasks.count_tasks()), true, 'not all HELD tasks are counted');
SELECT is(pg_temp.look(), '2 in ERROR, 1 stuck, new', 'many HELD tasks hide no task in ERROR');
SELECT is((SELECT newest_error FROM twtasks.monitor), (SELECT max(state_time) FROM twtasks.task WHERE status = 'ERROR'), 'many HELD tasks do not hide the newest error');

-- Why tasks are stuck is for who asks, and costs more than to count them.
SET LOCAL track_functions = 'all';
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '1 minute' WHERE id = pg_temp.id(2);
SELECT is(pg_temp.look(), '2 in ERROR, 2 stuck, new', 'a task late in the queue is news');
SELECT is(pg_stat_get_xact_function_calls('twtasks_internal.why_limited'::regproc), NULL, 'the monitor does not look for the reason');
SELECT is((SELECT count(why) FROM twtasks.find_stuck() WHERE status = 'SUBMITTED') + pg_stat_get_xact_function_calls('twtasks_internal.why_limited'::regproc), 2::bigint,
	'find_stuck() looks for the reason, and reads the limits once');

-- A copy is left alone.
UPDATE twtasks.adoption SET ended = clock_timestamp();
SELECT is(pg_temp.look(), '0 in ERROR, 0 stuck', 'the monitor does nothing in a copy that was not adopted');

SELECT * FROM finish();
ROLLBACK;
