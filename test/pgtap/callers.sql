--
-- In whose name our functions act: in that of the role that calls them.  The
-- session's user may be somebody else, who only ran ANALYZE on a table with an
-- index on an expression, or called a function that is SECURITY DEFINER.
--
BEGIN;
\ir ../lib/tasks.sql
SET LOCAL client_min_messages = error;
SELECT plan(27);

CREATE ROLE regress_app;
CREATE ROLE regress_worker IN ROLE twtasks_worker, regress_app;
CREATE ROLE regress_operator IN ROLE twtasks_operator;
CREATE SCHEMA theirs;
GRANT ALL ON SCHEMA theirs TO PUBLIC;
CREATE TABLE theirs.note (place text, what text);
GRANT ALL ON theirs.note TO PUBLIC;
CREATE FUNCTION theirs.handle(task twtasks.task_input) RETURNS void LANGUAGE sql
AS $$ INSERT INTO theirs.note VALUES ('handler', current_user) $$;
CREATE FUNCTION theirs.change(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$ SELECT task $$;

-- The attempts: to run a task of the session's node, to name a function in a
-- policy, to cancel a task, to finish one and add another.
CREATE FUNCTION theirs.execute(n integer, role name) RETURNS text LANGUAGE sql
AS $$
	SELECT result || coalesce(': ' || message, '') FROM twtasks_internal.execute_tasks('theirs.handle', role,
		ARRAY[('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid], '{0}', current_setting('test.node')::bigint, n, '{60000}', '{error}')
$$;
CREATE FUNCTION theirs.inline(role name) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(result, ' ') FROM twtasks.run_inline('theirs.handle', 'INLINE', role => role) $$;
CREATE FUNCTION theirs.name_function() RETURNS text LANGUAGE plpgsql
AS $$ BEGIN PERFORM twtasks.configure_type('*', intercept => 'theirs.change'); RETURN 'named'; END $$;
CREATE FUNCTION theirs.finish(n integer) RETURNS text LANGUAGE sql
AS $$ SELECT result FROM twtasks.finish_task(('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 1, add => '[{"type": "PAYOUT"}]') $$;
CREATE FUNCTION theirs.finish_many(n integer) RETURNS text LANGUAGE sql
AS $$ SELECT status::text FROM twtasks_internal.finish_tasks(ARRAY[('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid], '{1}', '{done}', '{0}', '{NULL}', NULL, NULL, adds => '{"[{\"type\": \"PAYOUT\"}]"}') $$;
CREATE FUNCTION theirs.cancel(n integer) RETURNS text LANGUAGE sql
AS $$ SELECT result FROM twtasks.cancel_task(('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 0) $$;

-- Each is tried at a place, with what came of it noted down; also by an index.
CREATE FUNCTION theirs.try(place text, what text) RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
	answer text;
BEGIN
	IF current_setting('test.armed', true) = 'on' THEN
		EXECUTE 'SELECT theirs.' || what INTO answer;
		INSERT INTO theirs.note VALUES (place, answer);
	END IF;
	RETURN 0;
EXCEPTION WHEN OTHERS THEN
	INSERT INTO theirs.note VALUES (place, SQLSTATE || ' ' || SQLERRM);
	RETURN 0;
END $$;
CREATE FUNCTION theirs.indexed(place text, what text) RETURNS integer LANGUAGE plpgsql IMMUTABLE
AS $$ BEGIN RETURN theirs.try(place, what); END $$;
CREATE FUNCTION theirs.worker_definer(place text, what text) RETURNS integer LANGUAGE sql SECURITY DEFINER
AS $$ SELECT theirs.try(place, what) $$;
ALTER FUNCTION theirs.worker_definer OWNER TO regress_worker;
CREATE FUNCTION theirs.operator_definer(place text, what text) RETURNS integer LANGUAGE sql SECURITY DEFINER
AS $$ SELECT theirs.try(place, what) $$;
ALTER FUNCTION theirs.operator_definer OWNER TO regress_operator;
CREATE FUNCTION theirs.owner_definer(place text, what text) RETURNS integer LANGUAGE sql SECURITY DEFINER
AS $$ SELECT theirs.try(place, what) $$;
CREATE TABLE theirs.of_worker (place text, what text);
CREATE TABLE theirs.of_operator (place text, what text);
CREATE INDEX ON theirs.of_worker (theirs.indexed(place, what));
CREATE INDEX ON theirs.of_operator (theirs.indexed(place, what));
ALTER TABLE theirs.of_worker OWNER TO regress_worker;
ALTER TABLE theirs.of_operator OWNER TO regress_operator;
SELECT pg_temp.node() \g /dev/null
SELECT twtasks.add_task('CALLERS', task_id => pg_temp.id(n)) FROM generate_series(1, 20) n \g /dev/null

CREATE FUNCTION pg_temp.came_of(place text) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(what, ', ') FROM theirs.note n WHERE n.place = came_of.place $$;
CREATE FUNCTION pg_temp.ran_as() RETURNS text LANGUAGE sql
AS $$ DELETE FROM theirs.note WHERE place = 'handler' RETURNING what $$;
SET LOCAL test.armed = on;

-- Directly.
SELECT is(theirs.execute(1, NULL) || ' ' || pg_temp.ran_as(), 'finished ' || current_user, 'a handler without a role runs as the caller');
SET LOCAL ROLE regress_worker;
SELECT theirs.execute(2, NULL) AS none, theirs.execute(3, 'regress_app') AS app, theirs.try('set role', 'execute(4, session_user)') \gset
RESET ROLE;
SELECT is(:'none'::text || ' ' || :'app', 'finished finished', 'after SET ROLE a caller has the rights of that role');
SELECT results_eq($$DELETE FROM theirs.note WHERE place = 'handler' RETURNING what$$, '{regress_worker,regress_app}'::text[], 'after SET ROLE handlers run as that role');
SELECT matches(pg_temp.came_of('set role'), '^42501 permission denied to run a handler as role', 'after SET ROLE a caller has no other rights');

-- Through the function of a worker, by a superuser.
SELECT theirs.worker_definer('none', 'execute(5, NULL)'), theirs.worker_definer('super', 'execute(6, session_user)') \g /dev/null
SELECT is(pg_temp.came_of('none') || ' ' || pg_temp.ran_as(), 'finished regress_worker', 'within SECURITY DEFINER a handler runs as the owner, not as the user of the session');
SELECT matches(pg_temp.came_of('super'), '^42501 permission denied to run a handler as role', 'within SECURITY DEFINER the user of the session cannot be named');
SELECT theirs.owner_definer('owner', 'execute(7, ''regress_app'')') \g /dev/null
SELECT is(pg_temp.came_of('owner') || ' ' || pg_temp.ran_as(), 'finished regress_app', 'within SECURITY DEFINER the roles of the owner can be named');

-- By the ANALYZE of a superuser.
SET LOCAL test.armed = off;
INSERT INTO theirs.of_worker VALUES ('analyze', 'execute(8, NULL)'), ('analyze as', 'execute(9, session_user)');
SELECT twtasks.allow_type('PAYOUT', 'regress_app') \g /dev/null
REVOKE regress_app FROM regress_worker;
GRANT twtasks_producer TO regress_worker;
SELECT pg_temp.grab(pg_temp.id(13)), pg_temp.grab(pg_temp.id(14)) \g /dev/null
SELECT twtasks_internal.finish_tasks(ARRAY[pg_temp.id(13), pg_temp.id(14)], '{1}', '{accepted}', '{0}', '{NULL}', pg_temp.node(), 99) \g /dev/null
INSERT INTO theirs.of_worker VALUES ('analyze finish', 'finish(13)');
INSERT INTO theirs.of_operator VALUES ('analyze policy', 'name_function()'), ('analyze change', 'cancel(10)');
SET LOCAL test.armed = on;
ANALYZE theirs.of_worker;
ANALYZE theirs.of_operator;
SELECT matches(pg_temp.came_of('analyze'), '^42501 permission denied to work on tasks within a security-restricted operation', 'within ANALYZE no handler runs');
SELECT matches(pg_temp.came_of('analyze as'), '^42501 permission denied to work on tasks within', 'within ANALYZE no handler runs as another role');
SELECT is(pg_temp.ran_as(), NULL, 'within ANALYZE no handler has run');
SELECT matches(pg_temp.came_of('analyze policy'), '^42501 permission denied to work on tasks within', 'within ANALYZE no policy can name a function');
SELECT matches(pg_temp.came_of('analyze change'), '^42501 permission denied to work on tasks within', 'within ANALYZE no task can be changed by hand');
SELECT is(pg_temp.state(pg_temp.id(10)), 'SUBMITTED 0', 'within ANALYZE no task was changed');

SELECT matches(pg_temp.came_of('analyze finish'), '^42501 permission denied to work on tasks within', 'within ANALYZE no task is finished');
SELECT theirs.worker_definer('finish', 'finish(13)'), theirs.worker_definer('finish many', 'finish_many(14)') \g /dev/null
SELECT is(pg_temp.came_of('finish'), '42501 permission denied to add tasks of type "PAYOUT"', 'a superuser''s call of a worker''s function adds tasks in the name of the worker');
SELECT is(pg_temp.came_of('finish many'), 'ERROR', '... also by finish_tasks()');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'PAYOUT'), 0::bigint, '... and so adds none that it must not');
SELECT twtasks.disallow_type('PAYOUT', 'regress_app') \g /dev/null
GRANT regress_app TO regress_worker;

-- Functions in policies.
SELECT theirs.operator_definer('policy', 'name_function()') \g /dev/null
SELECT matches(pg_temp.came_of('policy'), '^42501 permission denied to name a function in a policy', 'a superuser''s call of an operator''s function cannot name a function in a policy');
SET LOCAL ROLE regress_operator;
SELECT theirs.try('policy as operator', 'name_function()') \g /dev/null
RESET ROLE;
SELECT matches(pg_temp.came_of('policy as operator'), '^42501 permission denied to name a function in a policy', 'a superuser that became an operator cannot name one either');
SELECT is((SELECT count(*) FROM twtasks.type_policies WHERE intercept IS NOT NULL), 0::bigint, 'no policy names a function');
CREATE FUNCTION theirs.of_a_few(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$ SELECT task $$;
REVOKE EXECUTE ON FUNCTION theirs.of_a_few FROM PUBLIC;
CREATE ROLE regress_keeper IN ROLE twtasks_operator, twtasks_owner;
SET LOCAL ROLE regress_keeper;
SELECT throws_ok($$SELECT twtasks.configure_type('*', intercept => 'theirs.of_a_few')$$, '42501', 'permission denied for function "theirs.of_a_few"', 'a role that may not execute a function cannot name it');
RESET ROLE;
GRANT EXECUTE ON FUNCTION theirs.of_a_few TO regress_keeper;
SET LOCAL ROLE regress_keeper;
SELECT lives_ok($$SELECT twtasks.configure_type('*', intercept => 'theirs.of_a_few')$$, 'a role that may execute a function can name it, even if our owner may not');
RESET ROLE;
SELECT theirs.owner_definer('policy of owner', 'name_function()') \g /dev/null
SELECT is(pg_temp.came_of('policy of owner'), 'named', 'a superuser''s SECURITY DEFINER function can name it');


-- Code that runs as another role acts in the name of that role, not of the
-- caller: here of a member of our owner, which may call the inner functions.
CREATE FUNCTION theirs.climb(task twtasks.task_input) RETURNS void LANGUAGE plpgsql
AS $$ BEGIN PERFORM twtasks_internal.find_handler('theirs.handle', session_user); END $$;
SELECT matches((SELECT message FROM twtasks_internal.execute_tasks('theirs.climb', 'regress_keeper', ARRAY[pg_temp.id(11)], '{0}', pg_temp.node(), 11, '{60000}', '{error}')),
	'^permission denied to run a handler as role', 'a handler does not get the rights of the caller');
SET LOCAL ROLE regress_keeper;
SELECT throws_ok($$SELECT twtasks_internal.find_handler('theirs.handle', session_user)$$, '42501', NULL, 'a handler of a member of our owner does not get them either');
RESET ROLE;
SET LOCAL ROLE twtasks_owner;
SELECT twtasks_internal.caller() AS caller \gset
RESET ROLE;
SELECT is(:caller::oid::regrole::text, 'twtasks_owner', 'no caller is remembered afterwards');

-- In tests.
SET LOCAL twtasks.testing = on;
SELECT twtasks.configure_type('*', intercept => 'none') \g /dev/null
GRANT twtasks_tester TO regress_worker;
SELECT twtasks.add_task('INLINE'), theirs.worker_definer('inline', 'inline(NULL)') \g /dev/null
SELECT is(pg_temp.came_of('inline') || ' ' || pg_temp.ran_as(), 'finished regress_worker', 'run_inline() runs no handler as the user of the session');

SELECT * FROM finish();
ROLLBACK;
