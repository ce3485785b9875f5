--
-- Functions that users name are found by their types, checked, and called as
-- their owner, or as the role that the caller asks for.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(32);
CREATE SCHEMA app;
CREATE ROLE regress_author;
CREATE ROLE regress_powerless;
GRANT CREATE, USAGE ON SCHEMA app TO regress_author;

SET LOCAL ROLE regress_author;
CREATE FUNCTION app.who(event jsonb, identifier text) RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT format('%s %s %s', current_user, coalesce(event::text, 'NULL'), coalesce(identifier, 'NULL')) $$;
CREATE FUNCTION app.who(event jsonb) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('user', current_user) $$;
CREATE FUNCTION app.strict(event jsonb, identifier text) RETURNS boolean LANGUAGE sql STRICT SET search_path = pg_catalog, pg_temp
AS 'SELECT true';
CREATE FUNCTION app.nothing(event jsonb) RETURNS interval LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS 'SELECT NULL::interval';
CREATE FUNCTION app.several(event jsonb) RETURNS SETOF jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS 'SELECT event';
CREATE FUNCTION app.definer(event jsonb) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS 'SELECT current_user::text';
CREATE FUNCTION app.becomes(event jsonb) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$ BEGIN SET ROLE regress_author; RETURN current_user; END $$;
CREATE FUNCTION app.fails(event jsonb) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'P0042'; END $$;
CREATE FUNCTION app.loose(event jsonb) RETURNS text LANGUAGE sql AS 'SELECT current_user::text';
CREATE FUNCTION app.secret(event jsonb) RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS 'SELECT current_user::text';
REVOKE ALL ON FUNCTION app.secret FROM PUBLIC;
CREATE FUNCTION app.unlock_all(event jsonb) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS 'SELECT pg_advisory_unlock_all()';
RESET ROLE;

-- check_function()
SELECT lives_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.who', '{jsonb,text}', 'text')$$, 'a function with the right types passes');
SELECT lives_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.who', '{jsonb}', 'jsonb')$$, 'another of the same name passes by its own types');
SELECT lives_ok($$SELECT twtasks_internal.check_function('on_fault', NULL, '{jsonb}', 'jsonb')$$, 'NULL passes');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'none', '{jsonb}', 'jsonb')$$, '42883', 'function "none" for on_fault does not exist', 'none is no function');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.who', '{jsonb,text}', 'jsonb')$$, '42883', 'function "app.who" for on_fault does not exist', 'another result is another function');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.who', '{text}', 'jsonb')$$, '42883', NULL, 'other arguments are another function');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.several', '{jsonb}', 'jsonb')$$, '42883', NULL, 'a function that returns a set does not pass');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'who', '{jsonb}', 'jsonb')$$, '42883', NULL, 'a name needs its schema');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.loose', '{jsonb}', 'text')$$, '22023', 'function "app.loose" does not fix its search_path', 'a function that does not fix its search_path is refused');
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.who', NULL, 'text')$$, '22004', NULL, 'types must be given to check');
SET LOCAL ROLE twtasks_owner;
SELECT throws_ok($$SELECT twtasks_internal.check_function('on_fault', 'app.secret', '{jsonb}', 'text')$$, '42501', 'permission denied for function "app.secret"', 'the caller must be allowed to execute the function');
RESET ROLE;
CREATE FUNCTION pg_temp.hint(statement text) RETURNS text LANGUAGE plpgsql
AS $$ DECLARE hint text; BEGIN EXECUTE statement; RETURN NULL; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT; RETURN hint; END $$;
SELECT is(pg_temp.hint($$SELECT twtasks_internal.check_function('p', 'app.no', '{jsonb,text,twtasks.ended_task[],integer}', 'boolean')$$),
	'It must be app.no(jsonb, text, twtasks.ended_task[], integer) returns boolean, with its schema in the name.', 'the hint has the types in words');
SELECT is(pg_temp.hint($$SELECT twtasks_internal.check_function('p', 'app.no', '{}', 'interval')$$),
	'It must be app.no() returns interval, with its schema in the name.', 'the hint has no types if there are none');

