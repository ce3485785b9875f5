--
-- Each kind of incident opens when it should, not before, and ends.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/incidents.sql
UPDATE twtasks.node SET buckets = '{default}';
SELECT plan(44);

CREATE FUNCTION pg_temp.put(n integer, status twtasks.task_status, type text, age interval DEFAULT '0') RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
	SELECT pg_temp.id(n), twtasks.clock() + CASE status WHEN 'PROCESSING' THEN '1 day' ELSE -age END, twtasks.clock() - age, twtasks.clock() - age, status,
		   status IN ('SUBMITTED', 'PROCESSING'), type
$$;
SELECT is(pg_temp.judge(), NULL, 'all is well');

-- stall: a task that nothing holds up does not start.
SELECT pg_temp.put(1, 'SUBMITTED', 'A') \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'a task that waits for a minute is no stall');
UPDATE twtasks.node SET notes_flow = false;
SELECT is(pg_temp.judge('61 s'), NULL, 'a sidecar of version 1.0 does not tell its starts');
UPDATE twtasks.node SET notes_flow = true;
SELECT is(pg_temp.judge('1 s'), 'stall/default page 1', 'no start for two minutes is a stall');
SELECT is((SELECT summary ~ '^no task starts in bucket "default", the oldest waits since ' FROM twtasks.incidents), true, 'it names the bucket');
SELECT pg_temp.put(2, 'PROCESSING', 'A') \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'a start ends it');
DELETE FROM twtasks.task WHERE id = pg_temp.id(2);
INSERT INTO twtasks.flow (at, step, bucket, type, started, done, failed, errors, retried, refused, unknown)
VALUES (twtasks.clock(), '1 min', 'default', 'A', 1, 1, 0, 0, 0, 0, 0);
SELECT is(pg_temp.judge(), NULL, 'a start that has ended already counts, too');
SELECT is(pg_temp.judge('3 min'), NULL, 'the first count after an outage may come before grabs');
SELECT is(pg_temp.judge(), 'stall/default page 1', 'the start counts for its time only');
SELECT is(pg_temp.judge('3 min'), 'stall/default page 1', 'an outage does not end it');
SELECT twtasks.configure_limit('A', concurrency => 0) \g /dev/null
SELECT is(pg_temp.judge(), 'warning/limit of 0/A ticket 1', 'behind a limit nothing stalls');
SELECT twtasks.drop_limit('A'), twtasks.pause_type('A', 'maintenance') \g /dev/null
SELECT is(pg_temp.judge('3 min'), 'warning/paused/A ticket 1', 'behind a pause neither, and the pause is a ticket');

-- old: the oldest of a type waits longer than its queue_time.
SELECT is(pg_temp.judge('1 hour'), 'warning/paused/A ticket 1', 'tasks of a paused type are expected to wait');
SELECT twtasks.resume_type('A'), pg_temp.put(2, 'PROCESSING', 'A') \g /dev/null
SELECT is(pg_temp.judge('3 min'), 'old/A page 1', 'a task that waits longer than queue_time is an incident');
UPDATE twtasks.task SET state_time = twtasks.clock() - interval '16 min' WHERE id = pg_temp.id(1);
SELECT is(pg_temp.judge(), 'old/A page 1', 'it lasts until half of queue_time');
UPDATE twtasks.task SET state_time = twtasks.clock() - interval '13 min' WHERE id = pg_temp.id(1);
SELECT is(pg_temp.judge(), NULL, 'below half it ends');
SELECT twtasks.configure_type('A', queue_time => '20 min') \g /dev/null
SELECT is(pg_temp.judge('6 min 1 s'), 'old/A page 1', 'the policy of the type decides');
DELETE FROM twtasks.task;
SELECT is(pg_temp.judge(), NULL, 'without a task it ends');

