--
-- task_at() at each moment of a life, and what differs between two attempts and between
-- two values.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.task_attempt;
SELECT plan(24);

CREATE FUNCTION pg_temp.was(moment timestamptz, n integer DEFAULT 1) RETURNS text
LANGUAGE sql
AS $$ SELECT concat_ws(' ', a.version, a.status, a.tries, a.node, CASE WHEN a.since <= moment THEN a.is_exact END) FROM twtasks.task_at(pg_temp.id(n), moment) a $$;
CREATE FUNCTION pg_temp.differ(one jsonb, other jsonb) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(format('%s: %s -> %s', array_to_string(c.path, '.'), coalesce(c.value::text, 'none'), coalesce(c.other_value::text, 'none')), ', ' ORDER BY c.path) FROM twtasks.compare_data(one, other) c $$;

-- ---- The state at a moment ----
SELECT clock_timestamp() AS before \gset
SELECT twtasks.add_task('TEST', '{"iban": "canary"}', task_id => pg_temp.id(1)) \g /dev/null
SELECT clock_timestamp() AS added \gset
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT clock_timestamp() AS grabbed \gset
SELECT pg_temp.finish(pg_temp.id(1), 'error', message => 'busy') \g /dev/null
SELECT clock_timestamp() AS failed \gset
SELECT twtasks.resume_task(pg_temp.id(1), 2, 'test') \g /dev/null
SELECT clock_timestamp() AS resumed \gset
UPDATE twtasks.task SET next_event_time = clock_timestamp() WHERE id = pg_temp.id(1);
SELECT twtasks_internal.promote_tasks() \g /dev/null
SELECT pg_temp.grab(pg_temp.id(1)) \g /dev/null
SELECT clock_timestamp() AS again \gset
SELECT is(pg_temp.was(:'before'), NULL, 'nothing before its add');
SELECT is(pg_temp.was(:'added'), '0 SUBMITTED 0 t', 'after its add');
SELECT is(pg_temp.was(:'grabbed'), '1 PROCESSING 1 test t', 'while it ran, and where');
SELECT is(pg_temp.was(:'failed'), '2 ERROR 1 t', 'in ERROR');
SELECT is(pg_temp.was(:'resumed'), '3 WAITING 0 f', 'resumed; the move to the queue is not kept');
SELECT is(pg_temp.was(:'again'), '5 PROCESSING 1 test t', 'while it ran again');
SELECT pg_temp.finish(pg_temp.id(1), 'done') \g /dev/null
SELECT is(pg_temp.was('infinity'), '6 DONE 1 t', 'its end');
SELECT is(pg_temp.was(:'failed'), '2 ERROR 1 t', '... changes nothing of the past');
SELECT is((SELECT a.version FROM twtasks.task_at(pg_temp.id(1), 'infinity', clock_timestamp()) a), 6::bigint, 'the day of its end is enough');
SELECT is(pg_temp.was('infinity', 2), NULL, 'no such task');
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(3)), pg_temp.finish(pg_temp.id(3), 'repeat', delay_ms => 3600000) \g /dev/null
SELECT is(pg_temp.was('infinity', 3), '2 WAITING 0 t', 'a task that asked to be repeated');

-- ---- Attempts ----
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(4)), pg_temp.finish(pg_temp.id(4), 'retry', message => 'busy', delay_ms => 60000) \g /dev/null
UPDATE twtasks.task SET next_event_time = clock_timestamp() - interval '1 min' WHERE id = pg_temp.id(4);
SELECT twtasks_internal.promote_tasks() \g /dev/null
SELECT pg_temp.grab(pg_temp.id(4)) \g /dev/null
-- It runs longer than the first one.
UPDATE twtasks.task SET state_time = state_time - interval '10 s' WHERE id = pg_temp.id(4);
SELECT pg_temp.finish(pg_temp.id(4), 'error', message => 'refused') \g /dev/null
SELECT is((SELECT string_agg(c.field, ', ' ORDER BY c.field) FROM twtasks.compare_attempts(pg_temp.id(4), 1, 4) c),
	'ended, error, next, result, run_seconds, runnable, started, try, wait_seconds', 'all that differs between two attempts');
SELECT is((SELECT string_agg(c.field || ': ' || concat_ws(' -> ', c.value, coalesce(c.other_value, '"none"')), ', ' ORDER BY c.field)
		FROM twtasks.compare_attempts(pg_temp.id(4), 1, 4) c WHERE c.field IN ('error', 'result', 'try', 'next') AND (c.field <> 'next' OR c.other_value IS NULL)) LIKE
	'error: "busy" -> "refused", next: % -> "none", result: "retry" -> "error", try: 1 -> 2', true, '... with both values');
SELECT is((SELECT count(*) FROM twtasks.compare_attempts(pg_temp.id(4), 4, 4)), 0::bigint, 'an attempt is equal to itself');
SELECT is((SELECT string_agg(c.field || ': ' || c.other_value, ', ') FROM twtasks.compare_attempts(pg_temp.id(1), 1, 5) c WHERE c.field = 'result'), 'result: "done"', 'the last one, which succeeded');
SELECT throws_ok(format('SELECT * FROM twtasks.compare_attempts(%L, 1, 2)', pg_temp.id(4)), '42704', NULL, 'no such attempt');
SELECT throws_ok(format('SELECT * FROM twtasks.compare_attempts(%L, 1, NULL)', pg_temp.id(4)), '22004', NULL, 'no version');

-- ---- Values ----
SELECT is(pg_temp.differ('{"a": 1, "b": {"c": [1, 2], "d": null}, "e": 1}', '{"a": 1.0, "b": {"c": [1, 3, 4]}, "e": {"f": 1}}'),
	'b.c.1: 2 -> 3, b.c.2: none -> 4, b.d: null -> none, e: 1 -> {"f": 1}', 'members, elements, types, and what one lacks');
SELECT is(pg_temp.differ('{"a": [{}]}', '{"a": [{}]}'), NULL, 'equal values');
SELECT is(pg_temp.differ('1', '[1]') || '; ' || pg_temp.differ(NULL, '{}') || '; ' || pg_temp.differ('{"": 1}', '{}'), ': 1 -> [1]; : none -> {}; : 1 -> none', 'the whole');
SELECT is((SELECT bool_and('{"a": [{"b": 1}, 7]}'::jsonb #> c.path = c.value) FROM twtasks.compare_data('{"a": [{"b": 1}, 7]}', '{"a": [{"b": 2}]}') c), true, 'a path is one of #>');

-- ---- Rights: see read_payload.sql for who may read data ----
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) FROM twtasks.task_at('00000000-0000-0000-0000-000000000004', 'infinity')), 1::bigint, 'a viewer may ask');
SELECT isnt((SELECT count(*) FROM twtasks.compare_attempts('00000000-0000-0000-0000-000000000004', 1, 4)), 0::bigint, '... and compare');
SET LOCAL ROLE twtasks_payload_viewer;
SELECT is((SELECT count(*) FROM twtasks.compare_data('1', '2')), 1::bigint, 'a reader of payloads may compare them');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
