--
-- twtasks_kinds: what is refused, how identifiers are made, and how attempts go on.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SET twtasks.testing = on;
SELECT plan(111);

CREATE FUNCTION public.regress_of(event jsonb) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT 'of-' || (event->>'n') $$;
CREATE FUNCTION public.regress_needed(event jsonb, identifier text) RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT (event->>'needed')::boolean $$;
CREATE FUNCTION public.regress_over(event jsonb, identifier text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', 'over', 'of', identifier) $$;
CREATE FUNCTION public.regress_fault(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', 'failed', 'fault', fault) $$;
CREATE FUNCTION public.regress_wait(event jsonb, identifier text, attempts integer, fault text) RETURNS interval LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN attempts < 3 THEN attempts * interval '1 h' END $$;
CREATE FUNCTION public.regress_unsure(event jsonb, identifier text, started timestamptz) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT jsonb_build_object('decision', 'unsure', 'started', started) $$;
CREATE FUNCTION public.regress_open(event jsonb, identifier text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
CREATE FUNCTION public.regress_decide(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT data || jsonb_build_object('saw', read_model, 'as', current_user) $$;
CREATE FUNCTION public.regress_volatile(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$ SELECT data $$;
CREATE FUNCTION public.regress_other(ended twtasks.ended_task[]) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT $$;

-- ---- configuration ----
SELECT throws_ok($$SELECT twtasks.configure_kind(NULL, 'pessimistic', 'T', 'a{/n}')$$, '22004', NULL, 'a kind has a name');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', NULL, 'T', 'a{/n}')$$, '22004', NULL, 'a kind is of a kind');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', NULL, 'a{/n}')$$, '22004', NULL, 'a kind has a type');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', NULL)$$, '22004', NULL, 'a kind has identifiers');
SELECT throws_ok($$SELECT twtasks.configure_kind('', 'pessimistic', 'T', 'a{/n}')$$, '22023', NULL, 'an empty name is refused');
SELECT throws_ok($$SELECT twtasks.configure_kind(repeat('k', 251), 'pessimistic', 'T', 'a{/n}')$$, '22023', NULL, 'a name of 251 bytes is refused');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T*', 'a{/n}')$$, '22023', NULL, 'a pattern is no type');
SELECT throws_ok(format('SELECT twtasks.configure_kind(%L, %L, %L, %L)', 'k', 'pessimistic', 'T', t), '22023', NULL, 'refused as a template: ' || t)
FROM unnest(ARRAY['a{n}', 'a{/n', 'a{/n}}', '{}']) t;
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'no_schema')$$, '42883', NULL, 'text without braces names a function');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', attempts => 0)$$, '22023', NULL, 'there is at least one attempt');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', delay => '2 h')$$, '22023', NULL, 'the first delay is at most an hour');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', expires => '0')$$, '22023', NULL, 'an expiry takes time');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', still_needed => 'public.none')$$, '42883', NULL, 'functions exist');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', still_needed => 'public.regress_open')$$, '22023', NULL, 'functions fix their search_path');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'T', 'a{/n}', on_uncertain => 'public.regress_unsure')$$, '22023', NULL, 'on_uncertain is for black boxes');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'black_boxed', 'T', 'a{/n}')$$, '22023', NULL, 'a black box needs on_uncertain');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'to_do', 'T', 'a{/n}')$$, '22023', NULL, 'an item needs decide');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'to_do', 'T', 'a{/n}', decide => 'public.regress_decide', attempts => 2)$$, '22023', NULL, 'an item has no attempts');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'to_do', 'T', 'a{/n}', decide => 'public.regress_volatile')$$, '22023', NULL, 'decide is immutable');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'to_do', 'T', 'a{/n}', decide => 'public.regress_decide', readers => '{regress_nobody}')$$, '42704', NULL, 'roles exist');
SELECT twtasks.configure_type('TAKEN', on_end => 'public.regress_other');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'TAKEN', 'a{/n}')$$, '55000', NULL, 'the end of the type must not be another function''s');
SELECT is_empty('SELECT FROM twtasks.kinds', 'nothing is stored of what is refused');
SELECT lives_ok($$SELECT twtasks.configure_kind('find', 'pessimistic', 'FIND', 'find-{/n}', attempts => 2, on_fault => 'public.regress_fault', on_expiry => 'public.regress_over')$$, 'a kind is made');
SELECT throws_ok($$SELECT twtasks.configure_kind('k', 'pessimistic', 'FIND', 'a{/n}')$$, '55000', NULL, 'a type belongs to one kind');
SELECT throws_ok($$SELECT twtasks.configure_type('FIND', stuck => 'retry')$$, '55000', NULL, 'the stuck rule is the kind''s');
SELECT throws_ok($$SELECT twtasks.configure_type('FIND', retry => '{"max_tries": 3}')$$, '55000', NULL, 'tries are the kind''s');
SELECT throws_ok($$SELECT twtasks.drop_type_policy('FIND')$$, '55000', NULL, 'the policy stays');
SELECT lives_ok($$SELECT twtasks.configure_type('FIND', timeout => '7 s')$$, 'other options can be changed');

