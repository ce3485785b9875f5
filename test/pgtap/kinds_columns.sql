--
-- Columns that users add to the tables of kinds are no trouble, whatever their names:
-- here each variable and parameter of the functions that read or write these tables.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SET twtasks.function_timeout = '60 s';
SELECT plan(14);

-- All names, in each table that has no such column.
DO $$
DECLARE
	wanted record;
BEGIN
	FOR wanted IN
		SELECT t.name AS target, n.name AS name
		FROM unnest('{twtasks.outcome,twtasks.attempt,twtasks.anomaly,twtasks.reaction,twtasks.kind,twtasks.item_role,twtasks_internal.kind_rule}'::regclass[]) t(name)
		CROSS JOIN (
			SELECT unnest(p.proargnames) FROM pg_proc p
			WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
			  AND p.prosrc ~ '(twtasks|twtasks_internal)\.(outcome|attempt|anomaly|reaction|kind|item_role|kind_rule)\M'
			UNION
			SELECT m[1] FROM pg_proc p, regexp_matches(p.prosrc, '^\t([a-z_]+) [a-z]', 'gni') m
			WHERE p.pronamespace IN ('twtasks'::regnamespace, 'twtasks_internal'::regnamespace)
			  AND p.prosrc ~ '(twtasks|twtasks_internal)\.(outcome|attempt|anomaly|reaction|kind|item_role|kind_rule)\M') n(name)
		WHERE n.name <> '' AND NOT EXISTS (
			SELECT FROM pg_attribute a WHERE a.attrelid = t.name AND a.attname = n.name)
	LOOP
		EXECUTE format('ALTER TABLE %s ADD %I text', wanted.target, wanted.name);
	END LOOP;
END $$;
ALTER TABLE twtasks.task ADD reason text;
SELECT is((SELECT count(*) FROM pg_attribute WHERE attrelid = 'twtasks.outcome'::regclass AND attname IN ('wanted', 'error', 'told', 'known', 'chain', 'moment')),
	6::bigint, 'there are columns with names of variables');

CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM twtasks.set_outcome(task.data->'event'->(task.data->>'step'));
	RETURN ROW(CASE WHEN task.data->'event' ? (task.data->>'step') THEN 'done' ELSE 'error' END, NULL, NULL)::twtasks.task_result;
END $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "failed"}'::jsonb $$;
CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "unsure"}'::jsonb $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data $$;
CREATE FUNCTION public.regress_refuse(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE ROLE regress_clerk;
GRANT USAGE ON SCHEMA twtasks TO regress_clerk;
SELECT lives_ok($$
	SELECT twtasks.configure_kind('act', 'idempotent', 'ACT', '{/n}', on_fault => 'public.regress_fault', attempts => 1),
		twtasks.configure_kind('pay', 'pessimistic', 'PAY', '{/n}', delay => '0'),
		twtasks.configure_kind('book', 'optimistic', 'BOOK', '{/n}', delay => '0'),
		twtasks.configure_kind('box', 'black_boxed', 'BOX', '{/n}', on_uncertain => 'public.regress_unsure'),
		twtasks.configure_kind('item', 'to_do', 'ITEM', '{/n}', decide => 'public.regress_decide', readers => '{regress_clerk}', answerers => '{regress_clerk}'),
		twtasks.configure_kind('next', 'idempotent', 'NEXT', '{/identifier}'),
		twtasks.on_outcome('act', 'failed', 'next'),
		twtasks.on_outcome('act', '*', 'item', 'public.regress_refuse')$$, 'kinds are configured');

-- The decision and the steps of an identifier.
CREATE FUNCTION pg_temp.becomes(name text, event jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.start(name, event);
	FOR i IN 1 .. 5 LOOP
		UPDATE twtasks.task t SET next_event_time = twtasks.clock() - interval '1 s' WHERE t.status = 'WAITING';
		PERFORM twtasks.run_inline('public.regress_say', upper(name), 1);
	END LOOP;
	RETURN (SELECT concat_ws(', ', o.decision, o.problem,
				(SELECT string_agg(a.step || ' ' || a.answer, ', ' ORDER BY a.number, a.task) FROM twtasks.attempts a WHERE a.kind = o.kind AND a.identifier = o.identifier))
			FROM twtasks.outcomes o WHERE o.kind = name AND o.identifier = event->>'n');
END $$;
SELECT is(pg_temp.becomes('pay', '{"n": 1, "find": {"found": false}, "attempt": {"decision": "paid"}}'), 'paid, find not_found, attempt decided', 'an action after its search');
SELECT is(pg_temp.becomes('pay', '{"n": 2, "find": {"decision": "paid"}}'), 'paid, find decided', 'an action that is found');
SELECT is(pg_temp.becomes('book', '{"n": 1, "first": {"id": 1}, "look": {"look": "own"}, "second": {"decision": "booked"}}'), 'booked, first done, look own, second decided', 'two steps');
SELECT is(pg_temp.becomes('box', '{"n": 1}'), 'unsure, attempt unknown', 'a black box');
SELECT is(pg_temp.becomes('act', '{"n": 1, "attempt": {"fault": "no"}}'), 'failed, refused, attempt fault', 'a fault, and a reaction that fails');
SELECT is((SELECT count(*) FROM twtasks.outcomes WHERE kind = 'next'), 1::bigint, '... and one that succeeds');
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT problem FROM twtasks.outcomes WHERE kind = 'act'), 'refused', '... also when it is done again');

SELECT twtasks.start('item', jsonb_build_object('n', n)) FROM generate_series(1, 2) n \g /dev/null
SET ROLE regress_clerk;
SELECT is((SELECT count(*) FROM twtasks.read_to_do('item')), 2::bigint, 'items are read');
SELECT is((twtasks.answer_to_do('item', '1', '{"decision": "yes"}')).result, 'decided', 'one is answered');
RESET ROLE;
SELECT is(twtasks.decide_by_hand('item', '2', '{"decision": "no"}', 'x'), true, 'one is decided by hand');
SELECT lives_ok($$
	SELECT twtasks_internal.note_anomaly(a.task, 'x', 'done', 'x', '{}') FROM twtasks.attempt a WHERE a.kind = 'pay';
	SELECT twtasks.close_anomalies('pay', '1', 'x'), twtasks.configure_kind('item', readers => '{}'), twtasks.unset_kind_options('item', 'answerers'),
		twtasks.on_outcome('act', '*', 'item', 'none'), twtasks.forget_outcomes('box', '0')$$, 'what people do');
SELECT is((SELECT array_agg(outcome::text ORDER BY identifier) FROM twtasks.anomaly), '{"{}","{}","{}"}', 'an anomaly has its own outcome');
SELECT * FROM finish();
ROLLBACK;
