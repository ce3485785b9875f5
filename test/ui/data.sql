--
-- data.sql
--		A database in which each page has something to show: tasks of every status,
--		two tries with different errors, an unknown outcome, limits, a paused type, an
--		incident, a schedule, a stream, and kinds with an item to do.
--
\ir ../lib/tasks.sql

-- ---- configuration ----
SELECT twtasks.configure_bucket('payments', 'money on its way'),
	twtasks.configure_bucket('bulk', 'what may take its time', concurrency => 20),
	twtasks.configure_type('PAYOUT|*', bucket => 'payments', priority => 3, timeout => '30 s', stuck => 'error'),
	twtasks.configure_type('INVOICE', bucket => 'bulk'),
	twtasks.configure_limit('INVOICE', concurrency => 20, rate => 100, per => '1 min'),
	twtasks.pause_type('LEDGER', 'the books are closed'),
	twtasks.schedule('close of day', '0 18 * * 1-5', 'LEDGER', time_zone => 'Europe/Berlin'),
	twtasks.configure_stream('accounts', 'ACCOUNT_EVENTS', batch => 10),
	twtasks.configure_kind('transfer', 'pessimistic', 'TRANSFER', 'transfer-{/id}') \g /dev/null
CREATE FUNCTION public.approve(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', data->>'decision') $$;
SELECT twtasks.configure_kind('approval', 'to_do', 'APPROVAL', 'loan-{/id}', decide => 'public.approve',
	readers => '{twtasks_viewer}', answerers => '{twtasks_viewer}') \g /dev/null

-- ---- tasks ----
SELECT pg_temp.node() \g /dev/null
SELECT twtasks.add_task('PAYOUT|ACME', format('{"amount": "%s.00", "secret": "CANARY"}', n)::jsonb, key => 'order ' || n, sub_type => 'instant', task_id => pg_temp.id(n))
FROM generate_series(1, 30) n \g /dev/null
SELECT twtasks.add_task('INVOICE', task_id => pg_temp.id(n)) FROM generate_series(31, 60) n \g /dev/null
SELECT twtasks.add_task('MAIL', task_id => pg_temp.id(n), run_after => now() + n * interval '1 min') FROM generate_series(61, 70) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(1, 12) n \g /dev/null
SELECT pg_temp.finish(pg_temp.id(n), 'error', message => format('timeout after %s s calling https://bank.example/pay/%s: no byte was received', 30, 8800 + n))
FROM generate_series(1, 8) n \g /dev/null
SELECT pg_temp.finish(pg_temp.id(n), 'done', message => 'paid') FROM generate_series(9, 11) n \g /dev/null
-- The first one was tried three times.
SELECT twtasks.resume_task(pg_temp.id(1), 2, 'the bank is back') \g /dev/null
SELECT twtasks_internal.promote_tasks(10) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(1), 'retry', message => 'timeout after 45 s calling https://bank.example/pay/8801: no byte was received', delay_ms => 0) \g /dev/null
SELECT twtasks_internal.promote_tasks(10) \g /dev/null
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(1), 'error', message => 'timeout after 45 s calling https://bank.example/pay/9001: connection refused') \g /dev/null
SELECT twtasks.fail_task(pg_temp.id(8), 2, 'it was paid by hand'), twtasks.hold_task(pg_temp.id(31), 0, 'not today'), twtasks.cancel_task(pg_temp.id(32), 0, 'ordered twice') \g /dev/null
-- Nobody reported these.
UPDATE twtasks.task SET deadline = created WHERE id = pg_temp.id(12);
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(13, 14) n \g /dev/null
UPDATE twtasks.task SET deadline = created WHERE id IN (pg_temp.id(13), pg_temp.id(14));
SELECT twtasks_internal.recover_tasks() \g /dev/null

-- A year that JavaScript does not read, an error without a text, and bytes that are not text.
SELECT twtasks.add_task('MAIL', task_id => pg_temp.id(71), run_after => '12000-01-01'), twtasks.add_task('MAIL', task_id => pg_temp.id(72)),
	twtasks.add_task('MAIL', task_id => pg_temp.id(73), payload => '\xff00') \g /dev/null
SELECT pg_temp.grab(pg_temp.id(72)) \g /dev/null
SELECT pg_temp.finish(pg_temp.id(72), 'error') \g /dev/null
SELECT twtasks.add_task('MAIL', task_id => pg_temp.id(n)) FROM generate_series(74, 75) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(74, 75) n \g /dev/null
SELECT pg_temp.finish(pg_temp.id(n), 'error', message => 'the mailbox is full') FROM generate_series(74, 75) n \g /dev/null
SELECT twtasks.allow_payload('*', 'twtasks_payload_viewer') \g /dev/null

-- ---- extensions ----
SELECT twtasks.add_event('accounts', 'account ' || n, '{"changed": "owner"}') FROM generate_series(1, 3) n \g /dev/null
SELECT twtasks.start('transfer', format('{"id": %s}', n)::jsonb), twtasks.start('approval', format('{"id": %s, "customer": "Ada"}', n)::jsonb)
FROM generate_series(1, 3) n \g /dev/null

-- ---- the last hour, and what the leader makes of it ----
SELECT twtasks.configure_limit('PAYOUT|*', concurrency => 5, scope => 'cluster') \g /dev/null
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown)
SELECT date_trunc('minute', now()) - m * interval '1 min', '1 min', pg_temp.node(), 'payments', 'PAYOUT|ACME', 100, 90 + m % 7, 0, CASE WHEN m < 20 THEN m % 5 ELSE 0 END, m % 3, 0, 0
FROM generate_series(1, 59) m;
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
