--
-- execute_tasks(): handlers that are SQL functions, in one transaction with the
-- grab and the finish, as a role that they cannot leave.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(84);

CREATE SCHEMA app;
CREATE TABLE app.effect (task uuid, note text);
CREATE ROLE regress_app;
CREATE ROLE regress_other;
CREATE ROLE regress_sidecar IN ROLE twtasks_worker, regress_app;
GRANT USAGE ON SCHEMA app TO regress_app, regress_other;
GRANT SELECT, INSERT ON app.effect TO regress_app, regress_other;
GRANT twtasks_producer, twtasks_worker TO regress_app;
GRANT USAGE ON SCHEMA twtasks TO regress_other;

-- A handler that does what the task's data says, in PL/pgSQL.
CREATE FUNCTION app.obey(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE plpgsql
AS $$
DECLARE
	answer twtasks.task_result;
BEGIN
	INSERT INTO app.effect VALUES (task.id, coalesce(task.data->>'note', current_user));
	EXECUTE coalesce(task.data->>'sql', 'SELECT 1');
	answer := jsonb_populate_record(NULL::twtasks.task_result, coalesce(task.data->'answer', '{}'));
	RETURN answer;
END $$;
CREATE FUNCTION app.nothing(task twtasks.task_input) RETURNS void
LANGUAGE sql
AS $$ INSERT INTO app.effect VALUES (task.id, 'void') $$;
CREATE FUNCTION app.facts(task twtasks.task_input) RETURNS twtasks.task_result
LANGUAGE sql
AS $$ SELECT 'done', NULL::interval, (to_jsonb(task) - 'id' - 'grabbed')::text $$;
CREATE FUNCTION app.number(task twtasks.task_input) RETURNS integer LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION app.of_id(task uuid) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION app.many(task twtasks.task_input) RETURNS SETOF twtasks.task_result LANGUAGE sql AS 'SELECT NULL::twtasks.task_result';
CREATE FUNCTION app.secret(task twtasks.task_input) RETURNS void LANGUAGE sql AS '';
REVOKE EXECUTE ON FUNCTION app.secret FROM PUBLIC;
-- The SQL edition runs a handler as its owner.
ALTER FUNCTION app.obey OWNER TO regress_app;
ALTER FUNCTION app.obey SECURITY DEFINER;
ALTER FUNCTION app.nothing OWNER TO regress_app;
ALTER FUNCTION app.nothing SECURITY DEFINER;
ALTER FUNCTION app.facts OWNER TO regress_app;
ALTER FUNCTION app.facts SECURITY DEFINER;
GRANT USAGE ON SCHEMA app TO PUBLIC;

-- Adds a task with such data and executes it; "result: message".
CREATE FUNCTION pg_temp.try(n integer, data jsonb, function text DEFAULT 'app.obey', role name DEFAULT 'regress_app') RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task('SQL', data, task_id => pg_temp.id(n));
	RETURN (SELECT result || coalesce(': ' || message, '') FROM twtasks_internal.execute_tasks(function, role, ARRAY[pg_temp.id(n)], '{0}',
		pg_temp.node(), pg_temp.token(), '{60000}', '{error}'));
END $$;
CREATE FUNCTION pg_temp.notes(n integer) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(note, ',') FROM app.effect WHERE task = pg_temp.id(n) $$;

-- Effect and finish, together.
SELECT is(pg_temp.try(2, '{"note": "two"}'), 'finished', 'a function finishes its task');
SELECT is(pg_temp.state(pg_temp.id(2)) || ' ' || pg_temp.notes(2), 'DONE 2 two', 'the task is DONE, with one effect');
SELECT is((SELECT count(*) FROM app.effect e JOIN twtasks.finished_task f ON f.id = e.task WHERE f.xmin = pg_current_xact_id()::xid AND pg_xact_status(e.xmin::text::xid8) = 'in progress'), 1::bigint,
	'the effect and the finish are of one transaction');
SELECT is((SELECT jsonb_build_array(incarnation = pg_temp.node(), token IS NOT NULL, tries) FROM twtasks.finished_task WHERE id = pg_temp.id(2)),
	'[true, true, 1]'::jsonb, 'the history shows a grab and a finish by the node');
SELECT is(pg_temp.try(3, NULL, 'app.nothing'), 'finished', 'a function without an answer has succeeded');
SELECT is(pg_temp.state(pg_temp.id(3)) || ' ' || pg_temp.notes(3), 'DONE 2 void', 'a function without an answer ran once');

-- Each answer.
SELECT is(pg_temp.try(4, '{"answer": {"result": "retry", "delay": "90 s", "message": "busy"}}'), 'finished: retry', 'a function may ask for a retry');
SELECT is((SELECT jsonb_build_array(status, tries, error, extract(epoch FROM next_event_time - state_time)) FROM twtasks.task WHERE id = pg_temp.id(4)),
	'["WAITING", 1, "busy", 90]'::jsonb, 'a retry comes after its delay');
SELECT is(pg_temp.notes(4), 'regress_app', 'a retry keeps the effects of the function');
SELECT is(pg_temp.try(5, '{"answer": {"result": "error", "message": "no"}}') || ' ' || pg_temp.state(pg_temp.id(5)), 'finished: error ERROR 2', 'a function may give up');
SELECT is(pg_temp.try(6, '{"answer": {"result": "delete"}}') || ' ' || pg_temp.state(pg_temp.id(6)), 'finished: delete none', 'a function may delete its task');
SELECT is(pg_temp.try(90, '{"note": "no", "answer": {"result": "cancelled"}}'), 'failed: handler cancelled it without being asked (SQLSTATE 22023)', 'a function may not cancel its task by itself');
SELECT is(pg_temp.state(pg_temp.id(90)) || ' ' || coalesce(pg_temp.notes(90), 'none'), 'PROCESSING 1 none', 'a function that cancels by itself has no effect');
GRANT twtasks_operator TO regress_app;
SELECT is(pg_temp.try(91, jsonb_build_object('sql', format('SELECT twtasks.request_cancel(%L, 1)', pg_temp.id(91)), 'answer', '{"result": "cancelled"}'::jsonb)), 'finished: cancelled', 'a function may cancel its task on request');
SELECT is(pg_temp.state(pg_temp.id(91)), 'CANCELLED 2', 'the task cancelled on request is CANCELLED');
REVOKE twtasks_operator FROM regress_app;
SELECT is(pg_temp.try(7, '{"answer": {"message": "fine"}}') || ' ' || pg_temp.state(pg_temp.id(7)), 'finished DONE 2', 'a NULL result means done');
SELECT is((SELECT message FROM twtasks.finished_task WHERE id = pg_temp.id(7)), 'fine', 'a NULL result keeps the message');
SELECT is(pg_temp.try(8, '{"answer": {"result": "perhaps"}}'), 'failed: unrecognized result: "perhaps" (SQLSTATE 22023)', 'an unrecognized result is a failure');

-- Without a delay the policy decides, and on the number of tries in any case.
SELECT twtasks.configure_type('SQL', retry => '[{"delays": ["10s", "20s"]}]') \g /dev/null
CREATE FUNCTION pg_temp.nth_try(n integer, tries integer, answer jsonb, plan jsonb DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.add_task('SQL', jsonb_build_object('answer', answer), task_id => pg_temp.id(n));
	UPDATE twtasks.task t SET tries = nth_try.tries - 1 WHERE id = pg_temp.id(n);
	PERFORM FROM twtasks_internal.execute_tasks('app.obey', 'regress_app', ARRAY[pg_temp.id(n)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}', retry => plan);
	RETURN (SELECT concat_ws(' ', t.status, t.tries, extract(epoch FROM nullif(next_event_time, 'infinity') - state_time)::integer) FROM twtasks.task t WHERE id = pg_temp.id(n));
END $$;
SELECT is(pg_temp.nth_try(10, 1, '{"result": "retry"}'), 'WAITING 1 10', 'a retry without a delay waits as the policy says');
SELECT is(pg_temp.nth_try(11, 2, '{"result": "retry"}'), 'WAITING 2 20', 'the second retry waits as the policy says');
SELECT is(pg_temp.nth_try(12, 3, '{"result": "retry"}'), 'ERROR 3', 'the last retry ends in ERROR');
SELECT is(pg_temp.nth_try(13, 2, '{"result": "retry", "delay": "5 s"}'), 'WAITING 2 5', 'a function''s own delay comes before the policy');
SELECT is(pg_temp.nth_try(14, 3, '{"result": "retry", "delay": "5 s"}'), 'ERROR 3', 'a function''s own delay does not add tries');
SELECT is(pg_temp.nth_try(15, 9, '{"result": "repeat"}'), 'WAITING 0 10', 'a repeat counts the tries from 0');
SELECT twtasks.configure_type('SQL', reset_tries => false) \g /dev/null
SELECT is(pg_temp.nth_try(16, 2, '{"result": "repeat"}'), 'WAITING 2 20', 'a policy may let a repeat keep its tries');
SELECT is(pg_temp.nth_try(17, 3, '{"result": "repeat"}'), 'ERROR 3', 'a repeat that keeps its tries ends in ERROR with the last try');
SELECT is(pg_temp.nth_try(18, 3, '{"result": "done"}'), NULL, 'a success at the last try is DONE');
SELECT twtasks.drop_type_policy('SQL') \g /dev/null
SELECT is(pg_temp.nth_try(19, 1, '{"result": "retry"}', '[]'), 'ERROR 1', 'without a policy the caller''s figures decide');

-- The facts that a function receives.
SELECT twtasks.add_task('FACTS', '{"d": 1}', 'sub', 'key', pg_temp.id(9), 2, NULL, 'b', NULL, '{"c": 1}', '\x00ff') \g /dev/null
SELECT is((SELECT result FROM twtasks_internal.execute_tasks('app.facts', 'regress_app', ARRAY[pg_temp.id(9)], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}')), 'finished', 'a function receives its task');
SELECT is((SELECT message::jsonb FROM twtasks.finished_task WHERE id = pg_temp.id(9)),
	'{"version": 1, "type": "FACTS", "sub_type": "sub", "bucket": "b", "priority": 2, "tries": 1, "data": {"d": 1}, "payload": "\\x00ff", "context": {"c": 1}, "key": "key"}'::jsonb,
	'a function receives every fact of its task');

-- A function that fails undoes what it did, and nothing else.
SELECT pg_temp.id(n) AS id FROM generate_series(20, 24) n, LATERAL twtasks.add_task('SQL', CASE WHEN n % 2 = 1 THEN '{"sql": "SELECT 1 / 0"}' ELSE '{}' END::jsonb, task_id => pg_temp.id(n)) \g /dev/null
CREATE TEMPORARY TABLE batch AS SELECT * FROM twtasks_internal.execute_tasks('app.obey', 'regress_app', ARRAY(SELECT pg_temp.id(n) FROM generate_series(20, 25) n), '{0,0,0,0,7,0}',
	pg_temp.node(), 900, array_fill(60000, '{6}'), array_fill('error'::twtasks.stuck_rule, '{6}'));
SELECT bag_eq('SELECT right(id::text, 2) || '' '' || concat_ws('' '', version, result, message, tries, type) FROM batch',
	ARRAY['20 1 finished 1 SQL', '21 1 failed division by zero, in PL/pgSQL function app.obey(twtasks.task_input) line 6 at EXECUTE (SQLSTATE 22012) 1 SQL', '22 1 finished 1 SQL', '23 1 failed division by zero, in PL/pgSQL function app.obey(twtasks.task_input) line 6 at EXECUTE (SQLSTATE 22012) 1 SQL'],
	'a batch returns the tasks that were grabbed, each with its result');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(20, 24) n), '{DONE 2,PROCESSING 1,DONE 2,PROCESSING 1,SUBMITTED 0}'::text[],
	'failed tasks wait for the caller''s finish, and tasks not grabbed stay as they are');
SELECT is((SELECT array_agg(DISTINCT right(task::text, 2)) FROM app.effect WHERE task BETWEEN pg_temp.id(20) AND pg_temp.id(25)), '{20,22}'::text[], 'only successful tasks have effects');
SELECT is(pg_temp.finish(pg_temp.id(21), 'retry', 1), 'WAITING', 'the caller finishes a failed task');
SELECT ok(pg_temp.try(26, '{"sql": "SELECT twtasks.add_task(''CHILD'')", "answer": {"result": "perhaps"}}') ~ '^failed', 'a function may add a task and fail');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'CHILD'), 0::bigint, 'the failure undoes the added task');
SELECT is(pg_temp.try(27, '{"sql": "SELECT twtasks.add_task(''CHILD'')"}'), 'finished', 'a function may add a task and succeed');
SELECT is((SELECT count(*) FROM twtasks.task WHERE type = 'CHILD'), 1::bigint, 'the added task exists');
SELECT is(pg_temp.try(28, '{"sql": "SELECT twtasks_internal.finish_tasks(ARRAY[''00000000-0000-0000-0000-000000000028'']::uuid[], ''{1}'', ''{done}'', ''{0}'', ''{NULL}'', 1, 1)"}'),
	'failed: task was changed by its own handler (SQLSTATE 55000)', 'a function that finishes its own task fails');
SELECT is(pg_temp.state(pg_temp.id(28)), 'PROCESSING 1', 'the finish by the function is undone');

-- A function runs as its role, and cannot change it.
SELECT is(pg_temp.notes(27), 'regress_app', 'a function runs as its role');
SELECT is((SELECT array_agg(pg_temp.try(40 + n::integer, jsonb_build_object('sql', s)) ORDER BY n) FROM unnest(ARRAY['SET ROLE regress_other', 'SET LOCAL ROLE regress_other',
	'RESET ROLE', 'SELECT set_config(''role'', ''regress_other'', false)']) WITH ORDINALITY x(s, n)),
	array_fill('failed: cannot set parameter "role" within security-definer function, in PL/pgSQL function app.obey(twtasks.task_input) line 6 at EXECUTE (SQLSTATE 42501)'::text, '{4}'), 'a function cannot change its role');
SELECT ok((SELECT bool_and(pg_temp.try(50 + n::integer, jsonb_build_object('sql', s)) ~ '^failed: cannot set parameter "session_authorization" .*42501') FROM unnest(ARRAY['SET SESSION AUTHORIZATION regress_other',
	'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION DEFAULT']) WITH ORDINALITY x(s, n)), 'a function cannot change the user of the session');
SELECT ok((SELECT bool_and(pg_temp.try(60 + n::integer, jsonb_build_object('sql', s)) ~ '^failed') FROM unnest(ARRAY['COMMIT', 'ROLLBACK', 'DISCARD ALL', 'LOAD ''twtasks''', 'COPY app.effect TO PROGRAM ''true''',
	'SELECT * FROM twtasks.task', 'DELETE FROM twtasks.task', 'ALTER FUNCTION app.number OWNER TO regress_app', 'SELECT pg_temp.notes(1); CREATE ROLE regress_more']) WITH ORDINALITY x(s, n)),
	'a function cannot end the transaction, nor do what its role may not');
-- Its deferred triggers run as its role too.
CREATE TABLE app.own (n integer);
ALTER TABLE app.own OWNER TO regress_app;
CREATE FUNCTION app.at_commit() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN INSERT INTO app.effect VALUES ('00000000-0000-0000-0000-000000000080', current_user); RETURN NULL; END $$;
ALTER FUNCTION app.at_commit() OWNER TO regress_app;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON app.own DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.at_commit();
SELECT is(pg_temp.try(79, '{"sql": "INSERT INTO app.own VALUES (1)"}'), 'finished', 'a function may leave a deferred trigger behind');
SET CONSTRAINTS ALL IMMEDIATE;
SELECT is(pg_temp.notes(80), 'regress_app', 'a deferred trigger runs as the function''s role');
SELECT is(current_user, session_user, 'the session has its own user again afterwards');

-- All settings of a function are reset.
CREATE FUNCTION pg_temp.settings() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(current_setting(n), ' ') FROM unnest('{client_encoding,DateStyle,IntervalStyle,TimeZone,bytea_output,idle_session_timeout,work_mem}'::text[]) n
$$;
SELECT pg_temp.settings() AS settings \gset
SELECT is(pg_temp.try(186, '{"sql": "SET client_encoding = LATIN1; SET DateStyle = German; SET IntervalStyle = iso_8601; SET TimeZone = -3; SET bytea_output = escape; SET idle_session_timeout = 1000; SET work_mem = 77"}')
	|| ' ' || pg_temp.settings(), 'finished ' || :'settings', 'settings of a function are reset');

-- A deferred constraint fails only the task that broke it.
CREATE TABLE app.account (n integer PRIMARY KEY, owner integer REFERENCES app.account DEFERRABLE INITIALLY DEFERRED);
GRANT SELECT, INSERT ON app.account TO regress_app;
SELECT twtasks.add_task('SQL', jsonb_build_object('sql', format('INSERT INTO app.account VALUES (%s, %s)', n, CASE n WHEN 182 THEN 0 ELSE n END)), task_id => pg_temp.id(n))
FROM generate_series(181, 183) n \g /dev/null
SELECT is((SELECT array_agg(result ORDER BY id) FROM twtasks_internal.execute_tasks('app.obey', 'regress_app', ARRAY(SELECT pg_temp.id(n) FROM generate_series(181, 183) n),
	'{0,0,0}', pg_temp.node(), pg_temp.token(), '{60000,60000,60000}', '{error,error,error}')), '{finished,failed,finished}'::text[], 'a task that breaks a deferred constraint fails');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(181, 183) n), '{DONE 2,PROCESSING 1,DONE 2}'::text[], 'the other tasks of its transaction are DONE');
