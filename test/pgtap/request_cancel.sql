--
-- request_cancel(): a task that nobody runs is cancelled at once, one that
-- runs is marked, and ends as cancelled unless it is done first.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.cancel_request;
SELECT plan(68);

CREATE FUNCTION pg_temp.ask(n integer, v bigint DEFAULT NULL, reason text DEFAULT 'wrong') RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', r.result, r.version, r.status)
	FROM twtasks.request_cancel(pg_temp.id(n), coalesce(v, pg_temp.version_of(pg_temp.id(n)), 0), reason) r
$$;
CREATE FUNCTION pg_temp.audited(n integer) RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', action, from_status, from_version, to_status, to_version, reason), ', ' ORDER BY id)
	FROM twtasks.audit WHERE task_id = pg_temp.id(n) AND actor = session_user
$$;
CREATE FUNCTION pg_temp.taken(node bigint DEFAULT pg_temp.node()) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(concat_ws(' ', right(id::text, 2), version, is_ours, why), ', ' ORDER BY id) FROM twtasks_internal.take_cancels(node) $$;

-- Not started, or over.
SELECT pg_temp.task_in(s, pg_temp.id(n::integer))
FROM unnest('{WAITING,SUBMITTED,HELD,ERROR,DONE,FAILED,CANCELLED}'::twtasks.task_status[]) WITH ORDINALITY x(s, n) \g /dev/null
SELECT is(ARRAY(SELECT pg_temp.ask(n) FROM generate_series(1, 3) n), '{changed 1 CANCELLED,changed 1 CANCELLED,changed 2 CANCELLED}'::text[], 'a task that has not started is cancelled at once');
SELECT is(pg_temp.audited(1), 'cancel WAITING 0 CANCELLED 1 wrong', 'the task is cancelled as by cancel_task()');
SELECT is(ARRAY(SELECT pg_temp.ask(n) FROM generate_series(4, 7) n), '{wrong_status 2 ERROR,wrong_status 2 DONE,wrong_status 3 FAILED,wrong_status 1 CANCELLED}'::text[],
	'a finished task, or one that waits for a person, is not cancelled');
SELECT is(pg_temp.ask(99), 'not_found', 'a task that does not exist is not found');
SELECT is((SELECT count(*) FROM twtasks.cancel_request), 0::bigint, 'refused requests are not stored');
SELECT throws_ok('SELECT twtasks.request_cancel(NULL, 1)', '22004', 'id must not be null', 'a NULL id with a version is refused');
SELECT throws_ok('SELECT twtasks.request_cancel(NULL)', '22004', 'id must not be null', 'a NULL id is refused');

-- Running.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(10)) \g /dev/null
SELECT is(pg_temp.ask(10, 0), 'wrong_version 1 PROCESSING', 'a wrong version is refused');
SELECT is(pg_temp.ask(10, 2), 'wrong_version 1 PROCESSING', 'a wrong version of a running task is refused too');
SELECT is(pg_temp.audited(10), NULL, 'a refused request writes nothing');
SELECT is(pg_temp.ask(10), 'requested 1 PROCESSING', 'a request for a running task is stored');
SELECT is(pg_temp.state(pg_temp.id(10)), 'PROCESSING 1', 'the running task stays as it is');
SELECT is(pg_temp.audited(10), 'request_cancel PROCESSING 1 PROCESSING 1 wrong', 'the request is audited');
SELECT is((SELECT jsonb_build_array(version, type, status, actor = session_user, reason) FROM twtasks.cancel_requests WHERE id = pg_temp.id(10)),
	'[1, "TEST", "PROCESSING", true, "wrong"]'::jsonb, 'the view cancel_requests shows the request');
SELECT is(pg_temp.taken(), '10 1 t cancelled by ' || session_user || ': wrong', 'the node of the task is told');
SELECT is(pg_temp.taken(pg_temp.node() + 1), NULL, 'another node is not told');
SELECT is(pg_temp.ask(10, reason => NULL), 'requested 1 PROCESSING', 'a second request is stored');
SELECT is(pg_temp.taken(), '10 1 t cancelled by ' || session_user, 'the last reason counts');

