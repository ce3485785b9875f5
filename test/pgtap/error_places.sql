--
-- A SQL handler that fails names the places in its functions, the innermost first, and
-- no text of a statement.
--
BEGIN;
\ir ../lib/tasks.sql
SET LOCAL client_min_messages = error;
\if :is_sql
SELECT plan(10);
\else
SELECT plan(8);
\endif

CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE TABLE app.account (id integer PRIMARY KEY, amount integer CHECK (amount >= 0));
INSERT INTO app.account VALUES (1, 10);
CREATE FUNCTION app.f1(n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	x integer;
BEGIN
	IF n < 0 THEN
		RAISE EXCEPTION 'no account' USING ERRCODE = 'P0404';
	ELSIF n = 7 THEN
		EXECUTE 'UPDATE app.account SET amount = -4711
			WHERE id = 1';
	END IF;
	x := 100 / n;
	RETURN x;
END $$;
CREATE FUNCTION app.f2(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN app.f1(n); END $$;
CREATE FUNCTION app.f3(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN app.f2(n); END $$;
CREATE FUNCTION app.f4(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN app.f3(n); END $$;
CREATE FUNCTION app.f5(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN app.f4(n); END $$;
CREATE FUNCTION app.fsql(n integer) RETURNS integer LANGUAGE sql VOLATILE AS $$ UPDATE app.account SET amount = amount - n WHERE id = 1 RETURNING amount $$;
CREATE FUNCTION app.works(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	EXECUTE task.data->>'sql';
END $$;
CREATE FUNCTION app.hears(tasks twtasks.ended_task[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp
AS $$ BEGIN PERFORM app.f1(0); END $$;
CREATE FUNCTION pg_temp.why(sql text) RETURNS text LANGUAGE sql AS $$
	SELECT e.message FROM twtasks.add_task('SQL', jsonb_build_object('sql', sql)) a,
		twtasks_internal.execute_tasks('app.works', NULL, ARRAY[a.task_id], '{0}', pg_temp.node(), 10, '{60000}', '{error}') e $$;

SELECT is(pg_temp.why('SELECT 1 / 0'),
	'division by zero, in PL/pgSQL function app.works(twtasks.task_input) line 3 at EXECUTE (SQLSTATE 22012)', 'a handler fails');
SELECT is(pg_temp.why('SELECT app.f5(0)'),
	'division by zero, in PL/pgSQL function app.f1(integer) line 11 at assignment, in PL/pgSQL function app.f2(integer) line 1 at RETURN, '
	'in PL/pgSQL function app.f3(integer) line 1 at RETURN (SQLSTATE 22012)', 'of five functions and the handler the innermost three are named');
SELECT is(pg_temp.why('SELECT app.f1(7)'),
	'new row for relation "account" violates check constraint "account_amount_check", in PL/pgSQL function app.f1(integer) line 8 at EXECUTE, '
	'in PL/pgSQL function app.works(twtasks.task_input) line 3 at EXECUTE (SQLSTATE 23514)', 'no text of a statement is shown');
SELECT is(pg_temp.why('SELECT app.fsql(11)'),
	'new row for relation "account" violates check constraint "account_amount_check", in SQL function "fsql" statement 1, '
	'in PL/pgSQL function app.works(twtasks.task_input) line 3 at EXECUTE (SQLSTATE 23514)', 'functions in SQL are named');
SELECT is(pg_temp.why('DO $x$ BEGIN PERFORM app.f1(0); END $x$'),
	'division by zero, in PL/pgSQL function app.f1(integer) line 11 at assignment, in PL/pgSQL function inline_code_block line 1 at PERFORM, '
	'in PL/pgSQL function app.works(twtasks.task_input) line 3 at EXECUTE (SQLSTATE 22012)', 'so is a block of DO');
SELECT is(pg_temp.why('SELECT app.f5(-1)'), 'no account (SQLSTATE P0404)', 'a message of RAISE stands alone');
SELECT is(pg_temp.why('SELECT app.nothing()'),
	'function app.nothing() does not exist, in PL/pgSQL function app.works(twtasks.task_input) line 3 at EXECUTE (SQLSTATE 42883)', 'a mistake in the handler names its line');

SELECT twtasks.configure_type('ON', on_end => 'app.hears') \g /dev/null
SELECT task_id AS id FROM twtasks.add_task('ON') \gset
SELECT pg_temp.grab(:'id') \g /dev/null
SELECT pg_temp.finish(:'id', 'done') \g /dev/null
SELECT is((SELECT error FROM twtasks.error_tasks WHERE id = :'id'),
	'it became DONE, but function "app.hears" for on_end failed: division by zero, in PL/pgSQL function app.f1(integer) line 11 at assignment, '
	'in PL/pgSQL function hears(twtasks.ended_task[]) line 1 at PERFORM (SQLSTATE 22012)', 'a function of on_end that fails is named with its places');

-- A server with another language translates the words.
\if :is_sql
SELECT is(twtasks_internal.fault_places(concat_ws(chr(10), 'SQL-Anweisung »UPDATE account SET amount = -4711»', 'PL/pgSQL-Funktion f1(integer) Zeile 8 bei SQL-Anweisung',
	'PL/pgSQL-Zuweisung »x := 4711«', 'PL/pgSQL-Funktion twtasks_internal.call_handler(text,twtasks.task_input) Zeile 6 bei EXECUTE', 'PL/pgSQL-Funktion g() Zeile 1 bei PERFORM')),
	', in PL/pgSQL-Funktion f1(integer) Zeile 8 bei SQL-Anweisung', 'in German, places are lines of PL/pgSQL without quotes');
SELECT is(twtasks_internal.fault_places(concat_ws(chr(10), 'SQL statement "SELECT', 'PL/pgSQL x(4711) y', '"', 'PL/pgSQL function f1(integer) line 8 at SQL statement',
	'PL/pgSQL function twtasks_internal.call_handler(text,twtasks.task_input) line 6 at EXECUTE')),
	', in PL/pgSQL function f1(integer) line 8 at SQL statement', 'in English, only lines that name a function are');
\endif

SELECT * FROM finish();
ROLLBACK;
