--
-- configure_kind() warns of templates that join values, once, and says which options
-- another kind loses.
--
BEGIN;
SET client_min_messages = warning;
CREATE EXTENSION twtasks_kinds;
RESET client_min_messages;
SELECT FROM twtasks.configure_kind('one', 'idempotent', 'KIND_ONE', 'one-{/a}');
SELECT FROM twtasks.configure_kind('same', 'idempotent', 'KIND_SAME', '{/a}-{/a}');
SELECT FROM twtasks.configure_kind('two', 'idempotent', 'KIND_TWO', 'two-{/a}-{/b}', attempts => 2);
-- The template stays, so nothing is said.
SELECT FROM twtasks.configure_kind('two', identifier => 'two-{/a}-{/b}', attempts => 3);
SELECT FROM twtasks.configure_kind('two', identifier => '{/a}{/b/c}');
CREATE FUNCTION decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT data $$;
SELECT FROM twtasks.configure_kind('two', 'to_do', decide => 'public.decide');
ROLLBACK;