-- ---- identifiers ----
SELECT twtasks.configure_kind('id', 'idempotent', 'ID', '{/a~1b}-{/c/1}-{/d~0e}') \g /dev/null
SELECT is(twtasks.start('id', '{"a/b": 1, "c": [2, true], "d~e": "x"}'), 'started', 'JSON pointers make an identifier');
SELECT is((SELECT identifier FROM twtasks.outcomes WHERE kind = 'id'), '1-true-x', '... of numbers, booleans and texts');
SELECT is(twtasks.start('id', '{"a/b": 1, "c": [2, true], "d~e": "x", "more": 1}'), 'already_started', 'the identifier counts, not the event');
SELECT throws_ok(format('SELECT twtasks.start(%L, %L)', 'find', e), '22023', NULL, 'refused as an event: ' || e)
FROM unnest(ARRAY['{}', '{"n": null}', '{"n": {"a": 1}}', '[]']) e;
SELECT throws_ok($$SELECT twtasks.start('find', jsonb_build_object('n', repeat('x', 246)))$$, '22023', NULL, 'an identifier of 251 bytes is refused');
SELECT is(twtasks.start('find', jsonb_build_object('n', repeat('x', 245), 'find1', jsonb_build_object('decision', 'paid'))), 'started', 'an identifier of 250 bytes is taken');
SELECT throws_ok($$SELECT twtasks.start('find', '{"n": "a\nb"}')$$, '22023', NULL, 'an identifier with a line end is refused');
SELECT throws_ok($$SELECT twtasks.start('none', '{}')$$, '42704', NULL, 'the kind is configured');
SELECT throws_ok($$SELECT twtasks.start(NULL, '{}')$$, '22004', NULL, 'a start names a kind');
SELECT throws_ok($$SELECT twtasks.start('find', NULL)$$, '22004', NULL, 'a start has an event');
SELECT throws_ok($$SELECT twtasks.start('find', jsonb_build_object('n', 1, 'x', repeat('x', pg_size_bytes(coalesce(current_setting('twtasks.max_payload', true), '16MB'))::integer - 1000)))$$, '54000', NULL, 'an event must fit into max_payload');
SELECT twtasks.configure_kind('of', 'idempotent', 'OF', 'public.regress_of', still_needed => 'public.regress_needed', on_expiry => 'public.regress_over') \g /dev/null
SELECT is(twtasks.start('of', '{"n": 1}'), 'started', 'a function makes identifiers');
SELECT throws_ok($$SELECT twtasks.start('of', '{}')$$, '22023', NULL, 'a function must make one');
SELECT is((SELECT context->>'idempotency_key' FROM twtasks.task WHERE type = 'OF'), 'of-1', 'the identifier is the idempotency key');
SELECT is((SELECT data - 'started' FROM twtasks.task WHERE type = 'OF'),
	'{"step": "attempt", "identifier": "of-1", "event": {"n": 1}, "attempt": 1}', 'a step carries what its handler needs');
