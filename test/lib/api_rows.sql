--
-- api_rows.sql
--		Rows in all that the reads of the management API show, in a database with all
--		three extensions.  All that tasks, events and schedules carry has the word
--		"canary".
--
\set ON_ERROR_STOP on
CREATE SCHEMA api;
GRANT USAGE ON SCHEMA api TO PUBLIC;
CREATE FUNCTION api.decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data || jsonb_build_object('decision', 'approved') $$;
CREATE FUNCTION api.read_model(event jsonb) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('refund', event -> 'n') $$;
CREATE FUNCTION api.id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE
AS $$ SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid $$;

-- ---- settings ----
SELECT twtasks.configure_bucket('slow', 'for reports', 3), twtasks.configure_bucket('night'), twtasks.pause_bucket('night', 'maintenance'),
	twtasks.configure_type('*', queue_time => '10 min'), twtasks.configure_type('PAY|*', priority => 2, timeout => '30 s', retry => '{"delay": "5 s", "max_tries": 3}'),
	twtasks.configure_type('PAY|ACME', priority => 1), twtasks.pause_type('MAIL', 'the server is down'), twtasks.pause_type('OLD.*'),
	twtasks.configure_limit('PAY', 5, scope => 'cluster'), twtasks.configure_limit('PAY|*', 2, scope => 'cluster', rate => 100, per => '1 min'),
	twtasks.configure_limit('MAIL', 3, stretch => 1, stretch_priority => 1),
	twtasks.schedule('nightly', '30 2 * * *', 'REPORT', '{"iban": "canary"}', payload => 'canary'::bytea, context => '{"token": "canary"}'),
	twtasks.configure_schedule('weekly', '0 3 * * 1', 'REPORT', time_zone => 'Europe/Tallinn'),
	twtasks.schedule('rare', '0 0 29 2 *', 'REPORT') \g /dev/null
SELECT twtasks.run_schedule_now('nightly', 'a test'), twtasks.pause_schedule('rare', 'not this year') \g /dev/null
INSERT INTO twtasks.schedule_run (name, occurrence, added, task_id)
SELECT 'nightly', now() - n * interval '1 day', now() - n * interval '1 day', api.id(100 + n) FROM generate_series(1, 5) n;
SELECT twtasks.silence('error', 'OLD*', now() + interval '1 hour', 'known'), twtasks.silence('*', 'MAIL', now() + interval '2 hours', 'known'),
	twtasks.allow_payload('PAY|*', 'twtasks_payload_viewer') \g /dev/null

-- ---- nodes: two that live, one of them the leader, and two that are gone ----
INSERT INTO twtasks.node (incarnation, name, started, heartbeat, lease, buckets, types, leads, next_tick, ended)
OVERRIDING SYSTEM VALUE VALUES
	(101, 'n1', now() - interval '1 h', now(), '1 day', '{default,slow}', '{PAY|*,MAIL}', true, now() + interval '1 day', NULL),
	(102, 'n2', now() - interval '1 min', now(), '1 day', '{default}', '{PAY|*}', false, NULL, NULL),
	(103, 'n3', now() - interval '2 d', now() - interval '1 d', '30 s', NULL, NULL, false, NULL, now() - interval '1 d'),
	(104, 'n3', now() - interval '1 d', now() - interval '1 h', '30 s', '{default}', '{PAY|*}', false, NULL, now() - interval '1 h');

UPDATE twtasks.node SET faults = '{the handler of MAIL cannot be started: no such file}' WHERE incarnation = 101;

-- ---- tasks in each status, which carry canaries ----
SELECT twtasks.add_task('PAY|ACME', '{"iban": "canary"}', key => 'order ' || n, sub_type => CASE WHEN n % 2 = 0 THEN 'EUR' END,
	payload => 'canary'::bytea, context => '{"token": "canary"}') FROM generate_series(1, 12) n \g /dev/null
SELECT twtasks.add_task('MAIL', '{"to": "canary"}', run_after => now() + n * interval '1 h') FROM generate_series(1, 6) n \g /dev/null
SELECT twtasks.add_task('REPORT', '{"to": "canary"}', bucket => 'slow', task_id => api.id(n)) FROM generate_series(1, 8) n \g /dev/null
UPDATE twtasks.task SET state_time = now() - interval '1 h', next_event_time = now() - interval '50 min' WHERE id IN (api.id(1), api.id(2));
UPDATE twtasks.task SET status = 'PROCESSING', version = 1, tries = 1, incarnation = 101, deadline = now() + interval '1 h', next_event_time = now() + interval '1 h'
WHERE id = api.id(3);
INSERT INTO twtasks.task_progress (task_id, version, at, percent, note) VALUES (api.id(3), 1, now(), 40, 'page 2 of 5');
UPDATE twtasks.task SET status = 'ERROR', queued = false, version = 2, tries = 1, incarnation = 104, next_event_time = 'infinity', error = 'code ' || right(id::text, 1) || ' of the bank'
WHERE id IN (api.id(4), api.id(5));
UPDATE twtasks.task SET status = 'ERROR', queued = false, version = 2, tries = 1, incarnation = 104, next_event_time = 'infinity',
	state_time = now() - interval '1 h' - right(id::text, 1)::integer * interval '1 s',
	error = 'the node that ran it is gone' WHERE id IN (api.id(6), api.id(7), api.id(8));
