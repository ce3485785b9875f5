--
-- large.sql -- fills a database with what years of use leave behind, straight into
-- the tables: some minutes in place of an hour.  For measurements of views alone.
-- Needs the variables waiting, finished, types and errors.
--
-- A tenth of the types has a prefix of its own, PAY|n; the last ones nobody handles.
--
\set QUIET on
\set ON_ERROR_STOP on
SET synchronous_commit = off;
SET timezone = 'UTC';

-- An id in the order of time, as new tasks have.
CREATE FUNCTION pg_temp.id(at timestamptz, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$
	SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8'
			|| lpad(to_hex(n), 15, '0'))::uuid
$$;
SELECT format($f$CREATE FUNCTION pg_temp.type(n bigint) RETURNS text LANGUAGE sql IMMUTABLE
	AS $$ SELECT CASE WHEN n %% %1$s %% 10 = 0 THEN 'PAY|' ELSE 'MAIL.' END || n %% %1$s $$ $f$, :types) \gexec
CREATE FUNCTION pg_temp.bucket(n bigint) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$ SELECT (ARRAY['default', 'default', 'slow', 'night'])[n % 4 + 1] $$;

SELECT twtasks.configure_bucket('slow', concurrency => 100), twtasks.configure_bucket('night') \g /dev/null
SELECT twtasks.configure_type('*', queue_time => '10 min') \g /dev/null
SELECT twtasks.configure_type('PAY|' || n * 10, priority => 4) FROM generate_series(1, 200) n \g /dev/null
SELECT twtasks.configure_limit('PAY|' || n * 10, 5 + n % 7) FROM generate_series(1, 150) n \g /dev/null
SELECT twtasks.configure_limit('PAY', 50, scope => 'cluster'), twtasks.configure_limit('MAIL.17', rate => 100, per => '1 min', scope => 'cluster') \g /dev/null
SELECT twtasks.pause_type('MAIL.' || n, 'bench') FROM generate_series(21, 29) n \g /dev/null
SELECT twtasks.schedule('nightly ' || n, '0 3 * * *', 'MAIL.1') FROM generate_series(1, 200) n \g /dev/null

-- Each node handles a hundred types by their names and a thousand by their beginning, one all of PAY.
INSERT INTO twtasks.node (name, started, heartbeat, lease, buckets, types, leads, next_tick)
SELECT 'n' || m, now() - interval '3 days', now(), '1 day', '{default,slow,night}',
	ARRAY(SELECT pg_temp.type(n) FROM generate_series(1, :types) n WHERE n % 100 = m) || ARRAY['MAIL.' || m || '*', CASE m WHEN 1 THEN 'PAY*' ELSE 'OTHER*' END],
	m = 1, now() + interval '1 day'
FROM generate_series(1, 6) m;
INSERT INTO twtasks.node (name, started, heartbeat, lease, buckets, types, ended)
SELECT 'n' || n, now() - interval '9 days', now() - interval '8 days', '30 s', '{default}', '{*}', now() - interval '8 days'
FROM generate_series(1, 50) n;

-- Live tasks: those that wait, one of ten types with retries; the queue; what runs.
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, tries, queued, type, bucket, key, error, data, added_by)
SELECT pg_temp.id(c.at, n), n % 3, now() + interval '1 day' + n * interval '1 ms', c.at, c.at, 'WAITING', CASE WHEN n % 10 = 0 THEN 1 ELSE 0 END,
	false, pg_temp.type(n), pg_temp.bucket(n / :types), CASE WHEN n % 10 = 1 THEN 'order ' || n END,
	CASE WHEN n % 10 = 0 THEN 'timeout after ' || n % 60 || ' s' END, jsonb_build_object('account', n % 5000, 'order', n), 'app'
FROM generate_series(1, :waiting) n CROSS JOIN LATERAL (SELECT now() - interval '5 days' + n * interval '0.1 s') c(at);
INSERT INTO twtasks.task (id, next_event_time, state_time, created, status, queued, type, bucket, priority, data, added_by)
SELECT pg_temp.id(c.at, n), c.at + interval '10 min', c.at, c.at, 'SUBMITTED', true, pg_temp.type(n), pg_temp.bucket(n / :types),
	CASE WHEN n % 50 = 0 THEN 2 ELSE 5 END, jsonb_build_object('account', n % 5000), 'app'