SELECT matches((SELECT key FROM twtasks.task WHERE type = 'OF'), '^of:of-1#1.attempt~[0-9a-f]+$', 'a step has a key that people find');
SELECT throws_ok($$SELECT twtasks.configure_kind('id', 'idempotent', 'ID', '{/c/0}')$$, '55000', NULL, 'identifiers stay what they are once there are some');
SELECT lives_ok($$SELECT twtasks.configure_kind('id', 'idempotent', 'ID', '{/a~1b}-{/c/1}-{/d~0e}', attempts => 7)$$, '... while other options may change');
SELECT is(twtasks.start('of', '{"n": 2, "needed": false}'), 'started', 'what is not needed is started');
SELECT is((SELECT outcome FROM twtasks.outcome WHERE identifier = 'of-2'), '{"decision": "over", "of": "of-2"}', '... and decided at once');
SELECT is(twtasks.start('of', '{"n": 2}'), 'already_decided', 'a decided identifier stays decided');
SAVEPOINT one;
SELECT twtasks.start('of', '{"n": 3}') \g /dev/null
ROLLBACK TO one;
SELECT is(twtasks.start('of', '{"n": 3}'), 'started', 'what was rolled back was not started');

-- ---- attempts ----
-- Says what the event tells it to say: a list of outcomes, one for each step.
CREATE FUNCTION public.regress_say(task twtasks.task_input) RETURNS twtasks.task_result LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	said CONSTANT jsonb := task.data #> ARRAY['event', (task.data->>'step') || (task.data->>'attempt')];
BEGIN
	IF said IS NULL THEN
		RAISE EXCEPTION 'broken';
	END IF;
	PERFORM twtasks.set_outcome(said);
	RETURN ROW('done', NULL, NULL)::twtasks.task_result;
