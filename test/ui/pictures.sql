--
-- pictures.sql
--		What the pictures in the docs show besides data.sql: an environment with a
--		leader, an hour of mails and invoices, refunds that run and tell how far they are,
--		a silence, and tasks that were held.
--
SELECT twtasks.adopt('production') \g /dev/null
SELECT set_config('test.node', twtasks_internal.start_node('billing-1', '1 hour', 'production', '{default,payments,bulk}', '{*}')::text, false),
	twtasks_internal.start_node('billing-2', '1 hour', 'production', '{default,bulk}', '{MAIL,INVOICE}') \g /dev/null
UPDATE twtasks.node SET leads = name = 'billing-1';
\ir data.sql
SELECT twtasks.drop_bucket(b) FROM unnest('{a,b}'::text[]) b \g /dev/null

-- ---- the last hour: ids begin with the time of the add ----
CREATE TEMPORARY TABLE minutes AS
SELECT date_trunc('minute', now()) - m * interval '1 min' AS at, type, bucket, (7 + 3 * sin(m / 7.0 + place))::integer AS added
FROM generate_series(1, 59) m, (VALUES ('MAIL', 'default', 0), ('INVOICE', 'bulk', 2)) t(type, bucket, place);
INSERT INTO twtasks.finished_task (id, version, state_time, created, started, status, tries, priority, type, bucket)
SELECT overlay(gen_random_uuid()::text PLACING regexp_replace(lpad(to_hex((extract(epoch FROM created) * 1000)::bigint), 12, '0'), '^.{8}', '\&-') FROM 1)::uuid,
	2, created + interval '800 ms', created, created + interval '20 ms', 'DONE', 1, 5, type, bucket
FROM (SELECT m.*, at + n * interval '4 s' AS created FROM minutes m, generate_series(1, added) n) t;
UPDATE twtasks.flow SET started = 4, done = 4 - (errors > 0)::integer, errors = (errors > 3)::integer, retried = (retried > 1)::integer;
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, wait, run)
SELECT at, '1 min', pg_temp.node(), bucket, type, added, added, 0, 0, 0, 0, 0, array_fill(0, '{7}') || ARRAY[added - 1, 1] || array_fill(0, '{12}'),
	array_fill(0, '{10}') || ARRAY[2, added - 3, 1] || array_fill(0, '{8}')
FROM minutes;

-- ---- what waits for people ----
SELECT twtasks.add_task('REFUND|CARD', format('{"order": %s}', n)::jsonb, key => 'refund ' || n, task_id => pg_temp.id(n))
FROM generate_series(201, 206) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(201, 203) n \g /dev/null
SELECT twtasks_internal.note_progress(array_agg(pg_temp.id(n)), array_agg(pg_temp.version_of(pg_temp.id(n))), array_agg(25::bigint * (n - 200)),
	array_agg(format('%s of 4 statements sent to the bank', n - 200)))
FROM generate_series(201, 203) n \g /dev/null
SELECT twtasks.hold_task(pg_temp.id(n), pg_temp.version_of(pg_temp.id(n)), 'the customer is asked first') FROM generate_series(204, 205) n \g /dev/null
SELECT twtasks.silence('error', 'MAIL', now() + interval '4 hours', 'the mail provider maintains its servers until noon') \g /dev/null
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
