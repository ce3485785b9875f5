--
-- answer_to_do(): the functions of a kind decide as a role without rights, within a
-- time limit, and their errors are not taken for the caller's.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(20);

CREATE TABLE public.regress_secret (n integer);
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CASE data->>'do'
	WHEN 'read' THEN PERFORM FROM public.regress_secret;
	WHEN 'write' THEN INSERT INTO public.regress_secret VALUES (1);
	WHEN 'call' THEN PERFORM twtasks.decide_by_hand('item', 'item-1', '{"decision": "by hand"}', 'x');
	WHEN 'role' THEN PERFORM set_config('role', session_user, true);
	WHEN 'missing' THEN PERFORM 'none'::regrole;
	WHEN 'cast' THEN PERFORM (data->>'do')::integer;
	WHEN 'own' THEN RAISE EXCEPTION 'too much' USING ERRCODE = 'RF001', DETAIL = 'It is 30.', HINT = 'Ask for less.';
	WHEN 'loop' THEN LOOP PERFORM 1; END LOOP;
	ELSE NULL;
	END CASE;
	RETURN jsonb_build_object('decision', 'yes', 'as', current_user, 'can', (SELECT array_agg(r.rolname::text) FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'USAGE')));
END $$;
CREATE FUNCTION public.regress_contract(data jsonb) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CASE data->>'contract'
	WHEN 'loop' THEN LOOP PERFORM 1; END LOOP;
	WHEN 'denied' THEN RAISE insufficient_privilege USING MESSAGE = 'denied';
	WHEN 'no' THEN RETURN false;
	ELSE RETURN true;
	END CASE;
END $$;
CREATE FUNCTION public.regress_identifier(data jsonb) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CASE data->>'identifier'
	WHEN 'loop' THEN LOOP PERFORM 1; END LOOP;
	WHEN 'denied' THEN RAISE insufficient_privilege USING MESSAGE = 'denied';
	ELSE RETURN 'item-' || (data->>'n');
	END CASE;
END $$;
CREATE ROLE regress_clerk;
CREATE ROLE regress_stranger;
GRANT USAGE ON SCHEMA twtasks TO regress_clerk, regress_stranger;
SELECT twtasks.configure_kind('item', 'to_do', 'ITEM', 'public.regress_identifier', contract => 'public.regress_contract', decide => 'public.regress_decide',
	readers => '{regress_clerk}', answerers => '{regress_clerk}') \g /dev/null
SELECT twtasks.start('item', '{"n": 1}'), twtasks.start('item', '{"n": 2}') \g /dev/null
SET twtasks.function_timeout = '1s';
SET ROLE regress_clerk;
CREATE FUNCTION pg_temp.answer(data jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT twtasks.answer_to_do(%L, %L, %L)', 'item', CASE WHEN data ? 'identifier' THEN NULL ELSE 'item-1' END, data) $$;

-- ---- a role without rights ----
SELECT throws_ok(pg_temp.answer('{"do": "read"}'), '38000', 'permission denied for table regress_secret', 'decide reads no table');
SELECT throws_ok(pg_temp.answer('{"do": "write"}'), NULL, NULL, 'decide writes nothing');
SELECT throws_ok(pg_temp.answer('{"do": "call"}'), '38000', NULL, 'decide calls no function of ours');
SELECT throws_ok(pg_temp.answer('{"do": "role"}'), NULL, NULL, 'decide takes no other role');

-- ---- errors of functions, and of the caller ----
SELECT throws_ok(pg_temp.answer('{"contract": "denied"}'), '38000', 'denied', '42501 of the contract is not the caller''s');
SELECT throws_ok(pg_temp.answer('{"identifier": "denied"}'), '38000', 'denied', '... nor of the function that makes identifiers');
SELECT throws_ok(pg_temp.answer('{"do": "missing"}'), '38000', NULL, '42704 of decide does not say that there is no item');
SELECT throws_ok(pg_temp.answer('{"do": "cast"}'), '22P02', NULL, 'data that decide cannot read is data');
SELECT throws_ok(pg_temp.answer('{"do": "own"}'), 'RF001', 'too much', 'an error of its own passes');
SELECT throws_ok(pg_temp.answer('{"contract": "no"}'), '22023', 'data does not fulfil the contract of kind "item"', 'the contract refuses');
SELECT throws_ok($$SELECT twtasks.answer_to_do('item', 'item-9', '{}')$$, '42704', NULL, 'an item that is not there');
RESET ROLE;
SET ROLE regress_stranger;
SELECT throws_ok($$SELECT twtasks.answer_to_do('item', 'item-1', '{}')$$, '42501', NULL, 'a role that may not answer');
RESET ROLE;

-- ---- functions that loop ----
SET ROLE regress_clerk;
SELECT throws_ok(pg_temp.answer('{"do": "loop"}'), '53400', 'function "public.regress_decide" took too long', 'a decide that loops is ended');
SELECT throws_ok(pg_temp.answer('{"contract": "loop"}'), '53400', 'function "public.regress_contract" took too long', 'so is a contract');
SELECT throws_ok(pg_temp.answer('{"identifier": "loop"}'), '53400', 'function "public.regress_identifier" took too long', 'and an identifier');
SELECT is((SELECT count(*) FROM twtasks.read_to_do('item')), 2::bigint, 'the items stay open');
SELECT is((SELECT result FROM twtasks.answer_to_do('item', NULL, '{"n": 2}')), 'decided', 'another item is decided');
SELECT is((SELECT outcome FROM twtasks.answer_to_do('item', 'item-1', '{}')), '{"decision": "yes", "as": "twtasks_nobody", "can": ["twtasks_nobody"]}',
	'decide runs as a role that is a member of no other');
RESET ROLE;
SELECT is_empty('SELECT FROM public.regress_secret', 'nothing was written');
SELECT is((SELECT count(*) FROM twtasks.outcomes WHERE decided_by = 'regress_clerk'), 2::bigint, 'both are the clerk''s');
SELECT * FROM finish();
ROLLBACK;