-- stuck: due for more than 5 minutes, or past its deadline for that long.
INSERT INTO twtasks.task (id, next_event_time, deadline, state_time, created, status, queued, type, stuck)
SELECT pg_temp.id(3), twtasks.clock() + interval '1 h', twtasks.clock() - interval '4 min 30 s', twtasks.clock() - interval '1 h', twtasks.clock(), 'PROCESSING', true, 'B', 'ignore';
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.incidents WHERE state = 'open'), 0::bigint, 'a deadline that passed lately is no incident');
UPDATE twtasks.task SET deadline = deadline - interval '40 s';
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', key, severity, count, detail ~ 'its deadline passed without a result'), ', ') FROM twtasks.incidents WHERE state = 'open'),
	'stuck/B page 1 t', 'a deadline that passed 5 minutes ago is one');
DELETE FROM twtasks.task;
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
VALUES ('silent/', 'silent', '', 'page', twtasks.clock(), twtasks.clock(), 1, 'Nobody counts.');
SELECT is(pg_temp.judge('4 min'), 'stuck/B page 1', 'it lasts for 5 minutes, and whoever counts ends the silence');
SELECT is(pg_temp.judge('2 min'), NULL, 'then it ends');

-- unknown: a task was lost, and nobody has decided.
SELECT pg_temp.put(4, 'PROCESSING', 'U'), pg_temp.put(5, 'PROCESSING', 'U'), pg_temp.put(6, 'PROCESSING', 'R') \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'tasks that run have no unknown outcome');
UPDATE twtasks.task SET deadline = created, stuck = CASE type WHEN 'R' THEN 'retry' ELSE 'error' END::twtasks.stuck_rule;
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT is(substring(pg_temp.judge('0') FROM 'unknown/.*'), 'unknown/U page 2', 'tasks that were lost are an incident at once, those that run again are not');
SELECT is((SELECT format('%s / %s / %s', summary, detail ~ '^the first one was lost at 2', hint) FROM twtasks.incidents WHERE kind = 'unknown'),
	'2 tasks of type "U" have an unknown outcome / t / SELECT * FROM twtasks.unknown_outcomes WHERE type = ''U'' shows them, with what to type', 'it leads to them');
SELECT twtasks.fail_task(pg_temp.id(4), 1, 'it is paid') \g /dev/null
SELECT is(substring(pg_temp.judge() FROM 'unknown/.*'), 'unknown/U page 1', 'it stays while one is undecided');
SELECT twtasks.resume_task(pg_temp.id(5), 1, 'not paid') \g /dev/null
SELECT is(coalesce(pg_temp.judge(), 'none') !~ 'unknown', true, 'it ends when all are decided');
DELETE FROM twtasks.task;
UPDATE twtasks.incident SET resolved = clock_timestamp() WHERE resolved IS NULL;

-- missed: an occurrence of a schedule was left out.  The next one is months away, whatever time of day it is.
SELECT twtasks.schedule('nightly', format('0 3 1 %s *', extract(month FROM now() + interval '6 months')), 'A') \g /dev/null
UPDATE twtasks.schedule SET last_missed = twtasks.clock() - interval '1 s';
SELECT is(pg_temp.judge(), 'missed/nightly ticket 1', 'an occurrence that was left out is an incident');
SELECT is(pg_temp.judge('30 min'), 'missed/nightly ticket 1', 'it stays for an hour');
SELECT is(coalesce(pg_temp.judge('31 min'), 'none') || ' ' || coalesce(pg_temp.judge('3 min'), 'none'), 'none none', 'then it ends, and does not open again');
DELETE FROM twtasks.schedule;

-- partitions: the history lacks days ahead.
CREATE FUNCTION pg_temp.drop_days(past date) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
	day text;
BEGIN
	FOR day IN SELECT p.name FROM twtasks_internal.history_parts() p WHERE p.past > drop_days.past LOOP
		EXECUTE format('DROP TABLE twtasks.%I', day);
	END LOOP;
