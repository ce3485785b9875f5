--
-- lock_setting() says whether a setting is as its caller saw it, and its reason
-- stands in the audit.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(17);
CREATE ROLE regress_operator IN ROLE twtasks_operator;
SET LOCAL ROLE regress_operator;

CREATE FUNCTION pg_temp.unchanged(kind text, name text, seen timestamptz, scope text DEFAULT NULL) RETURNS boolean
LANGUAGE sql AS $$ SELECT l.is_unchanged FROM twtasks.lock_setting(kind, name, seen, scope::twtasks.limit_scope, 'a test of ' || kind) l $$;
CREATE FUNCTION pg_temp.reason() RETURNS text
LANGUAGE sql AS $$ SELECT concat_ws(' ', a.kind, a.name, a.reason) FROM twtasks.policy_audit a ORDER BY a.id DESC LIMIT 1 $$;

SELECT is(pg_temp.unchanged(k, 'L', NULL, 'node'), true, k || ': none is as it was seen')
FROM unnest('{type,bucket,limit,schedule,paused type,paused bucket}'::text[]) k;

SELECT pg_temp.unchanged('limit', 'L', NULL, 'node'), twtasks.configure_limit('L', 1) \g /dev/null
SELECT is(pg_temp.reason(), 'limit L a test of limit', 'the audit has the reason');
SELECT is(pg_temp.unchanged('limit', 'L', NULL, 'node'), false, 'a limit that is new has changed');
SELECT is(pg_temp.unchanged('limit', 'L', (SELECT changed_at FROM twtasks.limits WHERE pattern = 'L'), 'node'), true, 'its time of change is its version');
SELECT is(pg_temp.unchanged('limit', 'L', NULL, 'cluster'), true, 'each scope has its own limit');

SELECT twtasks.configure_type('L', priority => 1), twtasks.configure_bucket('L', 'a test') \g /dev/null
SELECT is(array[pg_temp.unchanged('type', 'L', (SELECT changed_at FROM twtasks.type_policies WHERE pattern = 'L')),
	pg_temp.unchanged('bucket', 'L', (SELECT changed_at FROM twtasks.buckets WHERE name = 'L'))], '{t,t}', 'policies and buckets have such a version');

SELECT twtasks.pause_type('L', 'their reason') \g /dev/null
SELECT is(pg_temp.reason(), 'pause L their reason', 'the reason of a call stands before the setting''s');
SELECT is(array[pg_temp.unchanged('paused type', 'L', (SELECT since FROM twtasks.paused WHERE name = 'L')), pg_temp.unchanged('paused bucket', 'L', NULL)],
	'{t,t}', 'a pause of a type is no pause of a bucket');
SELECT pg_temp.unchanged('paused type', 'L', NULL), twtasks.resume_type('L') \g /dev/null
SELECT is(pg_temp.reason(), 'pause L a test of paused type', 'the end of a pause has its own reason');

RESET ROLE;
GRANT twtasks_producer TO regress_operator;
SET LOCAL ROLE regress_operator;
SELECT twtasks.schedule('L', '0 0 * * *', 'L') \g /dev/null
SELECT is(pg_temp.unchanged('schedule', 'L', (SELECT max(at) FROM twtasks.schedule_audit WHERE name = 'L')), true, 'a schedule''s last entry in the audit is its version');
SELECT throws_ok($$SELECT pg_temp.unchanged('node', 'L', NULL)$$, '22023', NULL, 'there are no other kinds');
SELECT throws_ok($$SELECT pg_temp.unchanged('limit', 'L', NULL)$$, '22023', NULL, 'a limit has a scope');
SELECT * FROM finish();
ROLLBACK;
