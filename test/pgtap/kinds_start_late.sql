--
-- start() decides as expired what has expired before its first step: here the function
-- that makes the identifier takes an hour.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(4);
CREATE FUNCTION public.regress_slow(event jsonb) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN PERFORM twtasks.advance_clock('1 h'); RETURN event->>'n'; END $$;
SELECT twtasks.configure_kind('act', 'idempotent', 'ACT', 'public.regress_slow', expires => '30 min'),
	twtasks.configure_kind('box', 'idempotent', 'BOX', 'public.regress_slow', expires => '2 h') \g /dev/null
SELECT is(twtasks.start('act', '{"n": 1}'), 'started', 'an action is started that expires meanwhile');
SELECT is((SELECT concat_ws(' ', o.decision, o.step) FROM twtasks.outcomes o WHERE o.kind = 'act'), 'expired start', '... and its outcome says so at once');
SELECT is_empty($$SELECT FROM twtasks.attempts a WHERE a.kind = 'act'$$, '... without a step');
SELECT twtasks.start('box', '{"n": 1}') \g /dev/null
SELECT is((SELECT a.step FROM twtasks.attempts a WHERE a.kind = 'box'), 'attempt', 'one that has not expired has its step');
SELECT * FROM finish();
ROLLBACK;