SELECT is(ARRAY(SELECT n FROM app.account ORDER BY n), '{181,183}'::integer[], 'the other tasks of its transaction keep their effects');
SELECT is(pg_temp.notes(182), NULL, 'nothing is left of the failed task');
SELECT lives_ok('SET CONSTRAINTS ALL IMMEDIATE', 'nothing is left to fail at the commit');
-- A later statement of the function may repair it.
SELECT alike(pg_temp.try(184, '{"sql": "INSERT INTO app.account VALUES (191, 192); INSERT INTO app.account VALUES (192, 191)"}'), 'failed%SQLSTATE 23503%',
	'a function''s deferred constraints are checked at once');
SELECT is(pg_temp.try(185, '{"sql": "SET CONSTRAINTS ALL DEFERRED; INSERT INTO app.account VALUES (191, 192); INSERT INTO app.account VALUES (192, 191)"}'), 'finished',
	'... unless it defers them itself');

-- Under a limit of the whole cluster.
SELECT twtasks.configure_limit('LIM', 1, 'cluster') \g /dev/null
SELECT twtasks.add_task('LIM', '{"note": "limited"}', task_id => pg_temp.id(n)) FROM generate_series(80, 82) n \g /dev/null
SELECT pg_temp.token() AS first, pg_temp.node() AS node \gset
CREATE FUNCTION pg_temp.go(n integer, token bigint, grabbed boolean) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(concat_ws(' ', version, result, message, tries, type), ',') FROM twtasks_internal.execute_tasks('app.obey', 'regress_app', ARRAY[pg_temp.id(n)], '{0}',
	pg_temp.node(), token, '{60000}', '{error}', grabbed => grabbed) $$;
