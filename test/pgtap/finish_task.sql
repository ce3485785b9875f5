--
-- finish_task(): one task, by whoever was handed it on, and clear answers to
-- who comes too late.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(32);

-- A task that its handler has accepted.
CREATE FUNCTION pg_temp.accepted(n integer, rule twtasks.stuck_rule DEFAULT 'error') RETURNS uuid
LANGUAGE sql
AS $$
	SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n), rule);
	SELECT pg_temp.finish(pg_temp.id(n), 'accepted', message => 'an accepted task belongs to no node');
	SELECT pg_temp.id(n)
$$;
CREATE FUNCTION pg_temp.said(n integer, v bigint DEFAULT 1, result text DEFAULT 'done', message text DEFAULT NULL, delay interval DEFAULT NULL) RETURNS text
LANGUAGE sql
AS $$ SELECT concat_ws(' ', f.result, f.version, f.status) FROM twtasks.finish_task(pg_temp.id(n), v, result, message, delay) f $$;
SELECT pg_temp.accepted(n) FROM generate_series(1, 10) n \g /dev/null

-- Each result.
SELECT is(pg_temp.said(1, message => 'well'), 'changed 2 DONE', 'finish_task() finishes an accepted task as done');
SELECT is((SELECT jsonb_build_array(message, incarnation, token) FROM twtasks.finished_task WHERE id = pg_temp.id(1)), '["well", null, null]'::jsonb, 'a finished task keeps the message, and names no node');
SELECT is(pg_temp.said(2, result => 'delete') || ' ' || pg_temp.state(pg_temp.id(2)), 'changed 2 DONE none', 'delete leaves no trace');
SELECT is(pg_temp.said(3, result => 'retry', delay => '90 s'), 'changed 2 WAITING', 'retry lets the task wait');
SELECT is((SELECT jsonb_build_array(tries, extract(epoch FROM next_event_time - state_time)) FROM twtasks.task WHERE id = pg_temp.id(3)), '[1, 90]'::jsonb, 'retry waits for the delay, and counts the try');
SELECT is(pg_temp.said(4, result => 'repeat', delay => '1 ms'), 'changed 2 WAITING', 'repeat lets the task wait');
SELECT is((SELECT jsonb_build_array(tries, extract(epoch FROM next_event_time - state_time)) FROM twtasks.task WHERE id = pg_temp.id(4)), '[0, 0.001]'::jsonb, 'repeat counts the tries from 0');
SELECT is(pg_temp.said(5, result => 'error', message => 'no'), 'changed 2 ERROR', 'error sends the task to ERROR');
SELECT is((SELECT error FROM twtasks.error_tasks WHERE id = pg_temp.id(5)), 'no', 'error keeps the reason');
SELECT is(pg_temp.said(6, result => 'retry'), 'changed 2 WAITING', 'a retry may have no delay');
SELECT is((SELECT next_event_time - state_time FROM twtasks.task WHERE id = pg_temp.id(6)), interval '0', 'a retry without a delay is due at once');
SELECT is(pg_temp.said(7, result => 'retry', delay => '10000 years'), 'changed 2 WAITING', 'a retry may have an enormous delay');
SELECT cmp_ok((SELECT extract(year FROM next_event_time) FROM twtasks.task WHERE id = pg_temp.id(7)), '<', extract(year FROM clock_timestamp()) + 102, 'an enormous delay is cut');

SELECT twtasks.configure_type(t.type, retry => '"none"') FROM twtasks.task t WHERE t.id = pg_temp.id(9) \g /dev/null
SELECT is(pg_temp.said(9, result => 'retry'), 'changed 2 ERROR', 'where the policy allows no retry, a retry is an error');
SELECT is(pg_temp.said(10, result => 'repeat'), 'changed 2 ERROR', '... and so is a repeat');
SELECT twtasks.drop_type_policy(t.type) FROM twtasks.task t WHERE t.id = pg_temp.id(9) \g /dev/null

-- Too late, twice, never.
SELECT is(pg_temp.said(1), 'wrong_version 2 DONE', 'a task cannot be finished twice');
SELECT is(pg_temp.said(1, 2), 'wrong_status 2 DONE', 'a finished task cannot be finished by its last version');
SELECT is(pg_temp.said(8, 0), 'wrong_version 1 PROCESSING', 'an older version is refused');
SELECT is(pg_temp.said(8, 2), 'wrong_version 1 PROCESSING', 'a future version is refused');
SELECT is(pg_temp.said(8), 'changed 2 DONE', 'refused calls change nothing');
SELECT is(pg_temp.said(99), 'not_found', 'a task that does not exist is not found');
SELECT is(pg_temp.said(5, 2), 'wrong_status 2 ERROR', 'a task in ERROR cannot be finished');
SELECT pg_temp.accepted(10 + n::integer, r) FROM unnest('{error,retry,fail,ignore}'::twtasks.stuck_rule[]) WITH ORDINALITY x(r, n) \g /dev/null
UPDATE twtasks.task SET next_event_time = created, deadline = created WHERE id BETWEEN pg_temp.id(11) AND pg_temp.id(14);
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(ARRAY(SELECT pg_temp.said(n) FROM generate_series(11, 14) n), '{wrong_version 2 ERROR,wrong_version 2 SUBMITTED,wrong_version 2 FAILED,changed 2 DONE}'::text[],
	'after its deadline the stuck rule has decided');
SELECT is(pg_temp.state(pg_temp.task_in('PROCESSING', pg_temp.id(20))) || ' ' || pg_temp.said(20), 'PROCESSING 1 changed 2 DONE', 'a task may be finished before its handler answers accepted');
SELECT is(pg_temp.finish(pg_temp.id(20), 'accepted', 1), NULL, 'the answer accepted then comes too late');

-- Bad input.
SELECT throws_ok($$SELECT twtasks.finish_task(NULL, 1)$$, '22004', 'id must not be null', 'a NULL id is an error');
SELECT throws_ok($$SELECT twtasks.finish_task(pg_temp.id(1), NULL)$$, '22004', 'version must not be null', 'a NULL version is an error');
SELECT throws_ok(format('SELECT twtasks.finish_task(pg_temp.id(1), 1, %L)', r), '22023', 'unrecognized result: ' || coalesce('"' || r || '"', 'NULL'), 'no result: ' || coalesce(r, 'NULL'))
FROM unnest('{accepted,release,NULL}'::text[]) r;
SELECT throws_ok($$SELECT twtasks.finish_task(pg_temp.id(1), 1, 'retry', NULL, '-1 s')$$, '22023', 'delay must not be negative', 'a negative delay is refused');

-- It is for those who may finish, and nobody else.
SET LOCAL ROLE twtasks_operator;
SELECT throws_ok('SELECT twtasks.finish_task(gen_random_uuid(), 1)', '42501', NULL, 'an operator may not call finish_task()');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
