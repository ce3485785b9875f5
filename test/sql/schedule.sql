--
-- Schedules: what is stored, refused and written to the audit; which
-- occurrences are added, and that none is added twice.
--
\getenv directory PG_ABS_SRCDIR
\set ECHO none
\i :directory/lib/tasks.sql
\set ECHO all
SET timezone = 'UTC';
SET twtasks.function_timeout = '1min';
SET datestyle = 'ISO, YMD';
\pset tuples_only on
\pset format unaligned

-- Tries what must fail; what the user is told.
CREATE FUNCTION pg_temp.refused(arguments text) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT twtasks.schedule(' || arguments || ')';
	RETURN NEXT 'not refused: ' || arguments;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT SQLSTATE || ': ' || SQLERRM;
	RETURN QUERY SELECT '       DETAIL: ' || detail WHERE detail <> '';
	RETURN QUERY SELECT '       HINT: ' || hint WHERE hint <> '';
END $$;

-- Runs a schedule whose next occurrence is the one, as if it were then; what
-- was added.
CREATE FUNCTION pg_temp.run(schedule text, next_run timestamptz, at timestamptz) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	s twtasks.schedule;
BEGIN
	UPDATE twtasks.schedule x SET next_run = run.next_run, look_at = run.next_run, last_missed = NULL
	WHERE x.name = run.schedule RETURNING * INTO s;
	RETURN NEXT 'added ' || (SELECT added FROM twtasks_internal.run_schedule(s, at, 'infinity'));
	RETURN NEXT (SELECT format('next %s, left out: %s', coalesce(x.next_run, 'infinity'), coalesce('up to ' || x.last_missed, 'none'))
				 FROM twtasks.schedule x WHERE x.name = run.schedule);
END $$;

-- The occurrences of all tasks, in order.
CREATE FUNCTION pg_temp.added() RETURNS SETOF text
LANGUAGE sql
AS $$ SELECT context ->> 'scheduled_for' FROM twtasks.task ORDER BY 1 $$;

SELECT twtasks.configure_bucket('other') IS NULL;

-- Made, changed, not changed.
SELECT result, next_run = twtasks.cron_next('*/5 * * * *') FROM twtasks.schedule('five', '*/5 * * * *', 'A', '{"n": 1}');
SELECT result FROM twtasks.schedule('five', '*/5 * * * *', 'A', '{"n": 1}');
SELECT result FROM twtasks.schedule('five', '*/5 * * * *', 'A', '{"n": 2}', reason => 'other data');
SELECT result, next_run = twtasks.cron_next('30 2 * * *', now(), 'Europe/Berlin')
FROM twtasks.schedule('five', '30 2 * * *', 'B|x', NULL, 'Europe/Berlin', 'all', 7, 'sub', 0, 'other', '1 hour', '{"c": 1}', 'p', 'all of it');
SELECT name, cron, time_zone, missed, missed_limit, type, sub_type, bucket, priority, expires_after, is_paused, problem, last_run, last_status
FROM twtasks.schedules;
-- A task was added to see whether add_task() takes it; it is not there.
SELECT count(*) FROM twtasks.tasks;

-- As long as expression and zone stay, the next occurrence stays: also one
-- that is overdue.
UPDATE twtasks.schedule SET next_run = '2024-01-01', look_at = '2024-01-01';
SELECT * FROM twtasks.schedule('five', '30 2 * * *', 'B', time_zone => 'Europe/Berlin');
SELECT result, next_run > now() FROM twtasks.schedule('five', '30 2 * * *', 'B', time_zone => 'Europe/London');

