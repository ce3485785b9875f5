--
-- configure_kind() leaves options unchanged that it is not given, as
-- configure_type() does, and unset_kind_options() removes them.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(34);

CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "failed"}'::jsonb $$;
CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "unsure"}'::jsonb $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data $$;
CREATE ROLE regress_clerk;
-- All that is set for a kind.
CREATE FUNCTION pg_temp.options(wanted text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_strip_nulls(to_jsonb(k)) - '{name,kind,type,identifier,changed_at,changed_by}'::text[] FROM twtasks.kinds k WHERE k.name = wanted $$;

-- ---- a new kind ----
SELECT throws_ok($$SELECT twtasks.configure_kind('k')$$, '22004', NULL, 'a new kind needs a kind');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'idempotent')$$, '22004', NULL, '... and a type');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'idempotent', 'K')$$, '22004', NULL, '... and identifiers');
SELECT lives_ok($$SELECT twtasks.configure_kind('k', 'idempotent', 'K', 'k-{/n}')$$, '... and nothing else');
SELECT is(pg_temp.options('k'), '{"delay": "00:00:05"}', 'the delay has a value');

-- ---- what is not given stays ----
SELECT lives_ok($$SELECT twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', expires => '2 days 03:00', attempts => 3, delay => '1 min',
	on_fault => 'public.regress_fault', on_uncertain => 'public.regress_unsure')$$, 'a kind with options');
CREATE TEMPORARY TABLE whole AS SELECT pg_temp.options('box') AS options;
SELECT is(options->>'attempts', '3', 'the options are set') FROM whole;
SELECT lives_ok($$SELECT twtasks.configure_kind('box', attempts => 4)$$, 'one option is given');
SELECT is(pg_temp.options('box'), options || '{"attempts": 4}', 'the others stay') FROM whole;
SELECT lives_ok($$SELECT twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}')$$, 'no option is given');
SELECT is(pg_temp.options('box'), options || '{"attempts": 4}', 'all stay') FROM whole;
SELECT twtasks.configure_kind('box', attempts => 3) \g /dev/null
SELECT throws_ok($$SELECT twtasks.configure_kind('box', attempts => 0)$$, '22023', NULL, 'a wrong value is refused');
SELECT throws_ok($$SELECT twtasks.configure_kind('box', decide => 'public.regress_decide')$$, '22023', NULL, 'an option of another kind is refused');
SELECT throws_ok($$SELECT twtasks.configure_kind('box', readers => '{regress_clerk}')$$, '22023', 'kind black_boxed has no option readers', 'so are roles');

-- An operator need not be allowed to name the functions that stay.
CREATE ROLE regress_operator;
GRANT twtasks_operator TO regress_operator;
SET ROLE regress_operator;
SELECT lives_ok($$SELECT twtasks.configure_kind('box', expires => '1 day')$$, 'an operator changes a figure');
SELECT throws_ok($$SELECT twtasks.configure_kind('box', on_fault => 'public.regress_fault')$$, '42501', NULL, '... and names no function');
RESET ROLE;
SELECT is(pg_temp.options('box'), options || '{"expires": "1 day"}', 'the functions stay') FROM whole;
SELECT is((SELECT changed_by FROM twtasks.kinds WHERE name = 'box'), session_user::text, 'the kind says who has changed it');
SET LOCAL twtasks.on_behalf_of = 'anne';
SELECT twtasks.configure_kind('box', expires => '2 days') \g /dev/null
SET LOCAL twtasks.on_behalf_of = '';
SELECT is((SELECT changed_by FROM twtasks.kinds WHERE name = 'box'), 'anne', '... also the person for whom a program did');

-- ---- removal ----
SELECT ok(twtasks.unset_kind_options('box', 'on_fault', 'expires', 'delay', 'attempts'), 'options are removed');
SELECT is(pg_temp.options('box'), '{"delay": "00:00:05", "on_uncertain": "public.regress_unsure"}', 'the others stay, and the delay is as at first');
SELECT throws_ok($$SELECT twtasks.unset_kind_options('box', 'on_uncertain')$$, '22023', 'kind black_boxed needs a function for on_uncertain', 'an option that is needed stays');
SELECT throws_ok($$SELECT twtasks.unset_kind_options('box', 'identifier')$$, '22023', NULL, 'identifiers stay');
SELECT throws_ok($$SELECT twtasks.unset_kind_options('box', 'readers')$$, '22023', NULL, 'an option of another kind has no value');
SELECT throws_ok($$SELECT twtasks.unset_kind_options('box', NULL)$$, '22023', NULL, 'an option has a name');
SELECT throws_ok($$SELECT twtasks.unset_kind_options(NULL, 'delay')$$, '22004', NULL, 'a kind has a name');
SELECT ok(NOT twtasks.unset_kind_options('none', 'delay'), 'a kind that is not configured has no options');
SELECT is(pg_temp.options('box'), '{"delay": "00:00:05", "on_uncertain": "public.regress_unsure"}', 'nothing else is removed');

-- ---- another kind ----
SELECT lives_ok($$SELECT twtasks.configure_kind('box', 'idempotent', attempts => 2)$$, 'a kind becomes another');
SELECT is(pg_temp.options('box'), '{"delay": "00:00:05", "attempts": 2}', '... and loses the options that it does not have');
SELECT lives_ok($$SELECT twtasks.configure_kind('box', 'to_do', decide => 'public.regress_decide', readers => '{regress_clerk}')$$, 'and another');
SELECT is(pg_temp.options('box'), '{"delay": "00:00:05", "decide": "public.regress_decide", "readers": ["regress_clerk"]}', '... which keeps none of them');
SELECT lives_ok($$SELECT twtasks.configure_kind('box', 'idempotent')$$, 'and the one before');
SELECT is(pg_temp.options('box'), '{"delay": "00:00:05"}', '... whose items nobody may read');
SELECT * FROM finish();
ROLLBACK;