END $$;
SELECT pg_temp.drop_days((now() AT TIME ZONE 'UTC')::date + 2) \g /dev/null
SELECT is(pg_temp.judge(), NULL, 'partitions of today and tomorrow suffice');
SELECT pg_temp.drop_days((now() AT TIME ZONE 'UTC')::date + 1) \g /dev/null
SELECT is(pg_temp.judge(), 'partitions/ ticket 1', 'without tomorrow''s partition it is time');
SELECT twtasks_internal.make_partitions() \g /dev/null
SELECT is(pg_temp.judge('3 min'), NULL, 'partitions end it');

-- dropped: triggers found their queue full.
SELECT twtasks.advance_clock('1 min'), twtasks_internal.monitor_tasks() \g /dev/null
UPDATE twtasks.monitor_look SET dropped = 7;
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', key, severity, count), ', ') FROM twtasks.incidents WHERE state = 'open'), 'dropped/ ticket 7', 'triggers without room are an incident');
SELECT is(pg_temp.judge('3 min'), NULL, 'without more of them it ends');
-- A server that crashed counts from 0 again.
UPDATE twtasks.monitor_look SET dropped = 2, dropped_since = twtasks.clock();
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', key, severity, count), ', ') FROM twtasks.incidents WHERE state = 'open'), 'dropped/ ticket 2', 'after a crash of the server the first one is an incident');
UPDATE twtasks.monitor_look SET dropped = 3;
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT is((SELECT dropped_since = at FROM twtasks.monitor_look), true, 'a sum below the one before shows a crash');
SELECT pg_temp.judge('3 min') \g /dev/null

-- error, if more tasks are counted than are seen: it stays open.
SELECT pg_temp.put(1, 'ERROR', 'C') \g /dev/null
UPDATE twtasks.task SET next_event_time = 'infinity';
SELECT is(pg_temp.judge(), 'error/C ticket 1', 'a task in ERROR is an incident');
SELECT is((SELECT summary FROM twtasks.incidents WHERE key = 'error/C'), '1 task of type "C" is in ERROR', '... in the singular');
SELECT is((SELECT string_agg(DISTINCT i.summary, '; ') FROM twtasks.incident i WHERE concat_ws(' ', i.summary, i.detail) ~ '\m1 [a-z]+s\M'), NULL, '... as any incident of one thing');
SELECT twtasks.advance_clock('1 min'), twtasks_internal.monitor_tasks() \g /dev/null
UPDATE twtasks.monitor_type SET type = 'D', capped = true;
SELECT twtasks_internal.judge_incidents() \g /dev/null
SELECT is((SELECT string_agg(key, ', ' ORDER BY key) FROM twtasks.incidents WHERE state = 'open'), 'error/C, error/D', 'a count that was cut off ends no incident');

-- A kind has a bound.
SELECT twtasks_internal.note_incidents((SELECT jsonb_agg(jsonb_build_object('key', 'old/' || n, 'kind', 'old', 'object', n::text, 'count', n, 'summary', 'x')) FROM generate_series(1, 201) n), '{old}', twtasks.clock()) \g /dev/null
SELECT is((SELECT concat_ws(' ', count(*), min(count)) FROM twtasks.incident WHERE kind = 'old' AND resolved IS NULL), '200 2', 'a kind has at most 200, with the highest counts');

-- The search has the same one, and names all that is open.
INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, oldest, retrying)
SELECT twtasks.clock(), 'b', 'T' || n, 'ERROR', n, false, twtasks.clock(), 0 FROM generate_series(1, 300) n;
SELECT is((SELECT concat_ws(' ', count(*), min(count)) FROM twtasks_internal.find_incidents(twtasks.clock()) WHERE kind = 'error' AND object ^@ 'T'), '200 101',
	'of a kind 200 are found, with the highest counts');
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary, is_damped)
VALUES ('error/T1', 'error', 'T1', 'ticket', twtasks.clock(), twtasks.clock(), 1, 'x', false);
SELECT is((SELECT count(*) FROM twtasks_internal.find_incidents(twtasks.clock()) WHERE key = 'error/T1'), 1::bigint, '... and one that is open is, with any count');

SELECT * FROM finish();
ROLLBACK;