-- Paused, resumed, run now, removed.
SELECT twtasks.pause_schedule('five', 'a holiday'), twtasks.pause_schedule('five'), twtasks.pause_schedule('none');
SELECT is_paused, next_run FROM twtasks.schedules;
SELECT * FROM twtasks.schedule('five', '31 2 * * *', 'B');
SELECT is_paused, look_at FROM twtasks.schedules JOIN twtasks.schedule USING (name, is_paused);
SELECT added, next_ms FROM twtasks_internal.run_schedules();
SELECT result, version, task_id IS NOT NULL FROM twtasks.run_schedule_now('five', 'test');
SELECT * FROM twtasks.run_schedule_now('none');
SELECT twtasks.resume_schedule('five', 'back'), twtasks.resume_schedule('five'), twtasks.resume_schedule('none');
SELECT is_paused, next_run = twtasks.cron_next('31 2 * * *'), last_status, last_run > now() - interval '1 minute' FROM twtasks.schedules;
SELECT pg_temp.finish(id, 'done', message => 'well') FROM (SELECT id, pg_temp.grab(id) FROM twtasks.tasks OFFSET 0) t;
SELECT last_status, last_error FROM twtasks.schedules;
SELECT twtasks.unschedule('five', 'no longer'), twtasks.unschedule('five');
SELECT count(*) FROM twtasks.tasks;
SELECT id - min(id) OVER () AS n, actor = session_user AS me, action, name, reason,
	(SELECT string_agg(key || ' ' || coalesce(before ->> key, '-') || '>' || coalesce(after ->> key, '-'), ', ' ORDER BY key) FROM jsonb_object_keys(before) key
	 WHERE key <> 'carries' AND before -> key <> after -> key) AS changed,
	before ->> 'carries' <> after ->> 'carries' AS carries_other
FROM twtasks.schedule_audit ORDER BY id;
-- It holds no payloads.
SELECT count(*) FROM twtasks.schedule_audit WHERE before ? 'data' OR after ?| '{data,payload,context}';

-- On time: one task, whose context says for when.
SELECT result FROM twtasks.schedule('daily', '0 6 * * *', 'D', '{"n": 1}', 'Europe/Berlin', sub_type => 's', priority => 2, expires_after => '2 hours', context => '{"a": "b"}');
TRUNCATE twtasks.task, twtasks.schedule_run, twtasks.schedule_audit, twtasks.finished_task;
SELECT pg_temp.run('daily', '2024-05-06 04:00', '2024-05-06 04:00:00.003');
SELECT type, sub_type, priority, status, expires, data, context, key FROM twtasks.task;
SELECT name, occurrence, added > now() - interval '1 minute', task_id = (SELECT id FROM twtasks.task), status FROM twtasks.schedule_runs;
SELECT last_run, last_status FROM twtasks.schedules;
-- Again, as if nobody had moved it on: it is known.
SELECT pg_temp.run('daily', '2024-05-06 04:00', '2024-05-06 04:00:30');
-- Before its time nothing is added.
SELECT pg_temp.run('daily', '2024-05-07 04:00', '2024-05-07 03:59:59.999');

-- Missed: once.  The last is added, however late; the others are left out.
TRUNCATE twtasks.task, twtasks.schedule_run;
SELECT pg_temp.run('daily', '2024-05-06 04:00', '2024-05-06 09:00');
SELECT pg_temp.run('daily', '2024-06-06 04:00', '2024-06-09 09:00');
SELECT pg_temp.added();
-- Missed: skip.  An occurrence at most a minute late is not missed.
SELECT result FROM twtasks.schedule('daily', '0 6 * * *', 'D', time_zone => 'Europe/Berlin', missed => 'skip');
TRUNCATE twtasks.task, twtasks.schedule_run;
SELECT pg_temp.run('daily', '2024-05-06 04:00', '2024-05-06 04:01:00');
SELECT pg_temp.run('daily', '2024-06-06 04:00', '2024-06-06 04:01:00.001');
SELECT pg_temp.run('daily', '2024-07-06 04:00', '2024-07-08 04:00:30');
SELECT pg_temp.added();
-- all, up to a limit: the last ones.
SELECT result FROM twtasks.schedule('daily', '0 6 * * *', 'D', time_zone => 'Europe/Berlin', missed => 'all', missed_limit => 3);
TRUNCATE twtasks.task, twtasks.schedule_run;
SELECT pg_temp.run('daily', '2024-05-06 04:00', '2024-05-07 09:00');
SELECT pg_temp.run('daily', '2024-06-06 04:00', '2024-06-09 04:00');
SELECT pg_temp.run('daily', '2024-07-06 04:00', '2024-07-08 04:00');
SELECT pg_temp.added();
-- Where a clock is put back or forward, each day has one.
SELECT result FROM twtasks.schedule('daily', '30 2 * * *', 'D', time_zone => 'Europe/Berlin', missed => 'all');
TRUNCATE twtasks.task, twtasks.schedule_run;
SELECT pg_temp.run('daily', '2024-03-30 01:30', '2024-04-01 12:00');
SELECT pg_temp.run('daily', '2024-10-26 00:30', '2024-10-28 12:00');
SELECT pg_temp.added();
-- The clock was put back: what has been added is not added again.
SELECT pg_temp.run('daily', '2024-10-26 00:30', '2024-10-27 12:00');
-- Nor by a schedule that was made anew.
SELECT twtasks.unschedule('daily');
SELECT result FROM twtasks.schedule('daily', '30 2 * * *', 'D', time_zone => 'Europe/Berlin', missed => 'all');
SELECT pg_temp.run('daily', '2024-10-26 00:30', '2024-10-29 12:00');
-- The last day of all.
SELECT pg_temp.run('daily', '294276-12-31 01:30', '294276-12-31 23:59');
SELECT look_at FROM twtasks.schedule;
SELECT twtasks.unschedule('daily');

