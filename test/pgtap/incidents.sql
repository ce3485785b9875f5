--
-- The life of incidents: they open, are refreshed and resolved, and each is told
-- as often as it should be.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/incidents.sql
SELECT plan(39);

-- Sends all that is to be sent; the messages.
CREATE FUNCTION pg_temp.send() RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	sent text;
	all_sent text;
BEGIN
	LOOP
		SELECT string_agg(concat_ws(' ', n.state, n.key), ', ' ORDER BY n.key)
		INTO sent
		FROM twtasks.next_incidents('{a}') n
		WHERE twtasks.note_sent(n.incident, n.target, n.state, n.repeat, 'sent');
		EXIT WHEN sent IS NULL;
		all_sent := concat_ws(', ', all_sent, sent);
	END LOOP;
	RETURN all_sent;
END $$;
CREATE FUNCTION pg_temp.fail(first integer, past integer, type text DEFAULT 'PAYOUT') RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, error, data)
	SELECT pg_temp.id(n), 'infinity', twtasks.clock(), twtasks.clock(), 'ERROR', false, type, 'canary-error', '{"canary": "canary-data"}'
	FROM generate_series(first, past - 1) n
$$;
CREATE FUNCTION pg_temp.mend(type text DEFAULT 'PAYOUT') RETURNS void
LANGUAGE sql
AS $$ DELETE FROM twtasks.task t WHERE t.type = mend.type $$;

SELECT is(pg_temp.judge(), NULL, 'all is well');
SELECT is(pg_temp.send(), NULL, 'nothing is sent then');

SET LOCAL twtasks.function_timeout = '1ms';
SELECT pg_temp.fail(1, 2, 'QUICK') \g /dev/null
SELECT is(pg_temp.judge(), 'error/QUICK ticket 1', 'the limit for functions of users is none for the judge');
SET LOCAL twtasks.function_timeout TO DEFAULT;
SELECT pg_temp.mend('QUICK'), pg_temp.judge(), pg_temp.judge('5 min'), pg_temp.send() \g /dev/null

-- Tasks in ERROR: one incident, and one message for ten times as many.
SELECT pg_temp.fail(1, 2) \g /dev/null
SELECT is(pg_temp.judge(), 'error/PAYOUT ticket 1', 'the first task in ERROR opens an incident');
SELECT is(pg_temp.send(), 'open error/PAYOUT', 'it is sent');
SELECT pg_temp.fail(2, 10) \g /dev/null
SELECT is(pg_temp.judge(), 'error/PAYOUT ticket 9', 'more tasks change its count');
SELECT is(pg_temp.send(), NULL, 'they are not sent');
SELECT pg_temp.fail(10, 11) \g /dev/null
SELECT is(pg_temp.judge() || '; ' || pg_temp.send(), 'error/PAYOUT ticket 10; refresh error/PAYOUT', 'ten times as many are sent');
SELECT pg_temp.fail(11, 101) \g /dev/null
SELECT is(pg_temp.judge() || '; ' || pg_temp.send(), 'error/PAYOUT page 100; refresh error/PAYOUT', 'very many are a page');
SELECT is(pg_temp.judge('5 h 58 min'), 'error/PAYOUT page 100', 'hours pass');
SELECT is(pg_temp.send(), NULL, 'it is not sent within 6 hours');
SELECT is(pg_temp.judge('2 min') || '; ' || pg_temp.send(), 'error/PAYOUT page 100; refresh error/PAYOUT', 'it is sent again after 6 hours');
SELECT is((SELECT concat_ws('; ', summary, hint) FROM twtasks.incidents WHERE key = 'error/PAYOUT'),
	'100 tasks of type "PAYOUT" are in ERROR; SELECT * FROM twtasks.error_tasks WHERE type = ''PAYOUT'' shows them; twtasks.change_tasks() resumes or ends them',
	'it says what is wrong, and what to type');
UPDATE twtasks.incident SET acknowledged = twtasks.clock() WHERE key = 'error/PAYOUT';
SELECT is(pg_temp.send(), 'acknowledge error/PAYOUT', 'somebody takes it on');
SELECT is(pg_temp.judge('7 hours') || '; ' || coalesce(pg_temp.send(), ''), 'error/PAYOUT page 100; ', 'then it is not sent again');
SELECT pg_temp.mend() \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'without a task in ERROR it is resolved');
SELECT is(pg_temp.send(), 'resolve error/PAYOUT', 'its end is sent');
SELECT is((SELECT count(*) FROM twtasks.incident WHERE object = 'PAYOUT'), 1::bigint, 'all of this was one incident');

