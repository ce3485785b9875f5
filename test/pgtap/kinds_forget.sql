--
-- forget_outcomes() keeps what is not over: an outcome whose reaction has not
-- succeeded, and one with an open anomaly.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(6);

CREATE FUNCTION public.regress_broken(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
SELECT twtasks.configure_kind('pay', 'pessimistic', 'PAY', 'pay-{/n}'), twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/event/n}'),
	twtasks.on_outcome('pay', 'paid', 'mail', 'public.regress_broken') \g /dev/null
SELECT twtasks.start('pay', jsonb_build_object('n', n)) FROM generate_series(1, 3) n \g /dev/null
-- The handler of the second one reports after a person has decided.
CREATE TEMPORARY TABLE step AS SELECT task, pg_temp.grab(task) AS version FROM twtasks.outcomes WHERE identifier = 'pay-2';
SELECT twtasks.decide_by_hand('pay', 'pay-1', '{"decision": "paid"}', 'x'), twtasks.decide_by_hand('pay', 'pay-2', '{"decision": "lost"}', 'x'),
	twtasks.decide_by_hand('pay', 'pay-3', '{"decision": "lost"}', 'x') \g /dev/null
SELECT twtasks_internal.finish_tasks(ARRAY[task], ARRAY[version], '{done}', '{0}', '{late}', pg_temp.node(), pg_temp.token(), outcomes => '{"{\"decision\": \"paid\"}"}')
FROM step \g /dev/null
TRUNCATE twtasks.finished_task, twtasks.unique_key;

SELECT is((SELECT array_agg(identifier) FROM twtasks.anomalies WHERE closed IS NULL), '{pay-2}', 'an anomaly is open');
SELECT is((SELECT array_agg(identifier) FROM twtasks.outcomes WHERE problem IS NOT NULL), '{pay-1}', 'a reaction fails');
SELECT is(twtasks.forget_outcomes('pay', '-1 s'), 1::bigint, 'what is over is forgotten');
SELECT is((SELECT array_agg(identifier ORDER BY identifier) FROM twtasks.outcomes WHERE kind = 'pay'), '{pay-1,pay-2}',
	'an outcome whose reaction has not succeeded stays, and one with an open anomaly');
SELECT twtasks.on_outcome('pay', 'paid', 'mail'), twtasks.close_anomalies('pay', 'pay-2', 'x') \g /dev/null
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT ok(EXISTS (SELECT FROM twtasks.outcomes WHERE identifier = 'mail-1'), 'the reaction succeeds later');
SELECT is(twtasks.forget_outcomes('pay', '-1 s'), 2::bigint, 'both are forgotten after that');
SELECT * FROM finish();
ROLLBACK;
