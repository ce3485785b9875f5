--
-- One item's failure stops no other: try_call() catches the errors that WHEN
-- OTHERS of PL/pgSQL lets pass, and its callers go on with the next item.
--
BEGIN;
\ir ../lib/tasks.sql
SET twtasks.testing = on;
SELECT plan(39);
CREATE SCHEMA app;
CREATE TABLE app.done (what text);

-- The errors of users' functions, by name.
CREATE FUNCTION app.fail(how text) RETURNS text LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$
BEGIN
	INSERT INTO done VALUES (how);
	CASE how
	WHEN 'assert' THEN ASSERT false, 'no account';
	WHEN 'raise' THEN RAISE EXCEPTION 'no' USING ERRCODE = 'P0404', DETAIL = 'why', HINT = 'what to do';
	WHEN 'cancel' THEN RAISE EXCEPTION 'the remote statement was cancelled' USING ERRCODE = 'query_canceled';
	WHEN 'shutdown' THEN RAISE EXCEPTION 'the remote server ends' USING ERRCODE = 'admin_shutdown';
	WHEN 'large' THEN PERFORM repeat('x', 1073741823);
	WHEN 'deadlock' THEN RAISE EXCEPTION 'somebody waits' USING ERRCODE = 'deadlock_detected';
	WHEN 'internal' THEN RAISE EXCEPTION 'broken' USING ERRCODE = 'XX000';
	WHEN 'slow' THEN LOOP PERFORM 1; END LOOP;
	WHEN 'swallows' THEN
		BEGIN
			LOOP PERFORM 1; END LOOP;
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
	WHEN 'stubborn' THEN
		BEGIN
			LOOP PERFORM 1; END LOOP;
		EXCEPTION WHEN query_canceled THEN
			LOOP PERFORM 1; END LOOP;
		END;
	WHEN 'renames' THEN
		BEGIN
			LOOP PERFORM 1; END LOOP;
		EXCEPTION WHEN query_canceled THEN
			RAISE EXCEPTION 'the remote statement was cancelled' USING ERRCODE = 'query_canceled';
		END;
	ELSE NULL;
	END CASE;
	RETURN 'did ' || how;