-- Attempts need the partition of their day, which may have begun just now.
SELECT twtasks_internal.begin_history() \g /dev/null
SELECT twtasks_internal.make_partitions(1) FROM generate_series(1, 2) \g /dev/null
CREATE FUNCTION api.today(ago interval) RETURNS timestamptz LANGUAGE sql STABLE
AS $$ SELECT greatest(now() - ago, date_trunc('day', now(), 'UTC')) $$;
INSERT INTO twtasks.task_attempt (task_id, version, try, runnable, started, ended, incarnation, result, error, next, node)
SELECT api.id(6), 1, 1, now() - interval '2 h', now() - interval '2 h', api.today('1 h'), 104, 'unknown', 'the node that ran it is gone', NULL::timestamptz, 'n3'
UNION ALL SELECT api.id(6), 1, 1, now() - interval '2 h', now() - interval '2 h', api.today('50 min'), 104, 'late', 'done', NULL, 'n3'
UNION ALL SELECT api.id(4), n, n, now() - interval '3 h', now() - interval '2 h', api.today((100 - n) * interval '1 min'), 101, 'retry', 'away', now(), 'n1'
FROM generate_series(1, 7) n;
SELECT twtasks.hold_task(twtasks.id_of('order 1'), reason => 'the bank asks'), twtasks.cancel_task(twtasks.id_of('order 2'), reason => 'twice'),
	twtasks.request_cancel(api.id(3), reason => 'too late') \g /dev/null
INSERT INTO twtasks.finished_task (id, version, state_time, created, incarnation, status, tries, priority, type, bucket, key, error, data, payload, context, added_by, started, message)
SELECT gen_random_uuid(), 2, now() - interval '1 min', now() - interval '2 min', 101, CASE WHEN n % 3 = 0 THEN 'FAILED' ELSE 'DONE' END::twtasks.task_status, 1, 5, 'PAY|ACME', 'default', NULL,
	CASE WHEN n % 3 = 0 THEN 'refused' END, '{"iban": "canary"}', 'canary', '{"token": "canary"}', 'app', now() - interval '90 s', CASE WHEN n % 3 <> 0 THEN 'paid' END
FROM generate_series(1, 9) n;
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, wait, run)
SELECT now() - m * interval '1 min', '1 min', 101, 'default', t, 10, 6, 1, 1, 2, 0, 0, array_fill(0::bigint, ARRAY[10]) || '{10}' || array_fill(0::bigint, ARRAY[10]),
	array_fill(0::bigint, ARRAY[12]) || '{10}' || array_fill(0::bigint, ARRAY[8])
FROM generate_series(1, 30) m, unnest('{PAY|ACME,MAIL}'::text[]) t;
INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved, problem, problem_since)
SELECT 'orders', 'orders', n, 100 * n, 'app', now(), CASE WHEN n = 1 THEN 'the topic was made anew' END, CASE WHEN n = 1 THEN now() END FROM generate_series(0, 3) n;

-- ---- the leader counts and judges; messages of incidents, of which one is over ----
SELECT twtasks_internal.monitor_tasks(), twtasks_internal.judge_incidents() \g /dev/null
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, resolved, count, summary)
SELECT 'error/REPORT', 'error', 'REPORT', 'ticket', now() - n * interval '1 h', now() - n * interval '1 h', now() - n * interval '59 min', n, 'before'
FROM generate_series(1, 5) n;
INSERT INTO twtasks.incident_sent (incident, key, target, state, at, status, answer)
SELECT i.id, i.key, 'pager', 'open', now(), 'sent', '202' FROM twtasks.incident i;
SELECT twtasks.request_payload(twtasks.id_of('order ' || n), 'a customer asks') FROM generate_series(3, 8) n \g /dev/null

-- ---- streams: one that is blocked, one that waits ----
SELECT twtasks.configure_stream('balances', 'BALANCES'), twtasks.configure_stream('limits', 'LIMITS') \g /dev/null
SELECT twtasks.add_event('balances', 'account ' || n, '"canary"') FROM generate_series(1, 9) n \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, version = 2, next_event_time = 'infinity', error = 'the stream is closed'
WHERE id IN (SELECT o.head FROM twtasks.event_object o WHERE o.object IN ('account 2', 'account 5', 'account 7'));
SELECT twtasks.add_event('balances', 'account ' || n % 4, '"canary"') FROM generate_series(1, 12) n \g /dev/null

-- ---- kinds: identifiers under way, to-do items ----
SELECT twtasks.configure_kind('payout', 'pessimistic', 'PAYOUT', 'payout-{/n}', attempts => 3),
	twtasks.configure_kind('approval', 'to_do', 'APPROVAL', 'refund-{/n}', decide => 'api.decide', read_model => 'api.read_model', readers => '{twtasks_viewer}', answerers => '{twtasks_operator}'),
	twtasks.configure_kind('secret', 'to_do', 'SECRET', 'secret-{/n}', decide => 'api.decide'),
	twtasks.on_outcome('approval', 'approved', 'payout') \g /dev/null
SELECT twtasks.start('payout', jsonb_build_object('n', n, 'iban', 'canary')) FROM generate_series(1, 7) n \g /dev/null
SELECT twtasks.start('approval', jsonb_build_object('n', n, 'iban', 'canary')) FROM generate_series(1, 7) n \g /dev/null
SELECT twtasks.start('secret', jsonb_build_object('n', n, 'iban', 'canary')) FROM generate_series(1, 2) n \g /dev/null
SELECT twtasks.decide_by_hand('payout', 'payout-7', '{"decision": "paid", "note": "canary"}', 'the bank told us') \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, version = 1, next_event_time = 'infinity', error = 'the bank is closed'
WHERE id = (SELECT o.task FROM twtasks.outcomes o WHERE o.identifier = 'payout-3');
INSERT INTO twtasks.anomaly (seen, task, number, kind, identifier, step, what, result, outcome)
SELECT now(), gen_random_uuid(), 1, 'payout', 'payout-7', 'find', 'it was given up', 'done', '{"decision": "paid", "note": "canary"}';
SELECT twtasks_internal.monitor_tasks() \g /dev/null
ANALYZE;
