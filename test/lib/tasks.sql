--
-- tasks.sql
--		What the tests in SQL share: tasks in any status, in few words.
--
-- Included by the tests; all of it is in pg_temp and goes with the session.
--

-- Whether it is the SQL edition, which cannot do all that the library does.
SELECT (twtasks.edition()).edition = 'sql' AS is_sql \gset

-- The buckets that they use.
DO $$
BEGIN
	PERFORM twtasks.configure_bucket(b) FROM unnest('{a,b}'::text[]) b;
END $$;

-- No task, no key and no history of other tests.
TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key, twtasks.audit;

-- Ids that are the same in every run.
CREATE FUNCTION pg_temp.id(n integer) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid $$;

-- The incarnation of this session, a node from the first call on.
CREATE FUNCTION pg_temp.node() RETURNS bigint
LANGUAGE plpgsql
AS $$
BEGIN
	IF coalesce(current_setting('test.node', true), '') = '' THEN
		PERFORM set_config('test.node', twtasks_internal.start_node('test')::text, false);
	END IF;
	RETURN current_setting('test.node')::bigint;
END $$;

CREATE TEMPORARY SEQUENCE test_token;
CREATE FUNCTION pg_temp.token() RETURNS bigint
LANGUAGE sql
AS $$ SELECT nextval('pg_temp.test_token') $$;

CREATE FUNCTION pg_temp.version_of(task_id uuid) RETURNS bigint
LANGUAGE sql
AS $$ SELECT version FROM twtasks.tasks WHERE id = task_id $$;

-- 'PROCESSING 1', 'DONE 2', or 'none': status and version of a task.
CREATE FUNCTION pg_temp.state(task_id uuid) RETURNS text
LANGUAGE sql
AS $$
	SELECT coalesce((SELECT string_agg(status || ' ' || version, ' and ' ORDER BY version)
					 FROM twtasks.tasks WHERE id = task_id), 'none')
$$;

-- Grabs one task; its new version, or NULL: lost.  expected NULL: as it is.
CREATE FUNCTION pg_temp.grab(
	task_id uuid, expected bigint DEFAULT NULL,
	timeout_ms bigint DEFAULT 60000, rule twtasks.stuck_rule DEFAULT 'error')
RETURNS bigint
LANGUAGE sql
AS $$
	SELECT version FROM twtasks_internal.grab_tasks(
		ARRAY[task_id], ARRAY[coalesce(expected, pg_temp.version_of(task_id))],
		pg_temp.node(), pg_temp.token(), ARRAY[timeout_ms], ARRAY[rule])
$$;

-- Finishes one task; its new status, or NULL: refused.
CREATE FUNCTION pg_temp.finish(
	task_id uuid, result text, expected bigint DEFAULT NULL,
	delay_ms bigint DEFAULT 0, message text DEFAULT NULL)
RETURNS twtasks.task_status
LANGUAGE sql
AS $$
	SELECT status FROM twtasks_internal.finish_tasks(
		ARRAY[task_id], ARRAY[coalesce(expected, pg_temp.version_of(task_id))],
		ARRAY[result], ARRAY[delay_ms], ARRAY[message], pg_temp.node(), pg_temp.token())
$$;

-- A change by an operator, by name; its result.
CREATE FUNCTION pg_temp.change(action text, task_id uuid, expected bigint) RETURNS text
LANGUAGE sql
AS $$
	SELECT r.result FROM (
		SELECT (twtasks.resume_task(task_id, expected, 'test')).* WHERE action = 'resume'
		UNION ALL
		SELECT (twtasks.reschedule_task(task_id, expected, clock_timestamp() + interval '1 hour', 'test')).*
		WHERE action = 'reschedule'
		UNION ALL
		SELECT (twtasks.prioritize_task(task_id, expected, 1, 'test')).* WHERE action = 'prioritize'
		UNION ALL
		SELECT (twtasks.cancel_task(task_id, expected, 'test')).* WHERE action = 'cancel'
		UNION ALL
		SELECT (twtasks.fail_task(task_id, expected, 'test')).* WHERE action = 'fail'
		UNION ALL
		SELECT (twtasks.confirm_task(task_id, expected, 'test')).* WHERE action = 'confirm'
		UNION ALL
		SELECT (twtasks.hold_task(task_id, expected, 'test')).* WHERE action = 'hold'
		UNION ALL
		SELECT (twtasks.release_task(task_id, expected, NULL, 'test')).* WHERE action = 'release'
		UNION ALL
		SELECT (twtasks.reopen_task(task_id, expected, NULL, 'test')).* WHERE action = 'reopen') r
$$;

-- A new task, brought to a status by the ways that lead there.
CREATE FUNCTION pg_temp.task_in(
	wanted twtasks.task_status, task_id uuid DEFAULT NULL,
	rule twtasks.stuck_rule DEFAULT 'error')
RETURNS uuid
LANGUAGE plpgsql
AS $$
DECLARE
	made uuid;
BEGIN
	SELECT a.task_id INTO made
	FROM twtasks.add_task('TEST', task_id => task_in.task_id,
		run_after => CASE WHEN wanted = 'WAITING' THEN clock_timestamp() + interval '1 hour' END) a;
	IF wanted IN ('PROCESSING', 'ERROR', 'DONE', 'FAILED') THEN
		PERFORM pg_temp.grab(made, rule => rule);
	END IF;
	IF wanted IN ('ERROR', 'FAILED') THEN
		PERFORM pg_temp.finish(made, 'error', message => 'test');
	END IF;
	CASE wanted
		WHEN 'DONE' THEN PERFORM pg_temp.finish(made, 'done');
		WHEN 'FAILED' THEN PERFORM pg_temp.change('fail', made, 2);
		WHEN 'HELD' THEN PERFORM pg_temp.change('hold', made, 0);
		WHEN 'CANCELLED' THEN PERFORM pg_temp.change('cancel', made, 0);
		ELSE
	END CASE;
	RETURN made;
END $$;