-- The policy of the type fills in what a schedule leaves open.
SELECT twtasks.configure_type('P|*', bucket => 'other', priority => 3, expires_after => '3 hours') IS NULL;
SELECT result FROM twtasks.schedule('policy', '0 6 * * *', 'P|1');
TRUNCATE twtasks.task;
SELECT pg_temp.run('policy', '2024-05-06 06:00', '2024-05-06 06:00');
SELECT bucket, priority, round(extract(epoch FROM expires - created)) FROM twtasks.task;
SELECT twtasks.unschedule('policy'), twtasks.drop_type_policy('P|*');

-- run_schedules(): all that are due, the others not; when to ask again.
TRUNCATE twtasks.task, twtasks.schedule_run;
SELECT count(twtasks.schedule('s' || n, '@yearly', 'S')) FROM generate_series(1, 5) n;
SELECT count(twtasks.schedule('t' || n, '@yearly', 'T')) FROM generate_series(1, 5) n;
UPDATE twtasks.schedule SET next_run = date_trunc('year', now()), look_at = '2024-01-01' WHERE type = 'S';
SELECT added, missed, failed, next_ms FROM twtasks_internal.run_schedules(2);
SELECT added, missed, failed, next_ms > 0 FROM twtasks_internal.run_schedules();
SELECT added, missed, failed, next_ms > 0 FROM twtasks_internal.run_schedules();
SELECT type, count(*), count(DISTINCT context) FROM twtasks.task GROUP BY type;
SELECT count(*) FROM twtasks.schedule_run;
-- Not more than some thousand in one call.
SELECT count(twtasks.schedule('u' || n, '@hourly', 'U', missed => 'all', missed_limit => 600)) FROM generate_series(1, 3) n;
UPDATE twtasks.schedule SET next_run = now() - interval '40 days', look_at = '2024-01-01' WHERE type = 'U';
SELECT added, missed, next_ms FROM twtasks_internal.run_schedules();
SELECT added, missed, next_ms > 0 FROM twtasks_internal.run_schedules();
DELETE FROM twtasks.schedule WHERE type = 'U';
-- Off: nothing is added, and it is missed.
TRUNCATE twtasks.task, twtasks.schedule_run;
UPDATE twtasks.schedule SET next_run = '2024-01-01', look_at = '2024-01-01' WHERE type = 'S';
ALTER SYSTEM SET twtasks.enabled = off;
SELECT pg_reload_conf();
\c
SELECT * FROM twtasks_internal.run_schedules();
ALTER SYSTEM RESET twtasks.enabled;
SELECT pg_reload_conf();
\c
SET timezone = 'UTC';
SET twtasks.function_timeout = '1min';
SELECT added, missed FROM twtasks_internal.run_schedules();