SELECT is(pg_temp.go(80, pg_temp.token(), false), '1 finished 1 LIM', 'a task within a limit runs');
SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(81)], '{0}', :node, :first, '{60000}', '{error}') \g /dev/null
SELECT is(pg_temp.go(82, pg_temp.token(), false), 'refused LIM', 'a task beyond a limit is refused');
SELECT is(pg_temp.state(pg_temp.id(82)), 'SUBMITTED 0', 'a refused task stays as it is');
SELECT is(pg_temp.go(82, :first, true), NULL, 'a task that was not grabbed before does not run');
SELECT is(pg_temp.go(81, pg_temp.token(), true), NULL, 'a task that another call has grabbed does not run');
SELECT is(pg_temp.go(81, :first, false), NULL, 'a task that was grabbed before is not grabbed again');
SELECT is(pg_temp.go(81, :first, true), '1 finished 1 LIM', 'a task that was grabbed before runs');
SELECT is(pg_temp.state(pg_temp.id(81)), 'DONE 2', 'a task that was grabbed before is DONE');
SELECT is(pg_temp.notes(81), 'limited', 'the function of a task grabbed before has its effect');
SELECT is(pg_temp.go(81, :first, true), NULL, 'the function of a task grabbed before ran once');
SELECT count(*) FROM twtasks_internal.grab_tasks(ARRAY[pg_temp.id(82)], '{0}', :node, :first, '{60000}', '{error}') \g /dev/null
UPDATE twtasks.node SET ended = clock_timestamp() WHERE incarnation = :node;
SELECT is(pg_temp.go(82, :first, true), NULL, 'a node that has ended runs nothing more');
UPDATE twtasks.node SET ended = NULL WHERE incarnation = :node;
SELECT is(pg_temp.go(82, :first, true), '1 finished 1 LIM', 'a node that has not ended runs tasks');
SELECT twtasks.drop_limit('LIM') \g /dev/null

