--
-- pictures.sql
--		What the pictures in the docs show besides data.sql: refunds that run and tell how
--		far they are, a silence, and tasks that were held.
--
\ir data.sql
SELECT twtasks.add_task('REFUND|CARD', format('{"order": %s}', n)::jsonb, key => 'refund ' || n, task_id => pg_temp.id(n))
FROM generate_series(201, 206) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(n)) FROM generate_series(201, 203) n \g /dev/null
SELECT twtasks_internal.note_progress(array_agg(pg_temp.id(n)), array_agg(pg_temp.version_of(pg_temp.id(n))), array_agg(25::bigint * (n - 200)),
	array_agg(format('%s of 4 statements sent to the bank', n - 200)))
FROM generate_series(201, 203) n \g /dev/null
SELECT twtasks.hold_task(pg_temp.id(n), pg_temp.version_of(pg_temp.id(n)), 'the customer is asked first') FROM generate_series(204, 205) n \g /dev/null
SELECT twtasks.silence('error', 'MAIL', now() + interval '4 hours', 'the mail provider maintains its servers until noon') \g /dev/null
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