-- Added occurrences are remembered as long as finished tasks are kept.
UPDATE twtasks.schedule_run SET added = added - twtasks_internal.keep_finished() + interval '1 hour' WHERE name <> 's1';
UPDATE twtasks.schedule_run SET added = added - interval '1 hour' WHERE name > 's3';
SELECT added FROM twtasks_internal.run_schedules();
SELECT name FROM twtasks.schedule_run ORDER BY name;

-- A schedule that cannot run holds up no other, and runs when it can.
TRUNCATE twtasks.task, twtasks.schedule_run;
UPDATE twtasks.schedule SET next_run = date_trunc('year', now()), look_at = '2024-01-01' WHERE type = 'S';
UPDATE twtasks.schedule SET time_zone = 'Moon/Tycho' WHERE name = 's1';
UPDATE twtasks.schedule SET type = 'a b' WHERE name = 's2';
SELECT added, missed, failed, next_ms BETWEEN 1 AND 30000 FROM twtasks_internal.run_schedules();
SELECT name, problem FROM twtasks.schedules WHERE problem IS NOT NULL ORDER BY name;
SELECT added, failed FROM twtasks_internal.run_schedules();
-- Tried again, it is no news.
UPDATE twtasks.schedule SET look_at = '2024-01-01' WHERE problem IS NOT NULL;
SELECT added, failed FROM twtasks_internal.run_schedules();
-- Mended, it is tried at once.
SELECT result, next_run < now() FROM twtasks.schedule('s2', '@yearly', 'S');
SELECT added, failed FROM twtasks_internal.run_schedules();
SELECT name, problem FROM twtasks.schedules WHERE problem IS NOT NULL ORDER BY name;

-- Refused.
SELECT count(*) AS before FROM twtasks.schedule \gset
\set ECHO none
CREATE FUNCTION pg_temp.refused(arguments text) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT twtasks.schedule(' || arguments || ')';
	RETURN NEXT 'not refused: ' || arguments;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT SQLSTATE || ': ' || SQLERRM;
	RETURN QUERY SELECT '       DETAIL: ' || detail WHERE detail <> '';
	RETURN QUERY SELECT '       HINT: ' || hint WHERE hint <> '';
END $$;
\set ECHO all
SELECT pg_temp.refused('NULL, ''* * * * *'', ''A''');
SELECT pg_temp.refused('''n'', NULL, ''A''');
SELECT pg_temp.refused('''n'', ''* * * * *'', NULL');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', time_zone => NULL');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', missed => NULL');
SELECT pg_temp.refused(''''', ''* * * * *'', ''A''');
SELECT pg_temp.refused(''' n'', ''* * * * *'', ''A''');
SELECT pg_temp.refused('E''a\nb'', ''* * * * *'', ''A''');
SELECT pg_temp.refused('repeat(''n'', 201), ''* * * * *'', ''A''');
SELECT pg_temp.refused('''n'', ''* * 12 * 8'', ''A''');
SELECT pg_temp.refused('''n'', ''0 0 30 2 *'', ''A''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', time_zone => ''Europe/Atlantis''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A B''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', bucket => ''b/c''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', priority => 10');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', missed => E''some\x1btimes''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', missed_limit => 0');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', missed_limit => 1001');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', expires_after => ''-1 s''');
SELECT pg_temp.refused('''n'', ''* * * * *'', ''A'', context => ''[1]''');
SELECT pg_temp.refused('''s1'', ''* * * * *'', ''A B''');
SELECT result FROM twtasks.schedule(repeat(U&'\00E4', 200), '@yearly', 'A');
UPDATE twtasks.schedule SET next_run = '2024-01-01', look_at = '2024-01-01' WHERE name ~ U&'\00E4';
SELECT added, failed FROM twtasks_internal.run_schedules();
SELECT count(*) - :before FROM twtasks.schedule;
DELETE FROM twtasks.schedule;
DELETE FROM twtasks.bucket_policy;
TRUNCATE twtasks.task, twtasks.schedule_run, twtasks.schedule_audit, twtasks.finished_task;
