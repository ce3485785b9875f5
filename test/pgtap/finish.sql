--
-- finish_tasks() and resolve_finish(): each result, what it keeps, and what it
-- returns.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(72);

-- Returns a task's status, version, tries, queued, and the time of its next try.
CREATE FUNCTION pg_temp.live(task uuid) RETURNS jsonb
LANGUAGE sql
AS $$
	SELECT jsonb_build_array(status, version, tries, queued,
		CASE WHEN next_event_time = 'infinity' THEN 'never' WHEN next_event_time = deadline THEN 'deadline'
			 ELSE round(extract(epoch FROM next_event_time - state_time)) || ' s' END,
		error, deadline IS NULL, incarnation = pg_temp.node())
	FROM twtasks.task WHERE id = live.task
$$;

SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(1, 7) n \g /dev/null

SELECT is((SELECT to_jsonb(f) - 'id' FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(1)], '{1}', '{done}', '{0}', '{well}', pg_temp.node(), 9) f),
	'{"version": 2, "status": "DONE", "delay_ms": null}'::jsonb, 'done: the finish succeeds');
SELECT is((SELECT jsonb_build_array(status, version, tries, message, error, token, incarnation = pg_temp.node()) FROM twtasks.finished_task WHERE id = pg_temp.id(1)),
	'["DONE", 2, 1, "well", null, 9, true]'::jsonb, 'done: the history has the task with message, token and node');
SELECT is((SELECT count(*) FROM twtasks.task WHERE id = pg_temp.id(1)), 0::bigint, 'done: the live table no longer has the task');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(1)), 1::bigint, 'done: the id of the task stays taken');

SELECT is(pg_temp.finish(pg_temp.id(2), 'delete'), 'DONE', 'delete: the finish succeeds');
SELECT is(pg_temp.state(pg_temp.id(2)), 'none', 'delete: nothing is left of the task');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE task_id = pg_temp.id(2)), 0::bigint, 'delete: the id of the task is free');

SELECT is(pg_temp.finish(pg_temp.id(3), 'retry', delay_ms => 90000, message => 'busy'), 'WAITING', 'retry: the finish succeeds');
SELECT is(pg_temp.live(pg_temp.id(3)), '["WAITING", 2, 1, false, "90 s", "busy", true, true]'::jsonb, 'retry: the task waits, and its tries count');

SELECT is(pg_temp.finish(pg_temp.id(4), 'repeat', delay_ms => 1000, message => 'ignored'), 'WAITING', 'repeat: the finish succeeds');
SELECT is(pg_temp.live(pg_temp.id(4)), '["WAITING", 2, 0, false, "1 s", null, true, true]'::jsonb, 'repeat: the task waits, without tries and error');

SELECT is(pg_temp.finish(pg_temp.id(5), 'error', message => 'broken'), 'ERROR', 'error: the finish succeeds');
SELECT is(pg_temp.live(pg_temp.id(5)), '["ERROR", 2, 1, false, "never", "broken", true, true]'::jsonb, 'error: the task waits for a person');

SELECT is((SELECT jsonb_build_array(version, status) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(6)], '{1}', '{release}', '{0}', '{NULL}', pg_temp.node(), 9)),
	'[2, "SUBMITTED"]'::jsonb, 'release: the finish succeeds');
SELECT is((SELECT jsonb_build_array(status, version, tries, queued, deadline, next_event_time > clock_timestamp()) FROM twtasks.task WHERE id = pg_temp.id(6)),
	'["SUBMITTED", 2, 0, true, null, true]'::jsonb, 'release: the task is as before its grab');
SELECT is(pg_temp.grab(pg_temp.id(6)), 3::bigint, 'release: another node may grab the task');

-- Accepted: somebody else finishes it, whoever that is, until its deadline.
SELECT is((SELECT jsonb_build_array(version, status) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(7)], '{1}', '{accepted}', '{0}', '{sent}', pg_temp.node(), 9)),
	'[1, "PROCESSING"]'::jsonb, 'accepted: the version stays, so that the task can be finished by it');