-- An error that several tasks in one transaction may cause undoes all of them.
-- For a task alone in its transaction it is an ordinary failure.
SELECT twtasks.add_task('SQL', CASE n WHEN 702 THEN jsonb_build_object('sql', format('DO $x$ BEGIN RAISE SQLSTATE %L; END $x$', code)) END,
	task_id => pg_temp.id(n + round::integer * 10))
FROM unnest('{40P01,40001,55P03}'::text[]) WITH ORDINALITY c(code, round), generate_series(701, 703) n \g /dev/null
CREATE FUNCTION pg_temp.execute(VARIADIC n integer[]) RETURNS text[] LANGUAGE sql
AS $$ SELECT array_agg(e.result ORDER BY e.id) FROM twtasks_internal.execute_tasks('app.obey', 'regress_app', ARRAY(SELECT pg_temp.id(u) FROM unnest(n) u), '{0}',
	pg_temp.node(), pg_temp.token(), '{60000}', '{error}') e $$;
SELECT throws_ok('SELECT pg_temp.execute(711, 712, 713)', '40P01', NULL, 'a deadlock undoes all tasks of its transaction');
SELECT throws_ok('SELECT pg_temp.execute(721, 722, 723)', '40001', NULL, 'a serialization failure undoes all tasks of its transaction');
SELECT is(pg_temp.execute(731, 732, 733), '{finished,failed,finished}', 'any other failure is the task''s own');
SELECT is(pg_temp.execute(712) || pg_temp.execute(722), '{failed,failed}', 'deadlocks and serialization failures of a single task are its own');
SELECT is(pg_temp.execute(711, 713, 721, 723), '{finished,finished,finished,finished}', 'the other tasks are executed');

