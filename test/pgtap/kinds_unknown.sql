--
-- twtasks_kinds: what nobody knows stays unknown.  Handlers that contradict
-- themselves, people who end a step that may have acted, and steps that nobody
-- may bring back.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(37);

CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
CREATE FUNCTION public.regress_wait(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
SELECT twtasks.configure_kind('regress_box', 'black_boxed', 'REGRESS_BOX', 'box-{/n}', on_uncertain => 'public.regress_unsure') \g /dev/null
SELECT twtasks.configure_kind('regress_find', 'pessimistic', 'REGRESS_FIND', 'find-{/n}', retry_function => 'public.regress_wait') \g /dev/null
SELECT twtasks.configure_kind('regress_once', 'idempotent', 'REGRESS_ONCE', 'once-{/n}', attempts => 1) \g /dev/null

-- ---- what an outcome says ----
SELECT is(twtasks_internal.said_of(step, outcome), says, format('%s: %s', step, outcome))
FROM (VALUES
	('attempt',	'{"decision": "paid"}'::jsonb,					'decided'),
	('attempt',	'{}',											'decided'),
	('attempt',	'{"fault": "declined"}',						'fault'),
	('attempt',	'{"fault": 402}',								'fault'),
	('attempt',	'{"fault": false}',								'unknown'),
	('attempt',	'{"fault": "declined", "decision": "paid"}',	'unknown'),
	('attempt',	'{"decision": 5}',								'unknown'),
	('attempt',	'{"decision": ""}',								'unknown'),
	('find',	'{"found": false}',								'not_found'),
	('find',	'{"found": false, "decision": "paid"}',			'unknown'),
	('find',	'{"found": true, "decision": "paid"}',			'decided'),
	('find',	'{"found": true}',								'unknown'),
	('look',	'{"look": "completed", "decision": {}}',		'unknown'),
	('first',	'{"decision": 5}',								'done')) e(step, outcome, says);

-- Says what the event says; without that, it breaks.
CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	said CONSTANT jsonb := task.data->'event'->(task.data->>'step');
BEGIN
	IF said IS NULL THEN
		RAISE EXCEPTION 'broken';
	END IF;
	PERFORM twtasks.set_outcome(said);
	RETURN ROW(coalesce(task.data->'event'->>'result', 'done'), NULL, NULL)::twtasks.task_result;
END $$;
CREATE FUNCTION pg_temp.run(type text, event jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.start(lower(type), event);
	PERFORM twtasks.run_inline('public.regress_say', type) FROM generate_series(1, 2);
END $$;
CREATE FUNCTION pg_temp.task(wanted text) RETURNS uuid LANGUAGE sql AS $$ SELECT task FROM twtasks.outcomes WHERE identifier = wanted $$;
CREATE FUNCTION pg_temp.told(wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', o.decision, CASE WHEN o.uncertain THEN 'uncertain' END, o.problem, a.answer)
	FROM twtasks.outcomes o, twtasks.attempts a WHERE o.identifier = wanted AND a.identifier = wanted AND a.step = 'attempt' $$;

SELECT pg_temp.run('REGRESS_BOX', '{"n": 1, "attempt": {"decision": "paid", "fault": null}}');
SELECT is(pg_temp.told('box-1'), 'paid decided', 'a fault that is null is none');

-- ---- people end a step that may have acted ----
SELECT pg_temp.run('REGRESS_BOX', '{"n": 2}');
SELECT is(pg_temp.told('box-2'), 'out of order unknown', 'a black box waits for its function');
SELECT twtasks.fail_task(pg_temp.task('box-2'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.told('box-2'), 'out of order cut_off', '... also if a person fails its step');
SELECT pg_temp.run('REGRESS_FIND', '{"n": 1, "find": {"found": false}}');
SELECT is(pg_temp.told('find-1'), 'out of order unknown', 'a search waits for the function that says when');
SELECT is((twtasks.resume_task(pg_temp.task('find-1'), NULL, 'x')).status, 'ERROR', 'a person cannot let an attempt that may have acted run again');
SELECT is((SELECT to_status || ' ' || (to_version = t.version)::text FROM twtasks.audit JOIN twtasks.tasks t ON t.id = task_id WHERE task_id = pg_temp.task('find-1')), 'ERROR true', '... and the audit says so');
SELECT is(pg_temp.told('find-1'), 'out of order unknown', '... so its answer waits as before');
SELECT twtasks.hold_task(pg_temp.task('find-1'), NULL, 'x'), twtasks.cancel_task(pg_temp.task('find-1'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.told('find-1'), 'out of order cut_off', '... also if a person cancels the attempt');
CREATE OR REPLACE FUNCTION public.regress_wait(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '0'::interval $$;
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.call_duty('twtasks_internal.duty_follow_answers') \g /dev/null
SELECT is((SELECT step || attempt FROM twtasks.outcomes WHERE identifier = 'find-1'), 'find2', '... and comes before the decision');
SELECT pg_temp.run('REGRESS_ONCE', '{"n": 1}');
SELECT twtasks.fail_task(pg_temp.task('once-1'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.told('once-1'), 'failed uncertain cut_off', 'a person''s word makes nothing certain');
SELECT pg_temp.run('REGRESS_ONCE', '{"n": 2, "attempt": {"fault": "no"}, "result": "error"}');
SELECT twtasks.fail_task(pg_temp.task('once-2'), NULL, 'x') \g /dev/null
SELECT is(pg_temp.told('once-2'), 'failed given_up', '... but what surely did nothing is certain');

-- ---- a machine that stands still ----
CREATE FUNCTION public.regress_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$;
CREATE TRIGGER regress_slow BEFORE UPDATE ON twtasks.attempt FOR EACH ROW EXECUTE FUNCTION public.regress_slow();
SELECT twtasks.start('regress_box', '{"n": 3}') \g /dev/null
SELECT pg_temp.grab(pg_temp.task('box-3')) \g /dev/null
SET twtasks.function_timeout = '50ms';
SELECT throws_ok($$SELECT pg_temp.finish(pg_temp.task('box-3'), 'done')$$, '40001', NULL, 'a result that finds no time can be reported again');
RESET twtasks.function_timeout;
DROP TRIGGER regress_slow ON twtasks.attempt;
SELECT pg_temp.finish(pg_temp.task('box-3'), 'done') \g /dev/null
SELECT is(pg_temp.told('box-3'), 'done decided', '... and counts then');

-- The time passes before any function runs, and is enough then.
SELECT twtasks.start('regress_once', jsonb_build_object('n', n)) FROM generate_series(4, 5) n \g /dev/null
CREATE FUNCTION pg_temp.ended(wanted text) RETURNS twtasks.ended_task LANGUAGE sql AS $$
	SELECT (t.id, 2, t.type, NULL, t.bucket, t.key, 1, 'DONE', now(), NULL, NULL, t.data, NULL, '{"decision": "paid"}', NULL)::twtasks.ended_task
	FROM twtasks.task t WHERE t.id = pg_temp.task(wanted) $$;
SELECT array_agg(pg_temp.ended(w) ORDER BY w) AS ended FROM unnest('{once-4,once-5}'::text[]) w \gset
SELECT count(twtasks_internal.end_now(ARRAY[pg_temp.task(w)], '{DONE}', '{NULL}')) FROM unnest('{once-4,once-5}'::text[]) w \g /dev/null
CREATE OR REPLACE FUNCTION public.regress_slow() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	since CONSTANT timestamptz := clock_timestamp();
BEGIN
	WHILE clock_timestamp() < since + '2 ms' LOOP
		NULL;
	END LOOP;
	PERFORM set_config('twtasks.function_timeout', '60s', true);
	RETURN NEW;
END $$;
CREATE TRIGGER regress_slow BEFORE UPDATE ON twtasks.attempt FOR EACH ROW EXECUTE FUNCTION public.regress_slow();
SET twtasks.function_timeout = '2ms';
SELECT twtasks_internal.end_steps(:'ended') \g /dev/null
RESET twtasks.function_timeout;
DROP TRIGGER regress_slow ON twtasks.attempt;
SELECT is(pg_temp.told('once-4'), 'paid decided', 'a slow machine stops no identifier that has waited for no other');
SELECT is(pg_temp.told('once-5'), 'functions for other identifiers took too long decided', '... and the next one waits');
UPDATE twtasks.outcome SET due = '-infinity' WHERE identifier = 'once-5';
SELECT twtasks_internal.call_duty('twtasks_internal.duty_follow_answers') \g /dev/null
SELECT is(pg_temp.told('once-5'), 'paid decided', '... for the duty');

-- ---- steps that have ended ----
SELECT throws_ok(format('SELECT twtasks.reopen_task(%L)', a.task), '55000', NULL, 'a step cannot be reopened after the decision')
FROM twtasks.attempts a WHERE a.identifier = 'once-1';
SELECT throws_ok(format('SELECT twtasks.reopen_task(%L)', a.task), '55000', NULL, '... nor before it')
FROM twtasks.attempts a WHERE a.identifier = 'find-1' AND a.step = 'attempt';
SELECT throws_ok($$SELECT twtasks.change_tasks('reopen', 'REGRESS*', 'x', since => '-infinity')$$, '55000', NULL, '... nor with many others');
SELECT is((SELECT array_agg(identifier || ': ' || broken) FROM twtasks.broken_outcomes), '{"box-2: what follows step \"attempt\" fails: out of order"}', 'no invariant is broken');

-- ---- configuration ----
SELECT throws_ok($$SELECT twtasks.configure_kind('regress_find', 'pessimistic', 'REGRESS_FOUND', 'find-{/n}')$$, '55000', NULL,
	'a type stays while steps are under way');
SELECT lives_ok($$SELECT twtasks.configure_kind('regress_once', 'idempotent', 'REGRESS_TWICE', 'once-{/n}')$$, '... and can change later');
CREATE PUBLICATION regress_all FOR ALL TABLES;
SELECT lives_ok('DELETE FROM twtasks.anomaly', 'anomalies can be deleted under a publication');
SELECT * FROM finish();
ROLLBACK;