-- call_function()
SET LOCAL ROLE twtasks_owner;
SELECT is(twtasks_internal.call_function('p', 'app.who', 'text', NULL, '{"a": 1}'::jsonb, 'x'::text), 'regress_author {"a": 1} x', 'a function runs as its owner');
SELECT is(twtasks_internal.call_function('p', 'app.who', 'jsonb', NULL, '{}'::jsonb), '{"user": "regress_author"}', 'the types of the arguments choose the function, and the result is text');
SELECT is(twtasks_internal.call_function('p', 'app.who', 'text', NULL, NULL::jsonb, NULL::text), 'regress_author NULL NULL', 'arguments may be NULL');
SELECT is(twtasks_internal.call_function('p', 'app.strict', 'boolean', NULL, '{}'::jsonb, 'x'::text), 't', 'a strict function is called with values');
SELECT is(twtasks_internal.call_function('p', 'app.strict', 'boolean', NULL, '{}'::jsonb, NULL::text), NULL, 'a strict function is not called with a NULL');
SELECT is(twtasks_internal.call_function('p', 'app.nothing', 'interval', NULL, '{}'::jsonb), NULL, 'NULL is NULL');
SELECT is(current_user, 'twtasks_owner', 'the caller is itself again after the calls');
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', 'app.who', 'boolean', NULL, '{}'::jsonb)$$, '42883', 'function "app.who" for p does not exist', 'a function with another result is not called');
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', 'app.fails', 'text', NULL, '{}'::jsonb)$$, 'P0042', 'no', 'the function''s error is raised');
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', NULL, 'text', NULL, '{}'::jsonb)$$, '22004', NULL, 'a call without a name is refused');

-- as another role
SELECT is(twtasks_internal.call_function('p', 'app.who', 'jsonb', 'regress_powerless', '{}'::jsonb), '{"user": "regress_powerless"}', 'a function runs as the role that is asked for');
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', 'app.definer', 'text', 'regress_powerless', '{}'::jsonb)$$, '22023', 'function "app.definer" is SECURITY DEFINER',
	'a function that would take its owner''s rights back is refused');
SELECT is(twtasks_internal.call_function('p', 'app.definer', 'text', NULL, '{}'::jsonb), 'regress_author', 'without a role it may be SECURITY DEFINER');
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', 'app.becomes', 'text', 'regress_powerless', '{}'::jsonb)$$, '42501', NULL, 'the function cannot become another role');
RESET ROLE;

-- ... that may write, but not here
RESET ROLE;
CREATE TABLE app.notes (t text);
GRANT INSERT ON app.notes TO PUBLIC;
GRANT USAGE ON SCHEMA app TO PUBLIC;
CREATE FUNCTION app.notes_it(given jsonb) RETURNS text
LANGUAGE sql SET search_path = app, pg_temp
AS $$ INSERT INTO notes VALUES ('x') RETURNING t $$;
SELECT throws_ok($$SELECT twtasks_internal.call_function('p', 'app.notes_it', 'text', 'regress_powerless', '{}'::jsonb)$$, '25006', NULL, 'a function that runs as another role cannot write');
SELECT lives_ok($$INSERT INTO app.notes VALUES ('y')$$, 'its caller still can');

-- the lock of the node
SELECT pg_temp.node() \g /dev/null
SELECT is(twtasks_internal.call_function('p', 'app.unlock_all', 'void', NULL, '{}'::jsonb), NULL, 'a function may return nothing');
SELECT ok(twtasks_internal.session_holds(twtasks_internal.node_lock(pg_temp.node())), 'a function that releases all locks of the session leaves the node its lock');

-- settings of the session
CREATE FUNCTION app.leaves_a_path(given jsonb) RETURNS text
LANGUAGE sql SET search_path = app, pg_temp
AS $$ SELECT set_config('search_path', 'app, pg_catalog', false) $$;
SET search_path = public;
SELECT twtasks_internal.call_function('p', 'app.leaves_a_path', 'text', NULL, '{}'::jsonb) \g /dev/null
SELECT public.is(current_setting('search_path'), 'public', 'a function leaves no search_path');
SELECT * FROM public.finish();
ROLLBACK;