-- Functions that are no handlers.
CREATE FUNCTION pg_temp.call(function text, role name DEFAULT 'regress_app') RETURNS text
LANGUAGE sql
AS $$ SELECT format('SELECT * FROM twtasks_internal.execute_tasks(%L, %L, ''{}'', ''{}'', 1, 1, ''{}'', ''{}'')', function, role) $$;
SELECT throws_ok(pg_temp.call(f), '42883', NULL, 'not a handler: ' || coalesce(f, 'none'))
FROM unnest('{app.missing,missing,app.number,app.of_id,app.many,app.effect}'::text[]) f;
SELECT throws_ok(pg_temp.call(NULL), '22004', 'function must not be null', 'a function that does not exist is an error');
SELECT throws_ok(pg_temp.call('app.nothing', 'regress_nobody'), '42704', NULL, 'a role that does not exist is an error');
SELECT throws_ok(pg_temp.call('app.secret'), '42501', NULL, 'a function that its role may not execute is an error');
CREATE FUNCTION pg_temp.caught(statement text) RETURNS text LANGUAGE plpgsql
AS $$ BEGIN EXECUTE statement; RETURN 'ok'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END $$;
SET LOCAL SESSION AUTHORIZATION regress_sidecar;
SELECT pg_temp.caught(pg_temp.call('app.nothing', 'regress_other')) AS other, pg_temp.caught(pg_temp.call('app.nothing', 'regress_app')) AS own,
	   pg_temp.caught(pg_temp.call('app.nothing', 'twtasks_owner')) AS owner, pg_temp.caught(pg_temp.call('app.nothing', NULL)) AS none \gset
RESET SESSION AUTHORIZATION;
SELECT is(ARRAY[:'other', :'own', :'owner', :'none'], '{42501,ok,42501,ok}'::text[], 'a sidecar runs handlers as roles that it is a member of');
SELECT lives_ok(pg_temp.call('app.nothing'), 'an empty call is no error');

-- A function that is named by its oid could have any signature.
SELECT is(ARRAY(SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'twtasks') AND 'oid'::regtype = ANY (p.proargtypes)), '{}'::regprocedure[], 'no function of ours calls another by its oid');

SELECT * FROM finish();
ROLLBACK;