-- How it ends.
SELECT is(pg_temp.finish(pg_temp.id(10), 'cancelled', message => 'stopped in time'), 'CANCELLED', 'the task ends as CANCELLED');
SELECT is((SELECT jsonb_build_array(status, version, tries, error, incarnation = pg_temp.node(), token IS NOT NULL) FROM twtasks.finished_task WHERE id = pg_temp.id(10)),
	'["CANCELLED", 2, 1, "stopped in time", true, true]'::jsonb, 'the task keeps the handler''s message and its node');
SELECT is(pg_temp.audited(10), 'request_cancel PROCESSING 1 PROCESSING 1 wrong, request_cancel PROCESSING 1 PROCESSING 1, cancel PROCESSING 1 CANCELLED 2',
	'the cancellation is audited as the operator''s');
SELECT is((SELECT jsonb_build_array(before - '{deadline,next_event_time}'::text[], after) FROM twtasks.audit WHERE task_id = pg_temp.id(10) AND action = 'cancel'),
	'[{"status": "PROCESSING", "version": 1}, {"status": "CANCELLED", "version": 2, "error": "stopped in time"}]'::jsonb, 'the audit has what was there before, and what became');
SELECT is((SELECT count(*) FROM twtasks.cancel_request), 0::bigint, 'the request is gone when the task has ended');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(10)), 1::bigint, 'the id of the cancelled task stays taken');
SELECT is((SELECT array_agg(id) FROM twtasks_internal.resolve_finish(ARRAY[pg_temp.id(10)], '{1}', pg_temp.node(),
	(SELECT token FROM twtasks.finished_task WHERE id = pg_temp.id(10)))), ARRAY[pg_temp.id(10)], 'a finish whose answer was lost is found');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(20 + n)), pg_temp.ask(20 + n) FROM generate_series(1, 8) n \g /dev/null
SELECT is(ARRAY(SELECT pg_temp.finish(pg_temp.id(20 + n::integer), r) || ' ' || pg_temp.state(pg_temp.id(20 + n::integer))
				FROM unnest('{done,delete}'::text[]) WITH ORDINALITY x(r, n)), '{DONE DONE 2,DONE none}'::text[], 'a task done before is DONE');
SELECT is(ARRAY(SELECT pg_temp.finish(pg_temp.id(22 + n::integer), r) || ' ' || pg_temp.state(pg_temp.id(22 + n::integer))
				FROM unnest('{retry,repeat,error,accepted,release,cancelled}'::text[]) WITH ORDINALITY x(r, n)),
	array_fill('CANCELLED CANCELLED 2'::text, '{6}'), 'any other answer of the handler makes the task CANCELLED');
SELECT is((SELECT error FROM twtasks.finished_task WHERE id = pg_temp.id(23)), 'cancelled by ' || session_user || ': wrong', 'a task without a message keeps the operator''s reason');
SELECT is((SELECT count(*) FROM twtasks.cancel_request c WHERE c.task_id NOT IN (pg_temp.id(21), pg_temp.id(22))), 0::bigint, 'the requests of ended tasks are gone');

-- One statement finishes several tasks, each by its own result.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(30 + n)) FROM generate_series(1, 4) n \g /dev/null
SELECT pg_temp.ask(31), pg_temp.ask(33) \g /dev/null
SELECT set_eq($$SELECT right(id::text, 2) || ' ' || version || ' ' || status FROM twtasks_internal.finish_tasks(
	ARRAY(SELECT pg_temp.id(30 + n) FROM generate_series(1, 4) n), '{1,1,1,1}', '{retry,retry,done,done}', '{0,0,0,0}', '{a,b,c,d}', pg_temp.node(), 77)$$,
	ARRAY['31 2 CANCELLED', '32 2 WAITING', '33 2 DONE', '34 2 DONE'], 'one statement finishes tasks with and without requests');
SELECT is((SELECT array_agg(coalesce(error, message) ORDER BY id) FROM twtasks.tasks WHERE id BETWEEN pg_temp.id(31) AND pg_temp.id(34)), '{a,b,c,d}'::text[], 'each of these tasks keeps its message');

-- Nobody cancels without being asked.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(40)) \g /dev/null
SELECT is(pg_temp.finish(pg_temp.id(40), 'cancelled'), NULL, 'a handler cannot cancel a task without a request');
SELECT is(pg_temp.state(pg_temp.id(40)), 'PROCESSING 1', 'the refused task stays as it is');
SELECT is(pg_temp.ask(40), 'requested 1 PROCESSING', 'a running task can be asked to end');
SELECT is(pg_temp.finish(pg_temp.id(40), 'cancelled', 0), NULL, 'a request for another version does not count');

SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(40)], '{1}', '{cancelled}', '{0}', '{NULL}', pg_temp.node(), 7, '{-1}')), 0::bigint,
	'a finish of another grab is refused');
SELECT is(pg_temp.state(pg_temp.id(40)), 'PROCESSING 1', 'the task stays as it is after the refused finish');
SELECT pg_temp.task_in('SUBMITTED', pg_temp.id(44)) \g /dev/null
INSERT INTO twtasks.cancel_request (task_id, version, created, requested) SELECT id, version, created, clock_timestamp() FROM twtasks.task WHERE id = pg_temp.id(44);
SELECT is(pg_temp.finish(pg_temp.id(44), 'retry'), NULL, 'a result of nobody''s run cancels no task that has a request');
SELECT is(pg_temp.state(pg_temp.id(44)), 'SUBMITTED 0', 'that task stays as it is');
DELETE FROM twtasks.cancel_request WHERE task_id = pg_temp.id(44);

-- A trigger of a user may move the row on.
CREATE FUNCTION pg_temp.archive() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM twtasks.finished_task WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER archive AFTER INSERT ON twtasks.finished_task FOR EACH ROW
	WHEN (NEW.id = '00000000-0000-0000-0000-000000000045') EXECUTE FUNCTION pg_temp.archive();
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(45)), pg_temp.ask(45), pg_temp.finish(pg_temp.id(45), 'cancelled') \g /dev/null
SELECT is(pg_temp.audited(45), 'request_cancel PROCESSING 1 PROCESSING 1 wrong, cancel PROCESSING 1 CANCELLED 2 wrong',
	'the cancellation is audited although a trigger has taken the row away');
DROP TRIGGER archive ON twtasks.finished_task;

-- A wish is for one task in one run.
SELECT is(pg_temp.finish(pg_temp.id(40), 'done'), 'DONE', 'a task is done before it is stopped');
SELECT is(pg_temp.taken(), NULL, 'the request for a finished task has no effect any more');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(41)), pg_temp.ask(41), pg_temp.finish(pg_temp.id(41), 'delete') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.cancel_request WHERE task_id = pg_temp.id(41)), 1::bigint, 'a deleted task leaves its request behind');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(41)) \g /dev/null
SELECT is(pg_temp.taken(), NULL, 'the old request does not count for a new task of that id');
SELECT is(pg_temp.finish(pg_temp.id(41), 'retry', 1), 'WAITING', 'the new task goes on');
UPDATE twtasks.cancel_request SET requested = requested - interval '1 hour';
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(42)), pg_temp.ask(42) \g /dev/null
SELECT is((SELECT array_agg(task_id) FROM twtasks.cancel_request), ARRAY[pg_temp.id(42)], 'the next request removes those without effect');
UPDATE twtasks.cancel_request SET requested = requested - interval '1 hour';
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(43)), pg_temp.ask(43) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.cancel_request), 2::bigint, 'requests that wait for long stay');

-- Nobody runs it.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(50)), pg_temp.finish(pg_temp.id(50), 'accepted') \g /dev/null
SELECT is(pg_temp.ask(50), 'changed 2 CANCELLED', 'an accepted task is cancelled at once');
SELECT is(pg_temp.audited(50), 'cancel PROCESSING 1 CANCELLED 2 wrong', 'the cancellation of an accepted task is audited once');
SELECT is((SELECT concat_ws(' ', result, version, status) FROM twtasks.finish_task(pg_temp.id(50), 1)), 'wrong_version 2 CANCELLED', 'the result of a cancelled task comes too late');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(51), 'ignore'), twtasks_internal.start_node('gone') AS gone \gset
UPDATE twtasks.task SET incarnation = :gone WHERE id = pg_temp.id(51);
SELECT twtasks_internal.end_node(:gone) \g /dev/null
SELECT is(pg_temp.ask(51), 'changed 2 CANCELLED', 'a task whose node is gone is cancelled at once');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(52)) \g /dev/null
UPDATE twtasks.task SET incarnation = 0 WHERE id = pg_temp.id(52);
SELECT is(pg_temp.ask(52), 'changed 2 CANCELLED', 'a task whose node never existed is cancelled at once');
-- Found out later.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(53)), pg_temp.ask(53) \g /dev/null
UPDATE twtasks.task SET incarnation = NULL, queued = false WHERE id = pg_temp.id(53);
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(54)), pg_temp.ask(54) \g /dev/null
UPDATE twtasks.task SET status = 'SUBMITTED' WHERE id = pg_temp.id(54);
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(55)), pg_temp.ask(55) \g /dev/null
UPDATE twtasks.task SET status = 'SUBMITTED', version = version + 1 WHERE id = pg_temp.id(55);
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(56)), pg_temp.ask(56) \g /dev/null
UPDATE twtasks.task SET status = 'SUBMITTED', version = version + 2 WHERE id = pg_temp.id(56);
SELECT is(pg_temp.taken(0), NULL, 'a node is told of no request for a task that does not run');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(53, 56) n), '{CANCELLED 2,CANCELLED 2,CANCELLED 3,SUBMITTED 3}'::text[],
	'any node cancels requested tasks that are accepted or wait');