SELECT is(pg_temp.live(pg_temp.id(7)), '["PROCESSING", 1, 1, false, "deadline", "sent", false, null]'::jsonb, 'accepted: the task belongs to no node until its deadline');
SELECT is(pg_temp.finish(pg_temp.id(7), 'accepted'), 'PROCESSING', 'accepted: the answer may come twice');
SELECT pg_temp.finish(pg_temp.id(7), 'accepted', delay_ms => 1000) \g /dev/null
SELECT ok((SELECT deadline - state_time < '59 s' FROM twtasks.task WHERE id = pg_temp.id(7)), 'accepted: the deadline may become earlier than that of the grab');
SELECT pg_temp.finish(pg_temp.id(7), 'accepted', delay_ms => 100000000) \g /dev/null
SELECT is((SELECT deadline < clock_timestamp() + interval '1 s' FROM twtasks.task WHERE id = pg_temp.id(7)), true, 'accepted: the deadline never becomes later');
SELECT is((SELECT jsonb_build_array(version, status) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(7)], '{1}', '{done}', '{0}', '{confirmed}', NULL, NULL)),
	'[2, "DONE"]'::jsonb, 'accepted: a caller without an incarnation may finish the task');
SELECT is((SELECT jsonb_build_array(status, message, incarnation, token) FROM twtasks.finished_task WHERE id = pg_temp.id(7)),
	'["DONE", "confirmed", null, null]'::jsonb, 'accepted: the task keeps that caller''s message');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(8)) AS made, pg_temp.finish(pg_temp.id(8), 'accepted') \g /dev/null
SELECT is((SELECT status FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(8)], '{1}', '{retry}', '{0}', '{NULL}', NULL, NULL)), 'WAITING', 'accepted: the task may be retried afterwards');

-- Too late, or never.
SELECT is(pg_temp.finish(pg_temp.id(1), 'done', 1), NULL, 'a second done is refused');
SELECT is(pg_temp.finish(pg_temp.id(3), 'done', 1), NULL, 'a done after a retry is refused');
SELECT is(pg_temp.finish(pg_temp.id(6), 'done', 1), NULL, 'a done with the version before the release is refused');
SELECT is(pg_temp.finish(pg_temp.id(6), 'done', 3), 'DONE', 'a done with the version of the last grab succeeds');
SELECT is(pg_temp.finish(pg_temp.id(99), 'done', 1), NULL, 'a task that does not exist is refused');

-- The token of the grab tells a grab that was lost from the one after it.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(120, 123) n \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(120)], '{1}', ARRAY[result], '{0}', '{NULL}', pg_temp.node(), 9, '{-1}')), 0::bigint,
	'the result ' || result || ' with the token of another grab is refused')
FROM (VALUES ('done'), ('retry'), ('delete')) r(result);
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(120)], '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), 9,
	ARRAY[(SELECT token FROM twtasks.task WHERE id = pg_temp.id(120))])), 1::bigint, 'a done with its own token succeeds');

-- Each incarnation counts its tokens anew: another one's grab is not meant.
SELECT twtasks_internal.start_node('other') AS other \gset
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(301, 304) n \g /dev/null
SELECT twtasks.request_cancel(pg_temp.id(304), 1) \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[t.id], '{1}', ARRAY[result], '{0}', '{NULL}', :other, 9, ARRAY[t.token])), 0::bigint,
	'the result ' || result || ' with the token of another incarnation is refused')
FROM (VALUES ('done', 301), ('retry', 302), ('delete', 303), ('cancelled', 304)) r(result, n) JOIN twtasks.task t ON t.id = pg_temp.id(n);
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[t.id], '{1}', ARRAY[result], '{0}', '{NULL}', pg_temp.node(), 9, ARRAY[t.token])), 1::bigint,
	'the result ' || result || ' of the task''s own grab is accepted')
FROM (VALUES ('done', 301), ('retry', 302), ('delete', 303), ('cancelled', 304)) r(result, n) JOIN twtasks.task t ON t.id = pg_temp.id(n);

-- One element stands for all.
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(121), pg_temp.id(122)], '{1}', '{done}', '{0}', '{NULL}', pg_temp.node(), 9)), 2::bigint,
	'a single result may stand for all tasks of a call');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(124)) AS made \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(123), pg_temp.id(124)], '{1}', '{retry}', '{5}', '{late}', pg_temp.node(), 9)), 2::bigint,
	'a single result for all need not be done');

-- Messages are cut at 8,192 characters: the beginning and the end are kept.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(10, 16) n \g /dev/null
CREATE TEMPORARY TABLE long AS SELECT repeat('b', 1000) || repeat('m', 1000000) || repeat('e', 7000) AS message;
SELECT pg_temp.finish(pg_temp.id(10), 'done', message => repeat('m', 8192)), pg_temp.finish(pg_temp.id(11), 'done', message => repeat('m', 8193)),
	   pg_temp.finish(pg_temp.id(12), 'error', message => message), pg_temp.finish(pg_temp.id(13), 'retry', message => message),
	   pg_temp.finish(pg_temp.id(14), 'done', message => repeat(U&'\20AC', 9000)), pg_temp.finish(pg_temp.id(15), 'done', message => message),
	   pg_temp.finish(pg_temp.id(16), 'accepted', message => message) FROM long \g /dev/null
