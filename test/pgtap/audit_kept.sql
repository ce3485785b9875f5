--
-- The audits do not grow for ever: entries older than twtasks.keep_audit go, a batch
-- at a time.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(6);

INSERT INTO twtasks.audit (at, action, task_id, from_version, to_version, from_status, to_status)
SELECT now() - CASE WHEN n <= 6000 THEN interval '401 days' ELSE interval '399 days' END, 'hold', pg_temp.id(n), 0, 1, 'WAITING', 'HELD' FROM generate_series(1, 6010) n;
INSERT INTO twtasks.policy_audit (at, actor, kind, name) SELECT now() - n * interval '300 days', 'anne', 'limit', 'audited' FROM unnest('{2,1}'::integer[]) n;
INSERT INTO twtasks.schedule_audit (at, actor, action, name) SELECT now() - n * interval '300 days', 'anne', 'pause', 'audited' FROM unnest('{2,1}'::integer[]) n;
INSERT INTO twtasks.payload_read (at, role, task_id, reason, was_denied) SELECT now() - n * interval '300 days', 'anne', pg_temp.id(n), 'a test', false FROM unnest('{2,1}'::integer[]) n;
CREATE OR REPLACE FUNCTION twtasks_internal.keep_finished() RETURNS interval LANGUAGE sql STABLE AS $$ SELECT interval '500 days' $$;
SELECT is(twtasks_internal.clean_audit(), false, 'an entry is kept as long as its task may be');
CREATE OR REPLACE FUNCTION twtasks_internal.keep_finished() RETURNS interval LANGUAGE sql STABLE AS $$ SELECT interval '30 days' $$;
SELECT is(twtasks_internal.clean_tasks(), 'audit', 'cleaning deletes a batch of the audit');
SELECT is((SELECT count(*) FROM twtasks.audit), 1010::bigint, 'the oldest entries go first');
SELECT is(twtasks_internal.clean_tasks(), NULL, 'the next call deletes the rest');
SELECT is((SELECT count(*) FROM twtasks.audit), 10::bigint, 'younger entries are kept');
SELECT is((SELECT count(*) FROM twtasks.policy_audit WHERE name = 'audited') + (SELECT count(*) FROM twtasks.schedule_audit WHERE name = 'audited')
	+ (SELECT count(*) FROM twtasks.payload_read WHERE reason = 'a test'), 3::bigint, 'the other audits are cleaned too');

SELECT * FROM finish();
ROLLBACK;
