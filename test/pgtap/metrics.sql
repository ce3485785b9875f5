--
-- The figures for a monitoring system: each metric, its labels and its bound.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.monitor_look, twtasks.schedule, twtasks.message_offset, twtasks.refused_node, twtasks.monitor_type, twtasks.incident;
DELETE FROM twtasks.type_policy;
DELETE FROM twtasks.limit_rule;
DELETE FROM twtasks.pause;
SELECT plan(44);

-- The value of a metric; its labels may be left out where it has one row.
CREATE FUNCTION pg_temp.metric(name text, labels jsonb DEFAULT NULL) RETURNS double precision
LANGUAGE sql
AS $$
	SELECT m.value FROM twtasks.metrics() m
	WHERE m.name = 'twtasks_' || metric.name AND m.labels = coalesce(metric.labels, '{}')
$$;
CREATE FUNCTION pg_temp.rows_of(name text) RETURNS bigint
LANGUAGE sql
AS $$ SELECT count(*) FROM twtasks.metrics() m WHERE m.name = 'twtasks_' || rows_of.name $$;

-- Before the first count.
SELECT is(pg_temp.rows_of('incidents'), 0::bigint, 'no incident is open');
SELECT is(pg_temp.rows_of('tasks'), 0::bigint, 'no task is there');
SELECT is(pg_temp.rows_of('monitor_timestamp_seconds'), 0::bigint, 'nobody has counted: there is no time of a count');
SELECT is(pg_temp.metric('nodes'), 0::double precision, 'no node lives');

-- Tasks in each status.
SELECT pg_temp.task_in(s, pg_temp.id(n::integer)) AS made FROM unnest(enum_range(NULL::twtasks.task_status)) WITH ORDINALITY x(s, n) \g /dev/null
UPDATE twtasks.task SET state_time = twtasks.clock() - interval '1 hour' WHERE status = 'SUBMITTED';
SELECT type AS tested FROM twtasks.task LIMIT 1 \gset
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT set_eq($$ SELECT m.labels ->> 'status', m.value FROM twtasks.metrics() m WHERE m.name = 'twtasks_tasks' $$,
	$$ SELECT t.status::text, 1::double precision FROM twtasks.task t $$, 'tasks: one of each live status');
SELECT is((SELECT m.labels - 'type' FROM twtasks.metrics() m WHERE m.name = 'twtasks_tasks' AND m.labels ->> 'status' = 'SUBMITTED'),
	'{"bucket": "default", "status": "SUBMITTED", "capped": false}', 'tasks: the labels');
SELECT ok(pg_temp.metric('oldest_runnable_seconds', jsonb_build_object('bucket', 'default', 'type', :'tested')) BETWEEN 3600 AND 3900,
	'oldest_runnable_seconds: since when the oldest SUBMITTED task waits');
SELECT is(pg_temp.rows_of('oldest_runnable_seconds'), 1::bigint, 'oldest_runnable_seconds: a row only where a task can run');
SELECT is(pg_temp.metric('queue_time_seconds', jsonb_build_object('bucket', 'default', 'type', :'tested')), 1800::double precision,
	'queue_time_seconds: half an hour by default');
SELECT twtasks.configure_type(:'tested', queue_time => '5 min') \g /dev/null
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT is(pg_temp.metric('queue_time_seconds', jsonb_build_object('bucket', 'default', 'type', :'tested')), 300::double precision,
	'queue_time_seconds: of the policy');
SELECT ok(abs(pg_temp.metric('monitor_timestamp_seconds') - extract(epoch FROM twtasks.clock())) < 300, 'monitor_timestamp_seconds: the time of the count');
SELECT is(pg_temp.metric('stuck_tasks'), 0::double precision, 'stuck_tasks: none');
UPDATE twtasks.task SET deadline = twtasks.clock() - interval '1 hour' WHERE status = 'PROCESSING';
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT is(pg_temp.metric('stuck_tasks'), 1::double precision, 'stuck_tasks: one');
UPDATE twtasks.task SET tries = 1 WHERE status = 'SUBMITTED';
SELECT is(pg_temp.rows_of('retrying_tasks'), 0::bigint, 'retrying_tasks: no row where none is');
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT is(pg_temp.metric('retrying_tasks', jsonb_build_object('bucket', 'default', 'type', :'tested')), 1::double precision, 'retrying_tasks: one');
SELECT is(pg_temp.metric('nodes'), 1::double precision, 'nodes: the living one');
SELECT ok(pg_temp.metric('finished_rows') >= 0, 'finished_rows: the estimate of the count');

-- Incidents.
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, resolved, count, summary)
SELECT 'error/' || n, 'error', n::text, 'page', now(), now(), CASE n WHEN 1 THEN now() END, 1, 'test' FROM generate_series(1, 3) n;
SELECT is(pg_temp.metric('incidents', '{"kind": "error", "severity": "page"}'), 2::double precision, 'incidents: the open ones, by kind and severity');

-- Warnings.
SELECT is(pg_temp.metric('warnings', '{"kind": "paused"}'), NULL, 'warnings: no row where there is none');
SELECT twtasks.pause_type('A', 'test'), twtasks.pause_bucket('a', 'test') \g /dev/null
SELECT is(pg_temp.metric('warnings', '{"kind": "paused"}'), 2::double precision, 'warnings: counted by kind');