-- It opens again and again.
SELECT pg_temp.fail(1, 2) \g /dev/null
SELECT is(pg_temp.judge('2 hours'), 'error/PAYOUT ticket 1', 'it opens once more');
SELECT pg_temp.mend() \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'it ends');
SELECT pg_temp.fail(1, 2), pg_temp.judge(), pg_temp.mend(), pg_temp.judge() \g /dev/null
SELECT pg_temp.fail(1, 2) \g /dev/null
SELECT is(pg_temp.judge(), 'error/PAYOUT ticket 1', 'it opens for the third time in an hour');
SELECT pg_temp.mend() \g /dev/null
SELECT is(pg_temp.judge('14 min'), 'error/PAYOUT ticket 1', 'then it needs 15 quiet minutes');
SELECT is(pg_temp.judge(), NULL, 'after them it is resolved');
SELECT is(pg_temp.send(), concat_ws(', ', 'open error/PAYOUT', 'resolve error/PAYOUT', 'open error/PAYOUT', 'resolve error/PAYOUT', 'open error/PAYOUT', 'resolve error/PAYOUT'),
	'a target that was away gets all in order');

-- A warning.
UPDATE twtasks.node SET buckets = '{default}', types = '{OTHER}';
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
VALUES (pg_temp.id(1), twtasks.clock() + interval '30 min', twtasks.clock(), twtasks.clock(), 'SUBMITTED', true, 'NEW');
SELECT is(pg_temp.judge(), 'warning/no handler/NEW page 1', 'a warning is an incident');
SELECT pg_temp.mend('NEW') \g /dev/null
SELECT is(pg_temp.judge(), 'warning/no handler/NEW page 1', 'it stays for 2 minutes');
SELECT is(pg_temp.judge(), NULL, 'then it is resolved');
SELECT pg_temp.send(), pg_temp.judge('11 min') \g /dev/null

-- Many at once.
SELECT pg_temp.fail(n, n + 1, 'TYPE_' || n) FROM generate_series(1, 25) n \g /dev/null
SELECT is(length(regexp_replace(pg_temp.judge(), '[^,]', '', 'g')), 25, 'each of 25 types opens an incident, and one more stands for the rest');
SELECT is((SELECT count(*) || ' ' || string_agg(n.summary, '') FILTER (WHERE n.kind = 'more') FROM twtasks.next_incidents('{a}') n), '21 and 5 more incidents', '20 of them are sent, and how many more there are');
SELECT is(length(pg_temp.send()) > 0, true, 'they go');
SELECT pg_temp.judge('9 min') \g /dev/null
SELECT is(pg_temp.send(), NULL, 'the rest waits');
SELECT is((SELECT pg_temp.judge() ~ 'more') || ' ' || pg_temp.send(), 'false ' || 'open error/TYPE_5, open error/TYPE_6, open error/TYPE_7, open error/TYPE_8, open error/TYPE_9, resolve more/', 'after 10 minutes the rest is sent');

-- As many as are counted.
SELECT pg_temp.fail(1001, 11001, 'MANY') \g /dev/null
SELECT is(pg_temp.judge() ~ 'error/MANY page [0-9]+($|,)', true, '10,000 tasks in ERROR open an incident');
SELECT pg_temp.judge('11 min') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.incident WHERE object = 'MANY'), 1::bigint, 'they open one');
SELECT pg_temp.mend('MANY') \g /dev/null
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, tries, error)
SELECT pg_temp.id(20000 + n), twtasks.clock() + interval '2 min', twtasks.clock(), twtasks.clock(), 'WAITING', false, 'AGAIN', 1, 'canary-error' FROM generate_series(1, 3) n;
SELECT pg_temp.judge() \g /dev/null
SELECT is((SELECT summary FROM twtasks.incidents WHERE object = 'AGAIN'), 'tasks fail and are retried: 3 tasks of type "AGAIN" fail and are retried', 'retries are an incident without their error');
SELECT pg_temp.mend('AGAIN') \g /dev/null

UPDATE twtasks.node SET faults = '{"worker \"MAIL\" ends again and again, with its tasks: exited with status 1: canary-words"}';
SELECT pg_temp.judge() \g /dev/null
SELECT is((SELECT summary FROM twtasks.incidents WHERE kind = 'worker crashes'), 'worker crashes: node "test": worker "MAIL" ends again and again', 'a crash is an incident without the words of the worker');
UPDATE twtasks.node SET faults = '{}';
SELECT pg_temp.judge('3 min') \g /dev/null

-- No secrets; old ones go.
SELECT is((SELECT count(*) FROM twtasks.incident i WHERE i::text ~ 'canary'), 0::bigint, 'no incident has an error or data of a task');
SELECT pg_temp.mend('TYPE_' || n) FROM generate_series(1, 25) n \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'all are resolved');
SELECT twtasks_internal.clean_incidents(twtasks.clock() + interval '401 days') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.incident) + (SELECT count(*) FROM twtasks.incident_sent), 0::bigint, 'after 400 days they are deleted, with their messages');

SELECT * FROM finish();
ROLLBACK;