SELECT is((SELECT coalesce(message, error) FROM twtasks.tasks WHERE id = pg_temp.id(10)), repeat('m', 8192), 'a message of 8,192 characters is kept whole');
SELECT is((SELECT length(coalesce(message, error)) FROM twtasks.tasks WHERE id = pg_temp.id(11)), 8192, 'a longer message is cut');
SELECT is((SELECT length(coalesce(message, error)) FROM twtasks.tasks WHERE id = pg_temp.id(14)), 8192, 'the limit counts characters, and breaks none');
SELECT is((SELECT length(coalesce(message, error)) FROM twtasks.tasks WHERE id = pg_temp.id(n)), 8192, '1 MB is cut: ' || what)
FROM (VALUES (12, 'error'), (13, 'retry'), (15, 'done'), (16, 'accepted')) x(n, what);
SELECT is((SELECT jsonb_build_array(left(error, 1001), right(error, 7001)) FROM twtasks.tasks WHERE id = pg_temp.id(12)),
	jsonb_build_array(repeat('b', 1000) || ' ', 'm' || repeat('e', 7000)), 'a cut message keeps its beginning and its end');

-- Without a message the last one stays; an empty one replaces it.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(17)) AS made, pg_temp.finish(pg_temp.id(17), 'release', message => 'first') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(17)), pg_temp.finish(pg_temp.id(17), 'error') \g /dev/null
SELECT is((SELECT error FROM twtasks.task WHERE id = pg_temp.id(17)), 'first', 'a finish without a message keeps the last one');

-- Delays saturate.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(20, 24) n \g /dev/null
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(20, 24) n), '{1,1,1,1,1}',
	'{retry,retry,repeat,retry,repeat}', '{9223372036854775807,-9223372036854775808,3153600000000,NULL,0}', '{NULL,NULL,NULL,NULL,NULL}',
	pg_temp.node(), 9)), 5::bigint, 'every delay is accepted');
SELECT is((SELECT array_agg((extract(epoch FROM next_event_time - state_time) / 86400)::integer ORDER BY id)
		   FROM twtasks.task WHERE id BETWEEN pg_temp.id(20) AND pg_temp.id(24)), '{36500,0,36500,0,0}'::integer[],
	'the longest delay is 100 years; a negative or missing one means now');

-- All results in one call, with some that are too late in between.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(30, 37) n \g /dev/null
CREATE TEMPORARY TABLE mixed AS
SELECT * FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(30, 38) n), '{1,1,1,1,1,1,1,7,1}',
	'{release,accepted,error,repeat,retry,delete,done,done,done}', '{0,0,0,0,60000,0,0,0,0}', '{a,b,c,d,e,f,g,h,i}', pg_temp.node(), 9);
SELECT bag_eq('SELECT right(id::text, 2) || '' '' || status || '' '' || version FROM mixed',
	ARRAY['30 SUBMITTED 2', '31 PROCESSING 1', '32 ERROR 2', '33 WAITING 2', '34 WAITING 2', '35 DONE 2', '36 DONE 2'],
	'each of a mixed batch gets its own result');
SELECT is(pg_temp.state(pg_temp.id(37)), 'PROCESSING 1', 'a task with a wrong version in the batch still runs');
SELECT is((SELECT array_agg(coalesce(message, error) ORDER BY id) FROM twtasks.tasks WHERE id BETWEEN pg_temp.id(30) AND pg_temp.id(37)),
	'{a,b,c,NULL,e,g,NULL}'::text[], 'each task of a batch gets its own message');
SELECT is((SELECT status FROM twtasks_internal.finish_tasks(ARRAY[pg_temp.id(37), pg_temp.id(37)], '{1,1}', '{done,done}', '{0,0}', '{x,x}', pg_temp.node(), 9)),
	'DONE', 'a task named twice is finished once');

-- A large batch: 300 done, and 300 of everything.
CREATE TEMPORARY TABLE big AS SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS id, n FROM generate_series(1001, 1600) n;
SELECT is((SELECT count(DISTINCT id) FROM twtasks_internal.finish_tasks(ARRAY(SELECT id FROM big WHERE n <= 1300 ORDER BY n DESC), array_fill(1, '{300}'),
	array_fill('done'::text, '{300}'), array_fill(0, '{300}'), array_fill(NULL::text, '{300}'), pg_temp.node(), 9) WHERE status = 'DONE' AND version = 2),
	300::bigint, 'a single call finishes 300 tasks');
