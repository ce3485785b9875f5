--
-- Since when a task could run: grab_tasks() and execute_tasks() say it for tasks
-- that were added, due, tried again, given back, resumed or recovered.  The attempts
-- agree.
--
\ir ../lib/tasks.sql
SELECT plan(17);

CREATE TEMPORARY TABLE told (task_id uuid, version bigint, runnable timestamptz);
CREATE FUNCTION pg_temp.runnable(task_id uuid) RETURNS timestamptz
LANGUAGE sql
AS $$
	INSERT INTO told
	SELECT g.id, g.version, g.runnable
	FROM twtasks_internal.grab_tasks(ARRAY[task_id], ARRAY[pg_temp.version_of(task_id)], pg_temp.node(), pg_temp.token(), '{60000}', '{error}') g
	RETURNING runnable
$$;

-- The time of a WAITING task was so long ago, when the leader comes to it.
CREATE FUNCTION pg_temp.promote_late(task_id uuid, late interval) RETURNS timestamptz
LANGUAGE plpgsql
AS $$
DECLARE
	due CONSTANT timestamptz := clock_timestamp() - late;
BEGIN
	UPDATE twtasks.task SET next_event_time = due, state_time = due - interval '1 min', created = due - interval '1 min'
	WHERE id = task_id AND status = 'WAITING';
	PERFORM twtasks_internal.promote_tasks();
	RETURN due;
END $$;

-- Added for now.
SELECT task_id AS now FROM twtasks.add_task('NOW') \gset
SELECT is(pg_temp.runnable(:'now'), (SELECT created FROM twtasks.task WHERE id = :'now'), 'a task that is added for now can run since then');

-- Scheduled.
SELECT task_id AS due FROM twtasks.add_task('DUE', run_after => clock_timestamp() + interval '1 h') \gset
SELECT pg_temp.promote_late(:'due', '10 s') AS since \gset
SELECT is((SELECT ARRAY[state_time, next_event_time] FROM twtasks.task WHERE id = :'due'),
	ARRAY[:'since'::timestamptz, :'since'::timestamptz + interval '30 min'], 'a task counts as SUBMITTED since it was due, and is late by that');
SELECT is(pg_temp.runnable(:'due'), :'since', 'a scheduled task can run since it was due, not since the leader came to it');

-- Due, by its time, before it was moved.
SELECT task_id AS moved FROM twtasks.add_task('MOVED', run_after => clock_timestamp() + interval '1 h') \gset
UPDATE twtasks.task SET next_event_time = '2001-01-01' WHERE id = :'moved';
SELECT state_time AS since FROM twtasks.task WHERE id = :'moved' \gset
SELECT FROM twtasks_internal.promote_tasks();
SELECT is(pg_temp.runnable(:'moved'), :'since', 'a task that was given a past time can run since it got that time');

-- Tried again.
SELECT task_id AS again FROM twtasks.add_task('AGAIN') \gset
SELECT pg_temp.grab(:'again');
SELECT pg_temp.finish(:'again', 'retry', delay_ms => 3600000);
SELECT pg_temp.promote_late(:'again', '20 s') AS since \gset
SELECT is(pg_temp.runnable(:'again'), :'since', 'a retry can run since the end of its delay');

-- Given back before it began.
SELECT pg_temp.finish(:'again', 'release');
SELECT is(pg_temp.runnable(:'again'), :'since', 'a task that is given back can run since before');

-- Resumed.
SELECT pg_temp.finish(:'again', 'error');
SELECT pg_temp.change('resume', :'again', pg_temp.version_of(:'again'));
SELECT state_time AS since FROM twtasks.task WHERE id = :'again' \gset
SELECT FROM twtasks_internal.promote_tasks();
SELECT is(pg_temp.runnable(:'again'), :'since', 'a task that is resumed can run since then');

