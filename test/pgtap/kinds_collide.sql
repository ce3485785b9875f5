--
-- Identifier templates of several values: two events that get the same identifier
-- are told apart.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(17);

CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', 'yes') $$;
CREATE FUNCTION public.regress_event(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"a": "x", "b": "y-z"}'::jsonb $$;
CREATE FUNCTION public.regress_of(event jsonb) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT 'one' $$;

SELECT twtasks.configure_kind('pay', 'idempotent', 'PAY', 'pay-{/a}-{/b}') \g /dev/null
SELECT twtasks.configure_kind('mail', 'idempotent', 'MAIL', 'mail-{/identifier}'), twtasks.configure_kind('of', 'idempotent', 'OF', 'public.regress_of'),
	twtasks.configure_kind('item', 'to_do', 'ITEM', '{/a}{/b}', decide => 'public.regress_decide') \g /dev/null

-- ---- start() ----
SELECT is(twtasks.start('pay', '{"a": "x-y", "b": "z"}'), 'started', 'an event starts');
SELECT throws_ok($$SELECT twtasks.start('pay', '{"a": "x", "b": "y-z"}')$$, '23505', 'identifier "pay-x-y-z" of kind "pay" stands for another event',
	'another event with the same identifier is not lost silently');
SELECT is(twtasks.start('pay', '{"a": "x-y", "b": "z", "c": 1}'), 'already_started', 'the same values are the same action');
SELECT is(twtasks.start('pay', '{"a": 1, "b": true}'), 'started', 'numbers and booleans are values, too');
SELECT is(twtasks.start('pay', '{"a": "1", "b": "true"}'), 'already_started', '... and the same as their texts');
SELECT twtasks.decide_by_hand('pay', 'pay-x-y-z', '{"decision": "paid"}', 'x') \g /dev/null
SELECT throws_ok($$SELECT twtasks.start('pay', '{"a": "x", "b": "y-z"}')$$, '23505', NULL, 'nor after the first one is decided');
SELECT is(twtasks.start('pay', '{"a": "x-y", "b": "z"}'), 'already_decided', '... which stays decided');
SELECT is(twtasks.start('of', '{"a": 1}') || ', ' || twtasks.start('of', '{"a": 2}'), 'started, already_started', 'a function may give many events one identifier');

-- ---- a reaction ----
SELECT twtasks.on_outcome('of', '*', 'pay', 'public.regress_event'), twtasks.decide_by_hand('of', 'one', '{"decision": "yes"}', 'x') \g /dev/null
SELECT is((SELECT problem FROM twtasks.outcomes WHERE kind = 'of'), 'identifier "pay-x-y-z" of kind "pay" stands for another event', 'a reaction that collides is a problem');
SELECT is((SELECT count(*) FROM twtasks.broken_outcomes WHERE kind = 'of'), 1::bigint, '... which is shown');

-- ---- answers by their data ----
SELECT is(twtasks.start('item', '{"a": "1", "b": "23"}'), 'started', 'an item');
SELECT throws_ok($$SELECT twtasks.answer_to_do('item', NULL, '{"a": "12", "b": "3"}')$$, '42704', NULL, 'data of another item does not answer it');
SELECT is((SELECT count(*) FROM twtasks.read_to_do('item')), 1::bigint, 'it stays open');
SELECT is((SELECT result FROM twtasks.answer_to_do('item', NULL, '{"a": 1, "b": 23, "yes": true}')), 'decided', 'its own data do');
SELECT is((SELECT result FROM twtasks.answer_to_do('item', '123', '{"a": "12", "b": "3"}')), 'already_decided', 'an answer by the identifier may have any data');

-- ---- templates ----
SELECT is(twtasks_internal.fill_template('{/a~1b}-{/c/1}{/d~0e}!', '{"a/b": 1, "c": [2, true], "d~e": "x"}'), '1-truex!', 'JSON pointers make an identifier');
SELECT throws_ok($$SELECT twtasks_internal.fill_template('{/a}-{/b}', '{"a": 1}')$$, '22023', 'path "/b" names no value', 'each must name a value');
SELECT * FROM finish();
ROLLBACK;
