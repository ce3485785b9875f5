--
-- acts.sql
--		One object for each action of the page, twice: for a person with a mouse and for
--		one with a keyboard.  Names carry the hand, and ids begin at 100 or 200.
--
\ir ../lib/tasks.sql
CREATE TEMPORARY TABLE hand AS VALUES ('MOUSE', 100), ('KEYS', 200);
ALTER TABLE hand RENAME column1 TO name;
ALTER TABLE hand RENAME column2 TO n;

-- ---- settings ----
SELECT twtasks.configure_bucket('of-' || h.name, 'a bucket of a test'), twtasks.configure_bucket('spare-' || h.name, 'nobody needs it'),
	twtasks.configure_type('RULED|' || h.name, priority => 4, timeout => '30 s', retry => '{"max_tries": 3}'),
	twtasks.configure_limit('LIMITED|' || h.name, concurrency => 5, rate => 100, per => '1 min', scope => 'cluster'),
	twtasks.schedule('daily ' || h.name, '0 18 * * 1-5', 'DAILY|' || h.name, time_zone => 'Europe/Berlin'),
	twtasks.silence('error', 'SILENT|' || h.name, now() + interval '1 day', 'before the test')
FROM hand h \g /dev/null
CREATE FUNCTION public.approve(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', data->>'decision') $$;
SELECT twtasks.configure_kind('approval', 'to_do', 'APPROVAL', 'loan-{/id}', decide => 'public.approve',
	readers => '{twtasks_viewer}', answerers => '{twtasks_operator}') \g /dev/null
SELECT twtasks.start('approval', jsonb_build_object('id', h.name, 'sum', 12345678901234567890.10)) FROM hand h \g /dev/null

-- ---- tasks ----
SELECT pg_temp.node() \g /dev/null
-- 1, 4 and 10: in ERROR.  2: WAITING.  3, 5 and 9: SUBMITTED.  6: HELD.  7: CANCELLED.  8: PROCESSING, with progress.
SELECT twtasks.add_task('ONE|' || h.name, '{"secret": "CANARY", "sum": 12345678901234567890.10}', key => h.name || ' ' || i,
	context => '{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}', task_id => pg_temp.id(h.n + i),
	run_after => CASE WHEN i = 2 THEN now() + interval '1 day' END)
FROM hand h, generate_series(1, 10) i \g /dev/null
SELECT pg_temp.grab(pg_temp.id(h.n + i)) FROM hand h, unnest(ARRAY[1, 4, 8, 10]) i \g /dev/null
SELECT twtasks_internal.note_progress(ARRAY[pg_temp.id(h.n + 8)], ARRAY[1::bigint], ARRAY[40::bigint], ARRAY['page 2 of 5']) FROM hand h \g /dev/null
SELECT pg_temp.finish(pg_temp.id(h.n + i), 'error', message => 'the bank said no') FROM hand h, unnest(ARRAY[1, 4, 10]) i \g /dev/null
SELECT twtasks.hold_task(pg_temp.id(h.n + 6), 0, 'not today'), twtasks.cancel_task(pg_temp.id(h.n + 7), 0, 'ordered twice') FROM hand h \g /dev/null
-- 21 to 40: many, of which 21 to 30 are in ERROR with a text of their own.
SELECT twtasks.add_task('MANY|' || h.name, task_id => pg_temp.id(h.n + i)) FROM hand h, generate_series(21, 40) i \g /dev/null
SELECT pg_temp.grab(pg_temp.id(h.n + i)) FROM hand h, generate_series(21, 30) i \g /dev/null
SELECT pg_temp.finish(pg_temp.id(h.n + i), 'error', message => CASE WHEN i <= 25 THEN 'gate ' ELSE 'door ' END || h.name || ' is shut')
FROM hand h, generate_series(21, 30) i \g /dev/null
-- 51 and 52: nobody reported their end.
SELECT twtasks.add_task('LOST|' || h.name, task_id => pg_temp.id(h.n + i)) FROM hand h, generate_series(51, 52) i \g /dev/null
SELECT pg_temp.grab(pg_temp.id(h.n + i)) FROM hand h, generate_series(51, 52) i \g /dev/null
UPDATE twtasks.task t SET deadline = created FROM hand h WHERE t.id IN (pg_temp.id(h.n + 51), pg_temp.id(h.n + 52));
SELECT twtasks_internal.recover_tasks() \g /dev/null
SELECT twtasks.allow_payload('*', 'twtasks_payload_viewer') \g /dev/null

-- For stream.mjs.
SELECT twtasks.add_task('TOLD', task_id => pg_temp.id(n)) FROM generate_series(1, 2) n \g /dev/null

-- ---- incidents ----
SELECT twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks() \g /dev/null
INSERT INTO twtasks.incident (key, kind, object, severity, opened, refreshed, count, summary)
SELECT 'error/TOLD|' || h.name, 'error', 'TOLD|' || h.name, 'page', now() - interval '1 day', now(), 1, 'a trouble for the ' || lower(h.name) FROM hand h;
