--
-- twtasks_kinds: nobody makes a step but the extension, and no policy or intercept
-- changes what the extension goes on by.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/kinds.sql
SELECT plan(15);
SELECT twtasks.configure_kind('pay', 'idempotent', 'PAY', 'pay-{/n}') \g /dev/null

-- ---- policies of shorter patterns ----
SELECT twtasks.configure_type('*', expires_after => '1 ms') \g /dev/null
SELECT is(twtasks.start('pay', '{"n": 1}'), 'started', 'an action starts');
SELECT is((SELECT expires FROM twtasks.task WHERE type = 'PAY'), NULL, 'its step does not expire by a policy of all types');
SELECT twtasks.drop_type_policy('*') \g /dev/null

-- ---- intercepts ----
CREATE FUNCTION public.regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	CASE current_setting('test.intercept')
		WHEN 'type' THEN task.type := 'OTHER';
		WHEN 'data' THEN task.data := '{"step": "attempt"}';
		WHEN 'key' THEN task.key := 'k';
		WHEN 'run_after' THEN task.run_after := now() + interval '1 h';
		WHEN 'expires' THEN task.expires := now() + interval '1 h';
		WHEN 'context' THEN task.context := '{}';
		ELSE task.context := task.context || '{"more": 1}';
	END CASE;
	RETURN task;
END $$;
SELECT twtasks.configure_type('*', intercept => 'public.regress_intercept') \g /dev/null
CREATE FUNCTION pg_temp.start_as(how text) RETURNS text LANGUAGE sql AS $$
	SELECT set_config('test.intercept', how, true);
	SELECT twtasks.start('pay', jsonb_build_object('n', how))
$$;
SELECT throws_ok(format('SELECT pg_temp.start_as(%L)', f), '55000', format('function "public.regress_intercept" for intercept must not change %s of a task of type "PAY"', f), 'a step keeps its ' || f)
FROM unnest('{type,data,key,run_after,expires,context}'::text[]) f;
SELECT is(pg_temp.start_as('free'), 'started', 'an intercept may add to the context');
SELECT is((SELECT context FROM twtasks.task WHERE data ->> 'identifier' = 'pay-free'), '{"idempotency_key": "pay-free", "more": 1}', 'which keeps the idempotency key');
SELECT twtasks.drop_type_policy('*') \g /dev/null

-- ---- forged steps ----
CREATE ROLE regress_forger;
GRANT twtasks_producer, twtasks_worker, twtasks_operator TO regress_forger;
CREATE FUNCTION pg_temp.message() RETURNS twtasks.message[] LANGUAGE sql AS $$ SELECT ARRAY[ROW('t', 0, 0, now(), NULL, '\x7b7d', NULL)::twtasks.message] $$;
SELECT (twtasks.add_task('OWN', task_id => pg_temp.id(7))).result, pg_temp.grab(pg_temp.id(7)), pg_temp.finish(pg_temp.id(7), 'accepted') \g /dev/null
SET ROLE regress_forger;
SELECT throws_ok($$SELECT twtasks.add_task('PAY')$$, '42501', NULL, 'no step comes by add_task()');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, ARRAY[ROW('PAY', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task])$$,
	'42501', NULL, 'nor by a consumer');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => pg_temp.message(), type => 'PAY')$$, '42501', NULL, 'nor by a message');
SELECT throws_ok($$SELECT twtasks.finish_task('00000000-0000-0000-0000-000000000007', 1, add => '[{"type": "PAY"}]')$$, '42501', NULL, 'nor by finish_task()');
RESET ROLE;
SELECT is(twtasks.start('pay', '{"n": 2}'), 'started', 'the extension itself goes on');
SELECT * FROM finish();
ROLLBACK;