END $$;
-- Runs all steps, without their waits.
CREATE FUNCTION pg_temp.run(type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 12 LOOP
		UPDATE twtasks.task t SET next_event_time = now() - interval '1 s' WHERE t.type = run.type AND t.status = 'WAITING' AND t.next_event_time < '2100-01-01';
		PERFORM twtasks_internal.promote_tasks();
		PERFORM twtasks.run_inline('public.regress_say', run.type);
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.steps(wanted text) RETURNS text LANGUAGE sql
AS $$ SELECT string_agg(concat(step, number, ' ', answer), ', ' ORDER BY number, CASE step WHEN 'find' THEN 0 WHEN 'first' THEN 1 WHEN 'look' THEN 2 ELSE 3 END) FROM twtasks.attempts WHERE identifier = wanted $$;
CREATE FUNCTION pg_temp.outcome(wanted text) RETURNS jsonb LANGUAGE sql
AS $$ SELECT outcome FROM twtasks.outcome WHERE identifier = wanted $$;

SELECT twtasks.start('find', '{"n": 1, "find1": {"found": false}, "find2": {"decision": "paid", "p": 7}}') \g /dev/null
SELECT twtasks.start('find', '{"n": 2, "find1": {"found": false}, "find2": {"found": false}, "attempt2": {"decision": "paid"}}') \g /dev/null
SELECT twtasks.start('find', '{"n": 3, "find1": {"found": false}, "find2": {"found": false}, "find3": {"found": false}}') \g /dev/null
SELECT twtasks.start('find', '{"n": 4, "find3": {"found": false}, "attempt3": {}}') \g /dev/null
SELECT pg_temp.run('FIND') \g /dev/null
SELECT is(pg_temp.outcome('find-1'), '{"decision": "paid", "p": 7}', 'the search finds what an attempt did whose end is unknown');
SELECT is(pg_temp.steps('find-1'), 'find1 not_found, attempt1 unknown, find2 decided', '... in these steps');
SELECT is(pg_temp.outcome('find-2'), '{"decision": "paid"}', 'a second attempt follows when nothing is found');
SELECT is(pg_temp.outcome('find-3')->>'decision', 'failed', 'on_fault decides when no attempt is left');
SELECT is(pg_temp.steps('find-3'), 'find1 not_found, attempt1 unknown, find2 not_found, attempt2 unknown, find3 not_found', '... after a last search');
SELECT matches(pg_temp.outcome('find-3')->>'fault', '^broken', '... which knows the fault');
SELECT is(pg_temp.steps('find-4'), 'find1 unknown, find2 unknown, find3 not_found, attempt3 decided', 'a search that fails spends no attempt');
SELECT is(pg_temp.outcome('find-4'), '{"decision": "done"}', 'a result without a decision is "done"');
SELECT is_empty($$SELECT * FROM twtasks.task WHERE type = 'FIND' AND status = 'ERROR'$$, 'no person needs to look at what the kind follows');

SELECT twtasks.configure_kind('wait', 'idempotent', 'WAITS', 'wait-{/n}', retry_function => 'public.regress_wait') \g /dev/null
SELECT twtasks.start('wait', '{"n": 1}') \g /dev/null
SELECT twtasks.run_inline('public.regress_say', 'WAITS') \g /dev/null
SELECT ok((SELECT due BETWEEN now() + interval '59 min' AND now() + interval '61 min' FROM twtasks.outcomes WHERE identifier = 'wait-1'), 'retry_function names the wait');
SELECT pg_temp.run('WAITS') \g /dev/null
SELECT is((SELECT concat(status, ' ', decision) FROM twtasks.outcomes WHERE identifier = 'wait-1'), 'ERROR ', 'without on_fault the last attempt is in ERROR');
SELECT is((SELECT count(*) FROM twtasks.attempts WHERE identifier = 'wait-1'), 3::bigint, 'retry_function ends the attempts');
SELECT twtasks.fail_task(id, version, 'no use') FROM twtasks.tasks WHERE type = 'WAITS' AND status = 'ERROR' \g /dev/null
SELECT is(pg_temp.outcome('wait-1'), '{"decision": "failed"}', 'a person may fail it');

SELECT ok((SELECT uncertain FROM twtasks.outcomes WHERE identifier = 'wait-1'), '... and the outcome says that the action may have been done');
SELECT twtasks.configure_kind('hope', 'idempotent', 'HOPES', 'hope-{/n}', attempts => 2, on_fault => 'public.regress_fault') \g /dev/null
SELECT twtasks.start('hope', '{"n": 1, "attempt2": {"fault": "no"}}') \g /dev/null
SELECT pg_temp.run('HOPES') \g /dev/null
SELECT is((SELECT concat_ws(': ', pg_temp.steps(identifier), decision, uncertain) FROM twtasks.outcomes WHERE identifier = 'hope-1'),
	'attempt1 unknown, attempt2 fault: failed: t', 'an earlier attempt whose end is unknown makes the outcome uncertain');

SELECT twtasks.configure_kind('short', 'pessimistic', 'SHORT', 'short-{/n}', expires => '1 h', on_expiry => 'public.regress_over') \g /dev/null
SELECT twtasks.start('short', '{"n": 1, "find1": {"found": false}, "find2": {"decision": "paid"}}') \g /dev/null
SELECT twtasks.start('short', '{"n": 2, "find1": {"found": false}, "find2": {"found": false}}') \g /dev/null
SELECT twtasks.run_inline('public.regress_say', 'SHORT') \g /dev/null
UPDATE twtasks.outcome SET expires = now() - interval '1 s' WHERE kind = 'short';
SELECT pg_temp.run('SHORT') \g /dev/null
SELECT is(pg_temp.outcome('short-1')->>'decision', 'paid', 'an action that was done is found although it has expired');
SELECT is(pg_temp.outcome('short-2')->>'decision', 'over', 'an action that was not done expires');

-- ---- black boxes ----
SELECT twtasks.configure_kind('box', 'black_boxed', 'BOX', 'box-{/n}', on_uncertain => 'public.regress_unsure', attempts => 2, on_fault => 'public.regress_fault') \g /dev/null
SELECT twtasks.start('box', '{"n": 1}'), twtasks.start('box', '{"n": 2, "attempt1": {"fault": "no"}, "attempt2": {"decision": "sent"}}'),
	twtasks.start('box', '{"n": 3, "attempt1": {"fault": "no"}, "attempt2": {"fault": "never"}}');
SELECT pg_temp.run('BOX') \g /dev/null
SELECT is((SELECT concat(decision, ' ', uncertain) FROM twtasks.outcomes WHERE identifier = 'box-1'), 'unsure t', 'an unknown end is uncertain');
SELECT is(pg_temp.steps('box-1'), 'attempt1 unknown', '... and the last attempt');
SELECT is(pg_temp.outcome('box-2')->>'decision', 'sent', 'a fault allows another attempt');
SELECT is(pg_temp.outcome('box-3'), '{"decision": "failed", "fault": "never"}', 'faults end when no attempt is left');
SELECT twtasks_internal.tell_late(ARRAY[a.task, b.task], '{1,1}', '{done,done}', '{late,NULL}', ARRAY['{"decision": "sent"}', NULL]::jsonb[])
FROM twtasks.attempt a, twtasks.attempt b WHERE a.identifier = 'box-1' AND b.identifier = 'box-2' AND b.answer = 'decided' \g /dev/null
SELECT results_eq($$SELECT identifier, result, message, outcome FROM twtasks.anomaly$$, $$VALUES ('box-1'::text COLLATE "C", 'done', 'late', '{"decision": "sent"}'::jsonb)$$,
	'a late result is kept, and a repeated one is not');
SELECT is(pg_temp.outcome('box-1')->>'decision', 'unsure', 'a late result changes nothing');
SELECT is((SELECT concat(decision, closed) FROM twtasks.anomalies WHERE identifier = 'box-1'), 'sent', 'people see what it decided');
SET LOCAL twtasks.on_behalf_of = 'anne';
SELECT is(twtasks.close_anomalies('box', 'box-1', 'looked at') + 10 * twtasks.close_anomalies('box', 'box-1', 'again'), 1::bigint, 'a person closes it, once');
SET LOCAL twtasks.on_behalf_of = '';
SELECT is((SELECT concat(closed IS NOT NULL, ' ', closed_by, ' ', reason) FROM twtasks.anomalies WHERE identifier = 'box-1'), 't anne looked at', 'the anomaly says by whom, and why');

SELECT twtasks.configure_kind('lone', 'black_boxed', 'LONE', 'lone-{/n}', on_uncertain => 'public.regress_unsure', attempts => 1);
SELECT twtasks.start('lone', '{"n": 1, "attempt1": {"fault": "declined"}}') \g /dev/null
SELECT pg_temp.run('LONE');
SELECT is((SELECT concat(decision, ' ', fault, ': ', problem) FROM twtasks.outcomes WHERE identifier = 'lone-1'),
	' declined: no attempt is left, and no function decides', 'without on_fault a person must decide');
SELECT is((SELECT concat(answer, ' ', fault) FROM twtasks.attempts WHERE identifier = 'lone-1'), 'fault declined', 'the answer is kept');
SELECT twtasks.configure_kind('lone', 'black_boxed', 'LONE', 'lone-{/n}', on_uncertain => 'public.regress_unsure', attempts => 1, on_fault => 'public.regress_fault');
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.duty_follow_answers() \g /dev/null
SELECT is(pg_temp.outcome('lone-1')->>'decision', 'failed', 'on_fault may come later');

-- ---- functions that fail ----
CREATE FUNCTION public.regress_broken(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
SELECT twtasks.configure_kind('broken', 'idempotent', 'BROKEN', 'broken-{/n}', attempts => 1, on_fault => 'public.regress_broken') \g /dev/null
SELECT twtasks.start('broken', '{"n": 1, "attempt1": {"fault": "no"}}'), twtasks.start('broken', '{"n": 2, "attempt1": {}}') \g /dev/null
SELECT pg_temp.run('BROKEN') \g /dev/null
SELECT is((SELECT concat(decision, problem) FROM twtasks.outcomes WHERE identifier = 'broken-1'), 'out of order', 'a function that fails is a problem of its identifier');
SELECT is(pg_temp.outcome('broken-2')->>'decision', 'done', '... and of no other');
SELECT is((SELECT array_agg(identifier || ': ' || broken) FROM twtasks.broken_outcomes), '{"broken-1: what follows step \"attempt\" fails: out of order"}', 'its answer is kept, and the identifier shown');
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.duty_follow_answers() \g /dev/null
SELECT is((SELECT problem FROM twtasks.outcomes WHERE identifier = 'broken-1'), 'out of order', 'it is tried again');
CREATE OR REPLACE FUNCTION public.regress_broken(event jsonb, identifier text, fault text) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT '{"decision": "mended"}'::jsonb $$;
UPDATE twtasks.outcome SET due = '-infinity' WHERE problem IS NOT NULL;
SELECT twtasks_internal.duty_follow_answers() \g /dev/null
SELECT is(pg_temp.outcome('broken-1')->>'decision', 'mended', '... and followed when the function is mended');

-- ---- reactions ----
CREATE FUNCTION public.regress_next(event jsonb, identifier text, outcome jsonb) RETURNS jsonb LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN event ? 'stop' THEN NULL ELSE jsonb_build_object('n', 100 + (event->>'n')::integer) END $$;
SELECT throws_ok($$SELECT twtasks.on_outcome('id', 'done', 'none')$$, '42704', NULL, 'a reaction starts a kind that is configured');
SELECT throws_ok($$SELECT twtasks.on_outcome('id', NULL, 'of')$$, '22004', NULL, 'a reaction has a decision');
SELECT throws_ok($$SELECT twtasks.on_outcome('id', '*', 'of', 'public.regress_of')$$, '42883', NULL, 'the function of a reaction has its parameters');
SELECT twtasks.on_outcome('broken', '*', 'of', 'public.regress_next'), twtasks.on_outcome('broken', 'never', 'id') \g /dev/null
SELECT twtasks.start('broken', '{"n": 5, "attempt1": {}}'), twtasks.start('broken', '{"n": 6, "attempt1": {}, "stop": 1}'), twtasks.start('broken', '{"n": "x", "attempt1": {}}') \g /dev/null
SELECT pg_temp.run('BROKEN') \g /dev/null
SELECT ok(EXISTS (SELECT FROM twtasks.outcomes WHERE identifier = 'of-105'), 'an outcome starts another kind');
SELECT ok(NOT EXISTS (SELECT FROM twtasks.outcomes WHERE identifier = 'of-106'), 'the function may start nothing');
SELECT matches((SELECT concat(decision, ': ', problem) FROM twtasks.outcomes WHERE identifier = 'broken-x'), '^done: invalid input', 'a reaction that fails does not undo the outcome');

-- ---- items ----
-- By a message: the function of a listener answers, with the rights of its owner.
CREATE ROLE regress_clerk;
GRANT USAGE ON SCHEMA twtasks TO regress_clerk;
CREATE FUNCTION public.regress_message(message twtasks.message) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks.answer_to_do('item', NULL, convert_from(message.value, 'UTF8')::jsonb);
	RETURN NULL;
END $$;
SELECT twtasks.configure_kind('item', 'to_do', 'ITEM', 'item-{/n}', decide => 'public.regress_decide', answerers => '{regress_clerk}');
SELECT twtasks.start('item', '{"n": 1}') \g /dev/null
CREATE FUNCTION pg_temp.listen(value text) RETURNS bigint LANGUAGE sql AS $$
	SELECT twtasks.take_messages('answers', 'answers', 0, 0, 1, messages => ARRAY[ROW('answers', 0, 0, now(), NULL, convert_to(value, 'UTF8'), NULL)::twtasks.message],
		function => 'public.regress_message')
$$;
ALTER FUNCTION public.regress_message OWNER TO regress_clerk;
SELECT lives_ok($$SELECT pg_temp.listen('{"n": 1, "decision": "yes"}')$$, 'a message answers an item');
SELECT is((SELECT concat(decision, ' ', decided_by) FROM twtasks.outcomes WHERE identifier = 'item-1'), format('yes %s', CASE WHEN :'is_edition' THEN session_user ELSE 'regress_clerk' END),
	'... in the name of the function''s owner, whom SQL cannot tell from its caller');
SELECT is(pg_temp.outcome('item-1')->'saw', '{"n": 1}', '... by what people read');
CREATE FUNCTION public.regress_forger(read_model jsonb, data jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp
	AS $$ BEGIN RAISE SQLSTATE 'TWT00'; END $$;
SELECT twtasks.configure_kind('forged', 'to_do', 'FORGED', 'forged-{/n}', decide => 'public.regress_forger', answerers => '{regress_clerk}');
SELECT twtasks.start('forged', '{"n": 1}') \g /dev/null
SELECT throws_ok($$SELECT twtasks.answer_to_do('forged', NULL, '{"n": 1}')$$, 'TWT00', NULL, 'an error of decide is one, whatever its SQLSTATE');

SELECT twtasks.start('item', '{"n": 2}') \g /dev/null
SELECT twtasks.resume_task(t.id, t.version) FROM twtasks.task t WHERE t.type = 'ITEM' \g /dev/null
CREATE FUNCTION public.regress_clerk(task twtasks.task_input) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT twtasks.set_outcome('{"decision": "yes"}') $$;
SELECT twtasks.run_inline('public.regress_clerk', 'ITEM', 1) \g /dev/null
SELECT is((SELECT concat(step, ' ', decision) FROM twtasks.outcomes WHERE identifier = 'item-2'), 'answer ', 'a handler answers no item');

-- ---- rights ----
SELECT throws_ok($$SELECT twtasks.add_task('FIND', '{"step": "attempt"}')$$, '42501', NULL, 'nobody adds a step by hand');
CREATE ROLE regress_app;
GRANT twtasks_producer TO regress_app;
CREATE ROLE regress_payer;
SELECT twtasks.allow_type('FIND', 'regress_payer') \g /dev/null
SET ROLE regress_app;
SELECT throws_ok($$SELECT twtasks.start('find', '{"n": 50}')$$, '42501', NULL, 'a role starts a kind if it may add tasks of its type');
RESET ROLE;
GRANT regress_payer TO regress_app;
SET ROLE regress_app;
SELECT twtasks.start('find', '{"n": 50, "find1": {"found": false}, "attempt1": {}}') \g /dev/null
RESET ROLE;
SELECT pg_temp.run('FIND');
SELECT is(pg_temp.outcome('find-50')->>'decision', 'done', 'the later steps need no such right');

-- ---- people ----
SELECT twtasks.start('find', '{"n": 9}') \g /dev/null
SELECT throws_ok($$SELECT twtasks.decide_by_hand('find', 'find-9', '{"no": 1}', 'x')$$, '22023', NULL, 'a person makes a decision');
SELECT ok(twtasks.decide_by_hand('find', 'find-9', '{"decision": "paid"}', 'the bank says so'), 'a person may decide');
SELECT is((SELECT concat(decision, ' ', decided_by = session_user) FROM twtasks.outcomes WHERE identifier = 'find-9'), 'paid t', 'the outcome says who decided');
SELECT ok(NOT twtasks.decide_by_hand('find', 'find-9', '{"decision": "lost"}', 'x'), '... once');
SELECT is(twtasks.forget_outcomes('find', '0'), 0::bigint, 'outcomes stay as long as the history');
TRUNCATE twtasks.finished_task, twtasks.unique_key;
SELECT cmp_ok(twtasks.forget_outcomes('find', '-1 s'), '>', 0::bigint, 'old outcomes can be forgotten');
SELECT is_empty($$SELECT * FROM twtasks.broken_outcomes WHERE broken !~ '^what its outcome starts fails'$$, 'no invariant is broken');
SELECT * FROM finish();
ROLLBACK;
