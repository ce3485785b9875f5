--
-- The library owns the parameters of twtasks: they have defaults, it checks their
-- values, and only some roles set them.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(4);

SELECT is(current_setting('twtasks.keep_audit')::interval, interval '400 days', 'entries of the audit are kept for 400 days');
SELECT throws_ok($$SET LOCAL twtasks.on_behalf_of = E'a\nb'$$, '22023', NULL, 'the name of a person has no control characters');
SET LOCAL ROLE twtasks_tester;
SELECT throws_ok('SET LOCAL twtasks.testing = on', '42501', NULL, 'an ordinary user cannot switch testing on');
SET LOCAL ROLE twtasks_producer;
SELECT throws_ok('SET LOCAL twtasks.refuse_unknown_types = off', '42501', NULL, 'a producer cannot switch the check of types off');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
