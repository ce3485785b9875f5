--
-- Kinds that start each other in a circle end with a problem: in one transaction, if
-- each decides at once, and over many.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.function_timeout = '60 s';
SELECT plan(12);

CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT event->'wait' IS NOT NULL $$;
CREATE FUNCTION public.regress_next(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT event || jsonb_build_object('n', (event->>'n')::integer + 1) $$;
SELECT twtasks.configure_kind('a', 'idempotent', 'A', 'a-{/n}', still_needed => 'public.regress_needed'),
	twtasks.configure_kind('b', 'idempotent', 'B', 'b-{/n}', still_needed => 'public.regress_needed'),
	twtasks.on_outcome('a', '*', 'b', 'public.regress_next'), twtasks.on_outcome('b', '*', 'a', 'public.regress_next') \g /dev/null
CREATE FUNCTION pg_temp.later() RETURNS void LANGUAGE sql AS $$
	UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
	SELECT twtasks_internal.run_duties() $$;

-- ---- each decides at once ----
SELECT is(twtasks.start('a', '{"n": 1}'), 'started', 'start() succeeds');
SELECT pg_temp.later() FROM generate_series(1, 20) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.outcomes), 101::bigint, 'a circle ends after 100 reactions');
SELECT is((SELECT array_agg(kind || ': ' || problem) FROM twtasks.outcomes WHERE problem IS NOT NULL), '{"a: outcomes have started each other 100 times in a row"}', '... with a problem');
SELECT is((SELECT array_agg(identifier) FROM twtasks.broken_outcomes), '{a-101}', '... which is shown');
SELECT matches((SELECT detail FROM twtasks.warnings WHERE warning = 'outcomes stand still'), '100 times in a row', '... and warned of');
SELECT pg_temp.later() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.outcomes), 101::bigint, 'nothing more starts');

-- ---- over many transactions, here decided by hand ----
SELECT twtasks.start('a', '{"n": 1001, "wait": true}') \g /dev/null
SELECT twtasks.decide_by_hand(CASE n % 2 WHEN 1 THEN 'a' ELSE 'b' END, concat(CASE n % 2 WHEN 1 THEN 'a' ELSE 'b' END, '-', n), '{"decision": "yes"}', 'x') FROM generate_series(1001, 1101) n \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.outcomes WHERE started IS NOT NULL AND identifier ~ '-1[01]..$'), 101::bigint, 'a slow circle ends, too');
SELECT is((SELECT problem FROM twtasks.outcomes WHERE identifier = 'a-1101'), 'outcomes have started each other 100 times in a row', '... with a problem');

-- ---- what people do ----
SELECT is(twtasks.start('b', '{"n": 1102, "wait": true}'), 'started', 'start() begins a new row');
SELECT pg_temp.later() \g /dev/null
SELECT is((SELECT problem FROM twtasks.outcomes WHERE identifier = 'a-1101'), NULL, '... and a reaction to what is started succeeds');
SELECT twtasks.on_outcome('a', '*', 'b', 'none'), pg_temp.later() \g /dev/null
SELECT is_empty('SELECT * FROM twtasks.broken_outcomes', 'the problem ends with the reaction');
SELECT is((SELECT count(*) FROM twtasks.outcomes), 203::bigint, 'nothing else was started');
SELECT * FROM finish();
ROLLBACK;