-- Its node dies instead.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(60 + n::integer), r), pg_temp.ask(60 + n::integer) FROM unnest('{error,retry,fail}'::twtasks.stuck_rule[]) WITH ORDINALITY x(r, n) \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(64), 'retry') \g /dev/null
UPDATE twtasks.task SET deadline = created WHERE id BETWEEN pg_temp.id(61) AND pg_temp.id(64);
SELECT is((SELECT jsonb_build_array(retried, errors, failed) FROM twtasks_internal.recover_tasks()), '[1, 0, 0]'::jsonb, 'the stuck rule acts only on the task without a request');
SELECT is(ARRAY(SELECT pg_temp.state(pg_temp.id(n)) FROM generate_series(61, 64) n), '{CANCELLED 2,CANCELLED 2,CANCELLED 2,SUBMITTED 2}'::text[], 'the stuck rule does not act on tasks with a request');

-- The person for whom a program asked.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) FROM unnest('{90,91}'::integer[]) n \g /dev/null
SET LOCAL twtasks.on_behalf_of = 'anne';
SELECT pg_temp.ask(90), pg_temp.ask(91) \g /dev/null
SELECT is((SELECT actor FROM twtasks.cancel_requests WHERE id = pg_temp.id(91)), 'anne', 'a request names the person for whom a program asked');
SET LOCAL twtasks.on_behalf_of = '';
SELECT pg_temp.ask(91), pg_temp.finish(pg_temp.id(90), 'retry') \g /dev/null
SELECT is((SELECT string_agg(action || ' ' || coalesce(on_behalf_of, '-'), ', ' ORDER BY id) FROM twtasks.audit WHERE task_id = pg_temp.id(90)),
	'request_cancel anne, cancel anne', 'the cancellation names the person who asked, not the one who finished');
SELECT is((SELECT string_agg(event || ' ' || actor, ', ' ORDER BY version) FROM twtasks.life(pg_temp.id(90)) WHERE event LIKE '%cancel'), 'cancel anne, request_cancel anne', 'so does the life of the task');
SELECT is((SELECT string_agg(event || ' ' || actor, ', ' ORDER BY event) FROM twtasks.task_history WHERE task_id = pg_temp.id(90) AND event LIKE '%cancel'), 'cancel anne, request_cancel anne', '... and its history');
SELECT is((SELECT on_behalf_of FROM twtasks.cancel_request WHERE task_id = pg_temp.id(91)), NULL, 'the last request names its own person');

-- Privileges.
SELECT is((SELECT array_agg(DISTINCT a.actor) FROM twtasks.audit a), ARRAY[session_user::text], 'the audit names the role that logged in');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(70)) \g /dev/null
SET LOCAL ROLE twtasks_operator;
SELECT is((SELECT result FROM twtasks.request_cancel('00000000-0000-0000-0000-000000000070', 1)), 'requested', 'an operator may request a cancel');
SELECT lives_ok('SELECT * FROM twtasks.cancel_requests', 'an operator may read the requests');
SELECT throws_ok('SELECT twtasks_internal.take_cancels(1)', '42501', NULL, 'an operator may not take requests');
SET LOCAL ROLE twtasks_worker;
SELECT throws_ok('SELECT twtasks.request_cancel(gen_random_uuid(), 1)', '42501', NULL, 'a worker may not request a cancel');
SELECT throws_ok('SELECT * FROM twtasks.cancel_request', '42501', NULL, 'a worker may not read the table');
SELECT lives_ok('SELECT twtasks_internal.take_cancels(1)', 'a worker may take requests');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