CREATE TEMPORARY TABLE wanted AS
SELECT id, n, ('{done,delete,retry,repeat,error,accepted,release}'::text[])[1 + n % 7] AS result FROM big WHERE n > 1300;
SELECT is((SELECT count(DISTINCT id) FROM twtasks_internal.finish_tasks(ARRAY(SELECT id FROM wanted ORDER BY n), array_fill(1, '{300}'),
	ARRAY(SELECT result FROM wanted ORDER BY n), array_fill(1000, '{300}'), array_fill(NULL::text, '{300}'), pg_temp.node(), 9)), 300::bigint,
	'a single call finishes 300 tasks with every kind of result');
SELECT is((SELECT count(*) FROM wanted w JOIN (VALUES ('done', 'DONE 2'), ('delete', 'none'), ('retry', 'WAITING 2'), ('repeat', 'WAITING 2'),
			('error', 'ERROR 2'), ('accepted', 'PROCESSING 1'), ('release', 'WAITING 2')) r(result, state) USING (result)
		   WHERE pg_temp.state(w.id) = r.state), 300::bigint, 'each task is in the right table');
SELECT is((SELECT count(*) FROM twtasks_internal.finish_tasks(ARRAY(SELECT id FROM big), array_fill(1, '{600}'),
	array_fill('done'::text, '{600}'), array_fill(0, '{600}'), array_fill(NULL::text, '{600}'), pg_temp.node(), 9)),
	(SELECT count(*) FROM wanted WHERE result = 'accepted'), 'a second call finishes only the accepted tasks');

-- After a lost answer and a second call: which had the first one finished?
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(n)) AS made FROM generate_series(50, 58) n \g /dev/null
SELECT count(*) AS finished FROM twtasks_internal.finish_tasks(ARRAY(SELECT pg_temp.id(n) FROM generate_series(50, 56) n), array_fill(1, '{7}'),
	'{done,delete,retry,repeat,error,accepted,release}', array_fill(0, '{7}'), array_fill(NULL::text, '{7}'), pg_temp.node(), 600) \gset
SELECT is(:finished, 7, 'a call whose answer was lost finished seven tasks');
SELECT is((SELECT pg_temp.finish(pg_temp.id(57), 'done', 1)), 'DONE', 'another call finished one task');
SELECT is((SELECT array_agg(right(id::text, 2) ORDER BY id) FROM twtasks_internal.resolve_finish(
	ARRAY(SELECT pg_temp.id(n) FROM generate_series(50, 58) n), array_fill(1, '{9}'), pg_temp.node(), 600)),
	'{50,51,52,53,54,55,56}'::text[], 'resolve_finish() finds the tasks of its call, whatever their result');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_finish(ARRAY(SELECT pg_temp.id(n) FROM generate_series(50, 58) n WHERE n <> 51), array_fill(1, '{8}'), pg_temp.node(), 601)),
	0::bigint, 'resolve_finish() returns nothing for another token');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_finish(ARRAY[pg_temp.id(50), pg_temp.id(52)], '{1,1}', pg_temp.node() + 1, 600)),
	0::bigint, 'resolve_finish() returns nothing for another incarnation');
SELECT is((SELECT count(*) FROM twtasks_internal.resolve_finish(ARRAY[pg_temp.id(50), pg_temp.id(58)], '{2,1}', pg_temp.node(), 600)),
	0::bigint, 'resolve_finish() returns nothing for another version or a running task');

-- Each task is in exactly one of the two tables.
SELECT is((SELECT count(*) FROM twtasks.task JOIN twtasks.finished_task USING (id)), 0::bigint, 'no task is both live and finished');
SELECT is((SELECT count(*) FROM twtasks.finished_task WHERE status NOT IN ('DONE', 'FAILED', 'CANCELLED')), 0::bigint, 'the history has final statuses only');
SELECT is((SELECT count(*) FROM twtasks.task WHERE status IN ('DONE', 'FAILED', 'CANCELLED')), 0::bigint, 'the live table has none of them');
SELECT is((SELECT count(*) FROM twtasks.task WHERE queued <> (status = 'SUBMITTED' OR status = 'PROCESSING' AND incarnation IS NOT NULL)), 0::bigint,
	'the column queued agrees with the status of each task');

SELECT * FROM finish();
ROLLBACK;