FROM generate_series(1, :waiting / 5) n CROSS JOIN LATERAL (SELECT now() - interval '2 h' + n * interval '10 ms') c(at);
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, tries, queued, type, bucket, deadline, incarnation, data, added_by)
SELECT pg_temp.id(c.at, n), 1, now() + interval '1 h', c.at, c.at, 'PROCESSING', 1, true, pg_temp.type(n * 7), pg_temp.bucket(n), now() + interval '1 h',
	(SELECT min(k.incarnation) FROM twtasks.node k) + n % 6, '{}', 'app'
FROM generate_series(1, 2000) n CROSS JOIN LATERAL (SELECT now() - interval '5 min' + n * interval '1 ms') c(at);
-- Tasks in ERROR, of which each has another error, as gateways write them; then HELD ones.
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, tries, queued, type, error, data, added_by)
SELECT pg_temp.id(c.at, n), 2, 'infinity', c.at, c.at, 'ERROR', 1, false, pg_temp.type(n % 300),
	format((ARRAY['POST https://bank.example/v2/pay/%1$s: 503 after %2$s ms, request %3$s',
				  'duplicate key value violates unique constraint "pay_pkey": Key (id)=(%1$s) already exists',
				  'connect to 10.0.%2$s.7:5432 refused at 2026-11-26 10:11:12.%1$s+00',
				  'account ''acc-%1$s'' of anne.%2$s@mail.example.org is locked, trace 0x%4$s'])[n % 4 + 1],
		   n, n % 251, md5(n::text)::uuid, md5(n::text)), '{}', 'app'
FROM generate_series(1, :errors) n CROSS JOIN LATERAL (SELECT now() - interval '1 day' + n * interval '1 s') c(at);
INSERT INTO twtasks.task (id, version, next_event_time, state_time, created, status, queued, type, data, added_by)
SELECT pg_temp.id(c.at, n), 1, 'infinity', c.at, c.at, 'HELD', false, pg_temp.type(n % 40), '{}', 'app'
FROM generate_series(1, 5000) n CROSS JOIN LATERAL (SELECT now() - interval '12 h' + n * interval '1 s') c(at);
INSERT INTO twtasks.unique_key (task_id, key) SELECT t.id, t.key FROM twtasks.task t WHERE t.key IS NOT NULL;

-- The history of eight days.
SELECT twtasks_internal.begin_history() \g /dev/null
SELECT twtasks_internal.make_part(d::date, d::date + 1)
FROM generate_series(now()::date - 8, now()::date + 7, interval '1 day') d WHERE twtasks_internal.end_of_part(d::date) IS NOT NULL \g /dev/null
INSERT INTO twtasks.finished_task (id, version, state_time, created, incarnation, status, tries, priority, type, bucket, error, data, added_by, started)
SELECT pg_temp.id(c.at - interval '1 s', n), 2, c.at, c.at - interval '1 s', 1 + n % 6, CASE WHEN n % 500 = 0 THEN 'FAILED' WHEN n % 1000 = 1 THEN 'CANCELLED' ELSE 'DONE' END::twtasks.task_status,
	1, 5, pg_temp.type(n), pg_temp.bucket(n / :types), CASE WHEN n % 500 = 0 THEN 'refused: code ' || n % 90 END,
	jsonb_build_object('account', n % 5000, 'order', n), 'app', c.at - interval '0.5 s'
FROM generate_series(1, :finished) n CROSS JOIN LATERAL (SELECT now() - interval '8 days' + n * (interval '8 days' / :finished)) c(at);

-- The audit, flow and incidents.
INSERT INTO twtasks.audit (at, action, task_id, from_version, to_version, from_status, to_status, reason)
SELECT f.state_time, 'resume', f.id, 0, 1, 'ERROR', 'SUBMITTED', 'the bank is back'
FROM twtasks.finished_task f WHERE f.status = 'FAILED';
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, run)
SELECT date_trunc('minute', now()) - m * interval '1 min', '1 min', k, 'default', pg_temp.type(t), 5, 5, 0, 0, 0, 0, 0, array_fill(1::bigint, ARRAY[21])
FROM generate_series(0, 1440) m, generate_series(1, 2) k, generate_series(1, 200) t;
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, resolved, count, summary)
SELECT 'error/' || pg_temp.type(n), 'error', pg_temp.type(n), 'ticket', now() - n * interval '3 min', now(), CASE WHEN n > 50 THEN now() - n * interval '2 min' END, n, 'bench'
FROM generate_series(1, 5000) n;
ALTER TABLE twtasks.task SET (autovacuum_enabled = off);
VACUUM ANALYZE;
SELECT twtasks_internal.monitor_tasks() \g /dev/null
SELECT twtasks_internal.judge_incidents() \g /dev/null
CHECKPOINT;