-- Recovered.
SELECT task_id AS gone FROM twtasks.add_task('GONE') \gset
SELECT pg_temp.grab(:'gone', rule => 'retry', timeout_ms => 0);
SELECT FROM twtasks_internal.recover_tasks(true);
SELECT is(pg_temp.state(:'gone'), 'SUBMITTED 2', 'a task is recovered');
SELECT state_time AS since FROM twtasks.task WHERE id = :'gone' \gset
SELECT is(pg_temp.runnable(:'gone'), :'since', 'a recovered task can run since then');

-- The attempts say the same.
SELECT pg_temp.finish(t.id, 'error') FROM twtasks.task t WHERE t.status = 'PROCESSING';
SELECT is((SELECT count(*) FROM twtasks.task_attempt JOIN told USING (task_id, version)), 6::bigint, 'tries that failed are attempts');
SELECT is_empty('SELECT t, a FROM twtasks.task_attempt a JOIN told t USING (task_id, version) WHERE a.runnable IS DISTINCT FROM t.runnable',
	'attempts have the same times');

-- Won by nobody, or refused.
SELECT is(pg_temp.runnable(:'gone'), NULL, 'no task, no time');
SELECT twtasks.configure_limit('FULL', concurrency => 1, scope => 'cluster');
SELECT task_id AS full FROM twtasks.add_task('FULL') \gset
SELECT task_id AS fuller FROM twtasks.add_task('FULL') \gset
SELECT pg_temp.grab(:'full');
SELECT is((SELECT ARRAY[version::text, type, runnable::text] FROM twtasks_internal.grab_tasks(ARRAY[:'fuller'::uuid], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}')),
	'{NULL,FULL,NULL}'::text[], 'a task that a limit refuses has no time');

-- SQL handlers.
CREATE FUNCTION public.runnable_handler(task twtasks.task_input) RETURNS void LANGUAGE sql SECURITY DEFINER AS '';
CREATE FUNCTION public.runnable_failure(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RAISE 'no'; END $$;
CREATE FUNCTION pg_temp.execute(task_id uuid, handler text, grabbed boolean DEFAULT false) RETURNS TABLE (result text, wait_us bigint)
LANGUAGE sql
AS $$
	SELECT result, wait_us FROM twtasks_internal.execute_tasks(handler, NULL, ARRAY[task_id], ARRAY[pg_temp.version_of(task_id) - grabbed::integer],
		pg_temp.node(), 77, '{60000}', '{error}', grabbed => grabbed)
$$;
SELECT task_id AS sql FROM twtasks.add_task('SQL', run_after => clock_timestamp() + interval '1 h') \gset
SELECT pg_temp.promote_late(:'sql', '30 s') AS since \gset
SELECT ok(wait_us BETWEEN 30e6 AND 30e6 + extract(epoch FROM clock_timestamp() - :'since'::timestamptz) * 1e6, result || ', and waited since it was due')
FROM pg_temp.execute(:'sql', 'public.runnable_handler');
SELECT task_id AS sql FROM twtasks.add_task('SQL', run_after => clock_timestamp() + interval '1 h') \gset
SELECT pg_temp.promote_late(:'sql', '30 s') AS since \gset
SELECT ok(wait_us BETWEEN 30e6 AND 30e6 + extract(epoch FROM clock_timestamp() - :'since'::timestamptz) * 1e6, result || ', and waited since it was due')
FROM pg_temp.execute(:'sql', 'public.runnable_failure');
SELECT task_id AS sql FROM twtasks.add_task('SQL') \gset
SELECT FROM twtasks_internal.grab_tasks(ARRAY[:'sql'::uuid], '{0}', pg_temp.node(), 77, '{60000}', '{error}');
SELECT is((SELECT format('%s %s', result, wait_us) FROM pg_temp.execute(:'sql', 'public.runnable_handler', true)), 'finished ', 'the earlier grab has told when a task could run');
SELECT task_id AS sql FROM twtasks.add_task('FULL') \gset
SELECT is((SELECT format('%s %s', result, wait_us) FROM pg_temp.execute(:'sql', 'public.runnable_handler')), 'refused ', 'a refused task has not waited yet');

SELECT * FROM finish();
DROP FUNCTION public.runnable_handler, public.runnable_failure;
SELECT twtasks.drop_limit('FULL');