END $$;
CREATE FUNCTION app.nothing(how text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pg_temp.tried(how text) RETURNS text LANGUAGE sql
AS $$ SELECT concat_ws(': ', t.result, t.state, t.error) FROM twtasks_internal.try_call('app.fail', how) t $$;
SET twtasks.function_timeout = '100ms';

SET statement_timeout = '1 min';
SELECT is(pg_temp.tried(how), answer, format('%s: %s', how, answer)) FROM (VALUES
	('fine',	'did fine'),
	('assert',	'P0004: no account'),
	('raise',	'P0404: no'),
	('cancel',	'57014: the remote statement was cancelled'),
	('shutdown', '57P01: the remote server ends'),
	('large',	'54000: requested length too large'),
	('deadlock', '40P01: somebody waits'),
	('internal', 'XX000: broken'),
	('slow',	'53400: function "app.fail" took too long'),
	('swallows', '53400: function "app.fail" took too long'),
	('stubborn', '53400: function "app.fail" took too long'),
	('renames', '57014: the remote statement was cancelled')) e(how, answer);
SELECT is((SELECT string_agg((twtasks_internal.try_call('app.fail', how)).state, ' ') FROM unnest('{slow,slow,stubborn,slow}'::text[]) how),
	'53400 53400 53400 53400', 'each call of a statement has a limit');
RESET statement_timeout;
SELECT is((SELECT array_agg(what) FROM app.done), '{fine}', 'a call that fails leaves nothing behind');
SELECT is((SELECT concat_ws(', ', t.detail, t.hint) FROM twtasks_internal.try_call('app.fail', 'raise'::text) t), 'why, what to do', 'the error has its detail and hint');
SELECT is((SELECT t::text FROM twtasks_internal.try_call('app.nothing', 'x'::text) t), '(,,,,)', 'a function without result has none');
SELECT is((SELECT t.state FROM twtasks_internal.try_call('app.nobody', 'x'::text) t), '42883', 'a function that is gone is a failure');

-- A cancel from outside is for the statement.
RESET twtasks.function_timeout;
SET statement_timeout = '100ms';
CREATE FUNCTION pg_temp.cancelled() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks_internal.try_call('app.fail', 'slow'::text);
	RETURN false;
EXCEPTION WHEN query_canceled THEN
	RETURN true;
END $$;
SELECT ok(pg_temp.cancelled(), 'statement_timeout ends the statement');
RESET statement_timeout;

-- A call within a call shares its time; the items after one that used it up wait for the next call.
CREATE FUNCTION twtasks_internal.duty_try() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
	INSERT INTO app.done SELECT concat_ws(' ', how, (twtasks_internal.try_call('app.fail', how)).state)
	FROM unnest('{first,assert,slow,last}'::text[]) how;
	RETURN 7;
END $$;
TRUNCATE app.done;
SET twtasks.function_timeout = '1s';
SELECT is(twtasks_internal.run_duties(), 7::bigint, 'a duty one of whose items takes too long ends well');
SELECT is((SELECT array_agg(what) FROM app.done), '{first,first,"assert P0004","slow 53400","last 53400"}', 'items before the slow one are done; later ones find no time');
SELECT is(pg_temp.tried('fine'), 'did fine', 'the next call has its own time');
DROP FUNCTION twtasks_internal.duty_try;

-- Once the time of a call within a call was over, the outer one still has a limit.
CREATE FUNCTION twtasks_internal.duty_a() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$ BEGIN PERFORM twtasks_internal.try_call('app.fail', 'slow'::text); LOOP PERFORM 1; END LOOP; END $$;
CREATE FUNCTION twtasks_internal.duty_b() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$ BEGIN INSERT INTO app.done VALUES ('after'); RETURN 8; END $$;
TRUNCATE app.done;
SET twtasks.function_timeout = '100ms';
SET statement_timeout = '1 min';
SET client_min_messages = error;
SELECT is(twtasks_internal.run_duties(), 8::bigint, 'a duty that goes on for ever after such a call is cut off');
RESET client_min_messages;
RESET statement_timeout;
RESET twtasks.function_timeout;
SELECT is((SELECT array_agg(what) FROM app.done), '{after}', '... and stops no other duty');
DROP FUNCTION twtasks_internal.duty_a, twtasks_internal.duty_b;

-- A cancel that comes later is for the statement.
CREATE FUNCTION twtasks_internal.duty_a() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.try_call('app.fail', 'slow'::text);
	PERFORM pg_cancel_backend(pg_backend_pid());
	LOOP PERFORM 1; END LOOP;
END $$;
CREATE FUNCTION pg_temp.cancelled_duty() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN twtasks_internal.run_duties();
EXCEPTION WHEN query_canceled THEN
	RETURN 'cancelled';
END $$;
SET twtasks.function_timeout = '2s';
SELECT is(pg_temp.cancelled_duty(), 'cancelled', 'a cancel after a call whose time was over ends the statement');
RESET twtasks.function_timeout;
DROP FUNCTION twtasks_internal.duty_a;

-- ---- duties ----
CREATE FUNCTION twtasks_internal.duty_a() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp AS $$ BEGIN ASSERT false; END $$;
CREATE FUNCTION twtasks_internal.duty_b() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = 'query_canceled'; END $$;
CREATE FUNCTION twtasks_internal.duty_c() RETURNS bigint LANGUAGE plpgsql SET search_path = public, pg_temp
AS $$ BEGIN INSERT INTO app.done VALUES ('duty'); RETURN 9; END $$;
TRUNCATE app.done;
SET client_min_messages = error;
SELECT is(twtasks_internal.run_duties(), 9::bigint, 'duties that assert or cancel do not end the call');
SELECT is((SELECT array_agg(what) FROM app.done), '{duty}', '... nor stop other duties');
DROP FUNCTION twtasks_internal.duty_a, twtasks_internal.duty_b, twtasks_internal.duty_c;

-- ---- late results ----
CREATE FUNCTION twtasks_internal.late_a(late twtasks.late_result[]) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$ BEGIN ASSERT false; END $$;
CREATE FUNCTION twtasks_internal.late_b(late twtasks.late_result[]) RETURNS void LANGUAGE sql SET search_path = public, pg_temp AS $$ INSERT INTO app.done VALUES ('late') $$;
SELECT twtasks_internal.tell_late(ARRAY[pg_temp.id(1)], '{1}', '{done}', '{NULL}', '{NULL}') \g /dev/null
SELECT is((SELECT array_agg(what) FROM app.done WHERE what = 'late'), '{late}', 'a function for late results that asserts does not stop others');
DROP FUNCTION twtasks_internal.late_a, twtasks_internal.late_b;

-- ---- schedules ----
CREATE FUNCTION app.intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$ BEGIN PERFORM fail(task.data->>'how'); RETURN task; END $$;
SELECT twtasks.schedule(how, '@hourly', 'BAD', jsonb_build_object('how', how)) FROM unnest('{assert,cancel,fine}'::text[]) how \g /dev/null
SELECT twtasks.configure_type('BAD', intercept => 'app.intercept') \g /dev/null
UPDATE twtasks.schedule SET next_run = date_trunc('hour', twtasks.clock()), look_at = '-infinity';
SELECT is((SELECT concat_ws(' ', added, failed) FROM twtasks_internal.run_schedules()), '1 2', 'intercepts that assert or cancel stop no other schedule');
SELECT is((SELECT jsonb_object_agg(name, problem) FROM twtasks.schedules),
	'{"assert": "no account", "cancel": "the remote statement was cancelled", "fine": null}'::jsonb, 'each schedule shows its problem');

-- ---- policies ----
CREATE FUNCTION app.retry(task twtasks.task_input, message text) RETURNS timestamptz LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$ BEGIN PERFORM fail(task.data->>'how'); RETURN now(); END $$;
SELECT twtasks.configure_type('RETRY', retry_function => 'app.retry', retry => '{"delay": "1 h"}') \g /dev/null
CREATE FUNCTION pg_temp.retried(how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	task CONSTANT uuid := (twtasks.add_task('RETRY', jsonb_build_object('how', how))).task_id;
BEGIN
	PERFORM pg_temp.grab(task);
	RETURN pg_temp.finish(task, 'retry');
END $$;
SELECT is(pg_temp.retried(how), 'WAITING', format('the figures of a policy decide when its function says: %s', how)) FROM unnest('{assert,cancel,shutdown}'::text[]) how;

-- ---- SQL handlers ----
CREATE FUNCTION app.handler(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$ BEGIN PERFORM fail(task.data->>'how'); END $$;
SELECT twtasks.add_task('HANDLED', jsonb_build_object('how', how), task_id => pg_temp.id(n::integer)) FROM unnest('{fine,assert,cancel,other}'::text[]) WITH ORDINALITY u(how, n) \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', result, substring(message FROM 'SQLSTATE .....')), ', ' ORDER BY id)
		   FROM twtasks_internal.execute_tasks('app.handler', NULL, ARRAY(SELECT pg_temp.id(n) FROM generate_series(1, 4) n),
			'{0,0,0,0}', pg_temp.node(), pg_temp.token(), '{60000,60000,60000,60000}', '{error,error,error,error}') e),
	'finished, failed SQLSTATE P0004, failed SQLSTATE 57014, finished', 'SQL handlers that assert or cancel stop no other task');
-- ---- messages ----
CREATE FUNCTION app.to_task(m twtasks.message) RETURNS twtasks.new_task LANGUAGE plpgsql SET search_path = app, pg_temp
AS $$ BEGIN PERFORM fail(m.headers->>'how'); RETURN ROW('MADE', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task; END $$;
CREATE FUNCTION pg_temp.taken(partition integer, how text) RETURNS bigint LANGUAGE sql AS $$
	SELECT twtasks.take_messages('f', 'invoices', partition, 0, 3, function => 'app.to_task', messages => (
		SELECT array_agg(('invoices', partition, n, now(), NULL, NULL, jsonb_build_object('how', CASE n WHEN 1 THEN how ELSE 'fine' END))::twtasks.message)
		FROM generate_series(0, 2) n)) $$;
SELECT is(pg_temp.taken(n, how), 1::bigint, format('a message does not stop those before it: %s', how)) FROM (VALUES (0, 'assert'), (1, 'cancel'), (2, 'shutdown')) u(n, how);

-- A trigger of the user, whose error no call of ours sees.
CREATE FUNCTION app.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS $$ BEGIN PERFORM fail('cancel'); RETURN NULL; END $$;
CREATE TRIGGER refuse AFTER INSERT ON twtasks.task FOR EACH ROW WHEN (NEW.data->>'how' = 'bad') EXECUTE FUNCTION app.refuse();
GRANT USAGE ON SCHEMA app TO twtasks_owner;
GRANT INSERT ON app.done TO twtasks_owner;
CREATE FUNCTION pg_temp.typed(partition integer, bad integer) RETURNS bigint LANGUAGE sql AS $$
	SELECT twtasks.take_messages('t', 'invoices', partition, 0, 3, type => 'MADE', messages => (
		SELECT array_agg(twtasks.message('invoices', partition, n, value => convert_to(jsonb_build_object('how', CASE n WHEN bad THEN 'bad' END)::text, 'UTF8')))
		FROM generate_series(0, 2) n)) $$;
SELECT is(pg_temp.typed(0, 2), 2::bigint, 'a trigger that raises a cancel does not stop the messages before');
SELECT throws_ok('SELECT pg_temp.typed(1, 0)', '38000', 'the remote statement was cancelled', 'its message fails by name');
SELECT is(pg_temp.typed(2, NULL), 3::bigint, 'other messages are taken');
SELECT * FROM finish();
ROLLBACK;
