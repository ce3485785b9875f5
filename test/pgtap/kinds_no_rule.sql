--
-- An answer for which a kind has no rule, which only a change of its rows by hand can
-- cause, stops its identifier with a reason that names kind, step and answer.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(3);
CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT ROW('done', NULL, NULL)::twtasks.task_result $$;
SELECT twtasks.configure_kind('act', 'idempotent', 'ACT', '{/n}') \g /dev/null
SELECT twtasks.start('act', '{"n": 1}') \g /dev/null
UPDATE twtasks.outcome SET step = 'undo';
SELECT twtasks.run_inline('public.regress_say', 'ACT', 1) \g /dev/null
SELECT is((SELECT problem FROM twtasks.outcomes), 'kind idempotent has no rule for answer "done" of step "undo"', 'the problem says what is missing');
SELECT is(twtasks.decide_by_hand('act', '1', '{"decision": "done"}', 'x'), true, 'a person decides');
SELECT is((SELECT concat_ws(' ', decision, problem) FROM twtasks.outcomes), 'done', '... and the problem is gone');
SELECT * FROM finish();
ROLLBACK;
