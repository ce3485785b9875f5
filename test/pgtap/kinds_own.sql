--
-- Functions of a kind that decide their own identifier: the first decision stays,
-- and no step follows it.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(20);

-- Decides by hand if the event names the function, and then says something else.
CREATE FUNCTION public.regress_by_hand(event jsonb, identifier text, function text) RETURNS boolean LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks.decide_by_hand(event->>'kind', identifier, '{"decision": "by hand"}', function) WHERE event->'by' ? function $$;
CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(event, identifier, 'needed'); SELECT event->'over' IS NULL $$;
CREATE FUNCTION public.regress_expiry(event jsonb, identifier text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(event, identifier, 'expiry'); SELECT '{"decision": "over"}'::jsonb $$;
CREATE FUNCTION public.regress_retry(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(event, identifier, 'retry'); SELECT CASE WHEN event->'last' IS NULL THEN interval '1 h' END $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(event, identifier, 'fault'); SELECT '{"decision": "failed"}'::jsonb $$;
CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(event, identifier, 'unsure'); SELECT '{"decision": "unsure"}'::jsonb $$;
CREATE FUNCTION public.regress_contract(data jsonb) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT public.regress_by_hand(data, data->>'identifier', 'contract'); SELECT true $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "answered"}'::jsonb $$;
CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM twtasks.set_outcome(task.data->'event'->'say');
	RETURN ROW(coalesce(task.data->'event'->>'result', 'done'), NULL, NULL)::twtasks.task_result;
END $$;
SELECT twtasks.configure_kind('act', 'idempotent', 'ACT', 'act-{/n}', still_needed => 'public.regress_needed', on_expiry => 'public.regress_expiry',
		retry_function => 'public.regress_retry', on_fault => 'public.regress_fault', attempts => 2),
	twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', on_uncertain => 'public.regress_unsure'),
	twtasks.configure_kind('item', 'to_do', 'ITEM', 'item-{/n}', contract => 'public.regress_contract', decide => 'public.regress_decide') \g /dev/null
-- Decides before the first step, or before the second one.
CREATE FUNCTION public.regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN
	PERFORM public.regress_by_hand(task.data->'event', task.data->>'identifier', concat('intercept ', task.data->>'attempt'));
	RETURN task;
END $$;
SELECT twtasks.configure_type('ACT', intercept => 'public.regress_intercept') \g /dev/null
-- The decision and the steps that live.
CREATE FUNCTION pg_temp.becomes(event jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name CONSTANT text := event->>'kind';
BEGIN
	PERFORM twtasks.start(name, event);
	PERFORM twtasks.run_inline('public.regress_say', upper(name), 1);
	RETURN (SELECT concat_ws(', ', o.decision, o.decided_by = session_user, o.problem,
							 (SELECT count(*) FROM twtasks.task t WHERE t.type = upper(name) AND t.data->>'identifier' = o.identifier))
			FROM twtasks.outcomes o WHERE o.kind = name AND o.identifier = concat(name, '-', event->>'n'));
END $$;
SELECT is(pg_temp.becomes(event), becomes, format('%s: %s', function, CASE WHEN event ? 'by' THEN 'by hand' ELSE 'as it says' END))
FROM (VALUES
	('still_needed',	'{"n": 1, "kind": "act", "by": ["needed"], "say": {}}'::jsonb,						'by hand, t, 0'),
	('on_expiry',		'{"n": 2, "kind": "act", "over": 1, "say": {}}',									'over, 0'),
	('on_expiry',		'{"n": 3, "kind": "act", "over": 1, "by": ["expiry"], "say": {}}',					'by hand, t, 0'),
	('retry_function',	'{"n": 4, "kind": "act", "say": {"fault": "no"}}',									'1'),
	('retry_function',	'{"n": 5, "kind": "act", "by": ["retry"], "say": {"fault": "no"}}',					'by hand, t, 0'),
	('on_fault',		'{"n": 6, "kind": "act", "last": 1, "say": {"fault": "no"}}',						'failed, 0'),
	('on_fault',		'{"n": 7, "kind": "act", "last": 1, "by": ["fault"], "say": {"fault": "no"}}',		'by hand, t, 0'),
	('on_fault of an error',	'{"n": 8, "kind": "act", "last": 1, "by": ["fault"], "say": {}, "result": "error"}',	'by hand, t, 0'),
	('intercept',		'{"n": 12, "kind": "act", "by": ["intercept 1"], "say": {}}',						'by hand, t, 0'),
	('intercept of a later step',	'{"n": 13, "kind": "act", "by": ["intercept 2"], "say": {"fault": "no"}}',	'by hand, t, 0'),
	('on_uncertain',	'{"n": 9, "kind": "box", "say": {}, "result": "error"}',							'unsure, 0'),
	('on_uncertain',	'{"n": 10, "kind": "box", "by": ["unsure"], "say": {}, "result": "error"}',			'by hand, t, 0')) e(function, event, becomes);

SELECT twtasks.start('item', jsonb_build_object('n', n)) FROM generate_series(1, 2) n \g /dev/null
SELECT is((twtasks.answer_to_do('item', 'item-1', '{}'))::text, '(decided,"{""decision"": ""answered""}")', 'an answer decides');
SELECT is((twtasks.answer_to_do('item', 'item-2', '{"kind": "item", "identifier": "item-2", "by": ["contract"]}'))::text,
	'(already_decided,"{""decision"": ""by hand""}")', 'but not after the contract has, and says so');

-- A function that lets its own step run again makes no second one.
CREATE OR REPLACE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT twtasks.resume_task(o.task, NULL, 'x') FROM twtasks.outcomes o WHERE o.identifier = regress_fault.identifier; SELECT '{"decision": "failed"}'::jsonb $$;
SELECT is(pg_temp.becomes('{"n": 11, "kind": "act", "last": 1, "say": {}, "result": "error"}'), '1', 'a step that on_fault resumes lives alone');
SELECT is((SELECT count(*) FROM twtasks.attempts WHERE identifier = 'act-11'), 1::bigint, '... and is the same attempt');
SELECT is((SELECT string_agg(DISTINCT f.status || ' ' || f.error, ', ') FROM twtasks.finished_task f WHERE f.data->>'identifier' IN ('act-12', 'act-13') AND f.status <> 'DONE'),
	'CANCELLED its identifier was decided while the step was added', 'a step that is not wanted any more says why');
SELECT results_eq($$SELECT f.status::text, (SELECT count(*) FROM twtasks.attempts a WHERE a.identifier = 'act-1') FROM twtasks.finished_task f WHERE f.data->>'identifier' = 'act-1'$$,
	$$VALUES ('CANCELLED', 0::bigint)$$, 'still_needed that decides when its identifier starts leaves no attempt, and a step that never ran');
SELECT is_empty('SELECT * FROM twtasks.broken_outcomes', 'no invariant is broken');
SELECT is_empty($$SELECT * FROM twtasks.outcomes o WHERE o.decision = 'by hand' AND o.decided_by IS NULL$$, 'each decision by hand has its person');
SELECT * FROM finish();
ROLLBACK;
