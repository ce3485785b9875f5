--
-- execute_invoker.sql
--		Handlers that are not SECURITY DEFINER run as the role that the configuration
--		names, in the schema and with the settings of that role.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(9);

CREATE SCHEMA app;
CREATE TABLE app.effect (task uuid, note text);
CREATE ROLE regress_app;
GRANT USAGE ON SCHEMA app TO regress_app;
GRANT SELECT, INSERT ON app.effect TO regress_app;
GRANT twtasks_producer TO regress_app;

CREATE FUNCTION app.obey(task twtasks.task_input) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	INSERT INTO app.effect VALUES (task.id, current_user);
	EXECUTE coalesce(task.data->>'sql', 'SELECT 1');
END $$;

-- Adds a task with such data and executes it; "result: message".
CREATE FUNCTION pg_temp.try(n integer, data jsonb, role name DEFAULT 'regress_app') RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task('SQL', data, task_id => pg_temp.id(n));
	RETURN (SELECT result || coalesce(': ' || message, '') FROM twtasks_internal.execute_tasks('app.obey', role, ARRAY[pg_temp.id(n)], '{0}',
		pg_temp.node(), pg_temp.token(), '{60000}', '{error}'));
END $$;
CREATE FUNCTION pg_temp.notes(n integer) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(note, ',') FROM app.effect WHERE task = pg_temp.id(n) $$;

-- The schema is the application's: only the role that runs the function may
-- look into it.
SELECT lives_ok($$SELECT pg_temp.try(1, NULL)$$, 'a function may be in a schema that only its role can use');
SELECT is(pg_temp.state(pg_temp.id(1)), 'DONE 2', 'the task of that function is DONE');
GRANT USAGE ON SCHEMA app TO twtasks_owner;
SELECT is(pg_temp.notes(1), 'regress_app', 'a function runs as the role that is named');
SELECT is(pg_temp.try(30, NULL, role => NULL) || ' ' || pg_temp.notes(30), 'finished ' || session_user, 'a function without a role runs as the user of the session');

-- Settings are put back, whether it succeeds or fails.
SET LOCAL search_path = app, public;
SET LOCAL work_mem = '7MB';
SET LOCAL twtest.mine = 'kept';
SELECT is(pg_temp.try(70, '{"sql": "SELECT set_config(''search_path'', ''hostile'', false), set_config(''work_mem'', ''1MB'', false), set_config(''twtest.mine'', ''changed'', false)"}'), 'finished', 'a function may change settings');
SELECT is(current_setting('search_path') || ' ' || current_setting('work_mem') || ' ' || current_setting('twtest.mine'), 'app, public 7MB kept', 'settings are reset after a success');
SELECT ok(pg_temp.try(71, '{"sql": "SET work_mem = ''1MB''; SET search_path = hostile; SELECT 1 / 0"}') ~ '^failed', 'a function may change settings and fail');
SELECT is(current_setting('search_path') || ' ' || current_setting('work_mem'), 'app, public 7MB', 'settings are reset after a failure');
SELECT ok(pg_temp.try(72, '{"sql": "INSERT INTO app.effect VALUES (''00000000-0000-0000-0000-000000000072'', current_setting(''search_path''))"}') = 'finished'
	AND pg_temp.notes(72) = 'regress_app,' || (SELECT reset_val FROM pg_settings WHERE name = 'search_path'), 'a function sees the search_path that the session started with');
RESET search_path;

SELECT * FROM finish();
ROLLBACK;