-- The queues in shared memory, or none.
SELECT is(pg_temp.rows_of('queue_waiting'), (SELECT count(*) FROM twtasks.queue_stats()), 'queue_waiting: a row for each queue');
SELECT is((SELECT sum(m.value) FROM twtasks.metrics() m WHERE m.name = 'twtasks_queue_dropped_total'),
	(SELECT sum(q.dropped)::double precision FROM twtasks.queue_stats() q), 'queue_dropped_total: of queue_stats()');
SELECT is(pg_temp.rows_of('queue_pushed_total'), (SELECT count(*) FROM twtasks.queue_stats()), 'queue_pushed_total: a row for each queue');

-- Limits.
SELECT twtasks.configure_limit('PAY|A', 5, scope => 'cluster'), twtasks.configure_limit('PAY|A', 2, scope => 'node'), twtasks.configure_limit('RATED', rate => 5, per => '1 s') \g /dev/null
SELECT is(pg_temp.metric('limit_slots', '{"limit": "PAY|A", "scope": "cluster"}'), 5::double precision, 'limit_slots: of the cluster');
SELECT is(pg_temp.metric('limit_used', '{"limit": "PAY|A", "scope": "cluster"}'), 0::double precision, 'limit_used: of the cluster');
SELECT is(pg_temp.metric('limit_slots', '{"limit": "PAY|A", "scope": "node"}'), 2::double precision, 'limit_slots: of a node');
SELECT is(pg_temp.rows_of('limit_used'), 1::bigint, 'limit_used: not where the database does not know it');
SELECT is(pg_temp.rows_of('limit_slots'), 2::bigint, 'limit_slots: not for a limit that has only a rate');

-- Schedules.
SELECT twtasks.schedule('nightly "x"', '30 2 * * *', 'A') \g /dev/null
SELECT is(pg_temp.metric('schedule_next_seconds', '{"schedule": "nightly \"x\""}'),
	(SELECT extract(epoch FROM next_run)::double precision FROM twtasks.schedules), 'schedule_next_seconds: the next run');
SELECT is(pg_temp.metric('schedule_missed_timestamp_seconds', '{"schedule": "nightly \"x\""}'), 0::double precision, 'schedule_missed_timestamp_seconds: none was');
UPDATE twtasks.schedule SET last_missed = to_timestamp(1000);
SELECT is(pg_temp.metric('schedule_missed_timestamp_seconds', '{"schedule": "nightly \"x\""}'), 1000::double precision, 'schedule_missed_timestamp_seconds: the last one');

-- Listeners.
INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved)
VALUES ('l', 't', 3, 77, current_user, to_timestamp(2000));
SELECT is(pg_temp.metric('listener_offset', '{"listener": "l", "topic": "t", "partition": 3}'), 77::double precision, 'listener_offset');
SELECT is(pg_temp.metric('listener_moved_timestamp_seconds', '{"listener": "l", "topic": "t", "partition": 3}'), 2000::double precision, 'listener_moved_timestamp_seconds');
SELECT is(pg_temp.metric('listener_stands', '{"listener": "l", "topic": "t", "partition": 3}'), 0::double precision, 'listener_stands: it does not');
UPDATE twtasks.message_offset SET problem = 'gap';
SELECT is(pg_temp.metric('listener_stands', '{"listener": "l", "topic": "t", "partition": 3}'), 1::double precision, 'listener_stands: it does');

-- The history and what VACUUM meets.
SELECT ok(pg_temp.metric('history_span_seconds') >= 86400 AND pg_temp.metric('history_ahead_seconds') >= 0, 'history_span_seconds, history_ahead_seconds: the days of its partitions');
SELECT is(pg_temp.metric('history_kept_seconds'), extract(epoch FROM twtasks_internal.keep_finished())::double precision, 'history_kept_seconds: the setting');
SELECT ok(pg_temp.metric('live_dead_tuples') >= 0, 'live_dead_tuples');
SELECT ok(pg_temp.metric('oldest_xmin') >= 0 AND pg_temp.metric('oldest_xmin_age') >= 0, 'oldest_xmin, oldest_xmin_age');

-- The whole.
SELECT is((SELECT count(*) FROM (SELECT FROM twtasks.metrics() m GROUP BY m.name, m.labels HAVING count(*) > 1) d), 0::bigint, 'no metric has the same labels twice');
SELECT is((SELECT string_agg(k.name, ',') FROM twtasks_internal.known_metrics() k
		   WHERE pg_temp.rows_of(k.name) = 0 AND k.name NOT LIKE 'queue%'), NULL, 'each known metric had a row here');
SELECT ok(position(concat(chr(10), '# TYPE twtasks_schedule_next_seconds gauge', chr(10),
	'twtasks_schedule_next_seconds{schedule="nightly ', chr(92), '"x', chr(92), '""} ') IN twtasks.metrics_text()) > 0, 'the text has types, and escapes labels');

-- Ten thousand types.
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type)
SELECT pg_temp.id(10000 + n), now() + interval '1 hour', now(), now(), 'SUBMITTED', true, 'BUSY' || n % 5000 FROM generate_series(1, 10000) n;
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT cmp_ok((SELECT count(DISTINCT m.labels ->> 'type') FROM twtasks.metrics() m WHERE m.name = 'twtasks_tasks'), '=', 201::bigint, '200 types and the others');
SELECT is((SELECT sum(m.value) FROM twtasks.metrics() m WHERE m.name = 'twtasks_tasks' AND m.labels ->> 'status' = 'SUBMITTED'), 10001::double precision, 'the others are counted too');

SELECT * FROM finish();
ROLLBACK;
