--
-- The functions of a kind get what the documentation says: the event, the identifier,
-- the number of attempts that failed, and the last fault.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(8);

CREATE TABLE public.regress_call (n integer GENERATED ALWAYS AS IDENTITY, function text, arguments jsonb);
CREATE FUNCTION public.regress_note(function text, VARIADIC arguments text[]) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ INSERT INTO public.regress_call (function, arguments) VALUES (function, to_jsonb(arguments)) $$;
CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_note('still_needed', event::text, identifier); SELECT CASE event->'needed' WHEN 'false' THEN false WHEN 'true' THEN true END $$;
CREATE FUNCTION public.regress_retry(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_note('retry_function', event::text, identifier, attempts::text, fault); SELECT CASE WHEN attempts < 3 THEN interval '0' END $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_note('on_fault', event::text, identifier, fault); SELECT '{"decision": "failed"}'::jsonb $$;
CREATE FUNCTION public.regress_expiry(event jsonb, identifier text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_note('on_expiry', event::text, identifier); SELECT '{"decision": "over"}'::jsonb $$;
CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF (task.data->>'attempt')::integer = 2 THEN
		RAISE EXCEPTION 'broken';
	END IF;
	PERFORM twtasks.set_outcome(jsonb_build_object('fault', 'no ' || (task.data->>'attempt')));
END $$;
SELECT twtasks.configure_kind('act', 'idempotent', 'ACT', 'act-{/n}', still_needed => 'public.regress_needed', on_expiry => 'public.regress_expiry',
	retry_function => 'public.regress_retry', on_fault => 'public.regress_fault') \g /dev/null
CREATE FUNCTION pg_temp.calls(wanted text) RETURNS SETOF jsonb LANGUAGE sql AS $$ SELECT arguments FROM public.regress_call WHERE function = wanted ORDER BY n $$;

-- ---- an action that is needed, and fails three times ----
SELECT twtasks.start('act', '{"n": 1, "needed": true}') \g /dev/null
SELECT is((SELECT array_agg(c) FROM pg_temp.calls('still_needed') c), ARRAY['["{\"n\": 1, \"needed\": true}", "act-1"]']::jsonb[], 'still_needed gets event and identifier');
SELECT twtasks.run_inline('public.regress_say', 'ACT') FROM generate_series(1, 3) \g /dev/null
SELECT is((SELECT array_agg(c - 0) FROM pg_temp.calls('retry_function') c),
	ARRAY['["act-1", "1", "no 1"]', '["act-1", "2", "broken (SQLSTATE P0001)"]', '["act-1", "3", "no 3"]']::jsonb[], 'retry_function gets identifier, failed attempts and the last fault');
SELECT is((SELECT array_agg(DISTINCT c->>0) FROM pg_temp.calls('retry_function') c), ARRAY['{"n": 1, "needed": true}'], '... and the event');
SELECT is((SELECT array_agg(c) FROM pg_temp.calls('on_fault') c), ARRAY['["{\"n\": 1, \"needed\": true}", "act-1", "no 3"]']::jsonb[], 'on_fault gets event, identifier and the last fault');
SELECT is((SELECT count(*) FROM pg_temp.calls('still_needed')), 4::bigint, 'still_needed is asked before each attempt, and before on_fault');

-- ---- one that is not needed, and one of which the function knows nothing ----
TRUNCATE public.regress_call;
SELECT twtasks.start('act', '{"n": 2, "needed": false}'), twtasks.start('act', '{"n": 3}') \g /dev/null
SELECT is((SELECT array_agg(c) FROM pg_temp.calls('on_expiry') c), ARRAY['["{\"n\": 2, \"needed\": false}", "act-2"]']::jsonb[], 'on_expiry gets event and identifier');
SELECT is((SELECT decision FROM twtasks.outcomes WHERE identifier = 'act-2'), 'over', 'it decides when the action is not needed');
SELECT is((SELECT step || coalesce(decision, '') FROM twtasks.outcomes WHERE identifier = 'act-3'), 'attempt', 'an action is needed if the function returns NULL');
SELECT * FROM finish();
ROLLBACK;
