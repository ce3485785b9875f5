--
-- The library owns the parameters of twtasks: they have defaults, it checks their
-- values, and only some roles set them.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(10);

SELECT is(current_setting('twtasks.keep_audit')::interval, interval '400 days', 'entries of the audit are kept for 400 days');
SELECT throws_ok($$SET LOCAL twtasks.on_behalf_of = E'a\nb'$$, '22023', NULL, 'the name of a person has no control characters');
SET LOCAL ROLE twtasks_tester;
SELECT throws_ok('SET LOCAL twtasks.testing = on', '42501', NULL, 'an ordinary user cannot switch testing on');
SET LOCAL ROLE twtasks_producer;
SELECT throws_ok('SET LOCAL twtasks.refuse_unknown_types = off', '42501', NULL, 'a producer cannot switch the check of types off');
RESET ROLE;

SET ROLE twtasks_viewer;
SELECT throws_ok($$SET twtasks.max_payload = 1024$$, '42501', NULL, 'no viewer changes a setting of ours');
SELECT throws_ok($$SET twtasks.enabled = off$$, '55P02', NULL, 'nobody changes the setting of the server for a session');
RESET ROLE;
SELECT throws_ok($$SET twtasks.context = 'r1'$$, '22023', 'invalid value for parameter "twtasks.context": "r1"', 'the setting must be an object, not a text');
SELECT throws_ok($$SET twtasks.context = '[1]'$$, '22023', NULL, 'the setting must not be an array');
SELECT throws_ok($$SET twtasks.context = '{"a": }'$$, '22023', NULL, 'the setting must be valid JSON');
SELECT throws_ok($$SET twtasks.context = '{} {}'$$, '22023', NULL, 'the setting must be one object');

SELECT * FROM finish();
ROLLBACK;
