--
-- twtasks.warnings names each role that does not exist any more, for what it was
-- named, and what to do.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.allowed_type, twtasks.schedule, twtasks.message_offset;
SELECT plan(8);

CREATE ROLE regress_gone IN ROLE twtasks_producer, twtasks_operator;
CREATE ROLE regress_stays IN ROLE twtasks_producer, twtasks_operator;
GRANT regress_gone, regress_stays TO CURRENT_USER;
CREATE FUNCTION pg_temp.gone(part text) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(w.detail || '; ' || w.hint, '|') FROM twtasks.warnings w WHERE w.warning = 'role is gone' AND w.detail LIKE '%' || part || '%' $$;

SELECT twtasks.allow_type('REGRESS_PAY|*', r) FROM unnest('{regress_gone,regress_stays}'::name[]) r \g /dev/null
SELECT twtasks.reset_listener('regress_l', 'topic', 3, 17, 'regress_gone'), twtasks.reset_listener('regress_l', 'topic', 4, 17, 'regress_gone'), twtasks.reset_listener('regress_l', 'topic', 5, 17, 'regress_stays') \g /dev/null
SET LOCAL ROLE regress_gone;
SELECT twtasks.schedule('regress_s', '0 3 * * *', 'REGRESS_PAY|1') \g /dev/null
RESET ROLE;
SELECT is(pg_temp.gone(''), NULL, 'no warning is shown while the roles exist');

ALTER ROLE regress_gone RENAME TO regress_renamed;
SELECT is(pg_temp.gone('allowed'),
	'role "regress_gone" does not exist: types "REGRESS_PAY|*" are allowed to it; create the role, or allow another one by twtasks.allow_type(), then SELECT twtasks.disallow_type(''REGRESS_PAY|*'', ''regress_gone'')',
	'a right to add tasks');
SELECT is(pg_temp.gone('schedule'),
	'role "regress_gone" does not exist: schedule "regress_s" adds its tasks as this role; create the role, or call twtasks.schedule() for the schedule as another one',
	'a schedule');
SELECT is(pg_temp.gone('listener'),
	'role "regress_gone" does not exist: listener "regress_l" belongs to it, say in partition 3 of topic "topic"; create the role; or stop the listener, and give it to another one by twtasks.reset_listener(''regress_l'', ''topic'', 3, 17, ROLE)',
	'a listener');
SELECT is((SELECT count(*) FROM twtasks.warnings WHERE warning = 'role is gone'), 3::bigint, 'each has one row, and roles that stay have none');

SELECT ok(twtasks.disallow_type('REGRESS_PAY|*', 'regress_gone'), 'the right is taken back');
SET LOCAL ROLE regress_stays;
SELECT is((SELECT result FROM twtasks.schedule('regress_s', '0 3 * * *', 'REGRESS_PAY|1')), 'changed', 'another role calls schedule()');
RESET ROLE;
SELECT twtasks.reset_listener('regress_l', 'topic', p, 17, 'regress_stays') FROM generate_series(3, 4) p \g /dev/null
SELECT is(pg_temp.gone(''), NULL, 'what the hints say ends the warnings');

SELECT * FROM finish();
ROLLBACK;
