--
-- twtasks_events: changes that would break an order are refused, or do no harm:
-- of policies of a stream's type, by hand, and by who adds tasks.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(41);
SELECT twtasks.configure_stream('works', 'WORKS', batch => 2) \g /dev/null

CREATE FUNCTION pg_temp.head() RETURNS twtasks.task LANGUAGE sql AS $$ SELECT t FROM twtasks.task t JOIN twtasks.event_object o ON o.head = t.id $$;
-- The next head, made by the duty, or the reason why there is none.
CREATE FUNCTION pg_temp.next_head() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks_internal.start_events();
	RETURN (SELECT coalesce(o.problem, t.data #>> '{events,0,event}')
			FROM twtasks.event_objects o LEFT JOIN twtasks.task t ON t.id = o.head WHERE o.object = 'o');
END $$;
-- The same, made by the end of the head before.
CREATE FUNCTION pg_temp.follow() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.cancel_task((pg_temp.head()).id);
	RETURN (SELECT coalesce(o.problem, t.data #>> '{events,0,event}')
			FROM twtasks.event_objects o LEFT JOIN twtasks.task t ON t.id = o.head WHERE o.object = 'o');
END $$;
CREATE FUNCTION pg_temp.queued() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM twtasks.event $$;

-- ---- policies ----
SELECT throws_ok($$SELECT twtasks.configure_type('WORKS', on_end => 'none')$$, '55000', NULL, 'the end of the type is the stream''s');
SELECT throws_ok($$SELECT twtasks.configure_type('WORKS', expires_after => '1 h')$$, '55000', NULL, 'heads do not expire');
SELECT throws_ok($$SELECT twtasks.unset_type_options('WORKS', 'on_end')$$, '55000', NULL, 'the end cannot be unset');
SELECT throws_ok($$SELECT twtasks.drop_type_policy('WORKS')$$, '55000', NULL, 'the policy stays');
SELECT throws_like($$UPDATE twtasks.type_policy SET pattern = 'OTHER' WHERE pattern = 'WORKS'$$, '%type "WORKS" belong to stream "works"',
	'the message names type and stream');
SELECT lives_ok($$SELECT twtasks.configure_type('WORKS', stuck => 'retry', timeout => '7 s')$$, 'other options can be changed');
SELECT twtasks.configure_type('*', expires_after => '1 ms', on_end => 'none'), twtasks.configure_type('WO*', expires_after => '1 ms', on_end => 'none') \g /dev/null
SELECT twtasks.add_event('works', 'o', '"a"', ARRAY['"b"', '"c"']::jsonb[]) \g /dev/null
SELECT is(pg_temp.next_head(), 'a', 'policies of shorter patterns do not matter');
SELECT is((pg_temp.head()).expires, NULL, 'a head does not expire by them');
SELECT is((SELECT (p).on_end FROM twtasks.policy_of('WORKS') p), 'twtasks_internal.end_events', 'and its end is heard of');
SELECT twtasks.drop_type_policy('*'), twtasks.drop_type_policy('WO*') \g /dev/null

-- ---- intercepts ----
CREATE FUNCTION public.regress_intercept(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	CASE current_setting('test.intercept')
		WHEN 'type' THEN task.type := 'OTHER';
		WHEN 'data' THEN task.data := '{"object": "o", "events": []}';
		WHEN 'key' THEN task.key := 'k';
		WHEN 'task_id' THEN task.task_id := '00000000-0000-0000-0000-000000000001';
		WHEN 'run_after' THEN task.run_after := now() + interval '1 h';
		WHEN 'expires' THEN task.expires := now() + interval '1 h';
		WHEN 'context' THEN task.context := '{"less": 1}';
		WHEN 'payload' THEN task.payload := '\x00';
		WHEN 'NULL' THEN task := NULL;
		WHEN 'free' THEN
			task.sub_type := 'p';
			task.bucket := 'b';
			task.priority := 1;
			task.context := coalesce(task.context, '{}') || '{"more": 1}';
		ELSE
	END CASE;
	RETURN task;
END $$;
SELECT twtasks.configure_type('*', intercept => 'public.regress_intercept') \g /dev/null
SET test.intercept = 'key';
SELECT matches(pg_temp.follow(), 'must not change key of a task of type "WORKS"', 'an end whose next head gets a key keeps the events, and shows why');
SELECT is((pg_temp.head()).id, NULL, 'there is no head');
SELECT is(pg_temp.queued(), 1::bigint, 'the event is still in the queue');
SELECT is((SELECT count(*) FROM twtasks.objects_with_events), 1::bigint, 'and its object on the list');
CREATE FUNCTION pg_temp.intercepted(how text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('test.intercept', how, true);
	RETURN pg_temp.next_head() || ', ' || pg_temp.queued();
END $$;
SELECT set_config('twtasks.context', '{"request": 7}', true) \g /dev/null
SELECT is(pg_temp.intercepted(f), format('function "public.regress_intercept" for intercept must not change %s of a task of type "WORKS", 1', f), 'a head keeps its ' || f)
FROM unnest('{type,data,key,task_id,run_after,expires,context,payload}'::text[]) f;
SELECT is(pg_temp.intercepted('NULL'), 'task of type "WORKS" was refused by function "public.regress_intercept", 1', 'a head that is refused keeps its events');
SELECT is(pg_temp.intercepted('free'), 'c, 0', 'what is free can be changed');
SELECT is((SELECT concat_ws(' ', h.sub_type, h.bucket, h.priority, h.context) FROM pg_temp.head() h), 'p b 1 {"more": 1, "request": 7}', 'that is sub_type, bucket, priority, and more of the context');
SELECT twtasks.configure_type('*', intercept => 'none') \g /dev/null

-- An intercept of another type does not make a head either.
CREATE FUNCTION public.regress_to_head(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	task.type := 'WORKS';
	RETURN task;
END $$;
SELECT twtasks.configure_type('DISGUISED', intercept => 'public.regress_to_head') \g /dev/null

-- ---- forged heads ----
CREATE ROLE regress_forger;
GRANT twtasks_producer, twtasks_worker, twtasks_operator TO regress_forger;
CREATE FUNCTION public.regress_message(message twtasks.message) RETURNS twtasks.new_task LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT ROW('WORKS', '{"object": "o"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task $$;
CREATE FUNCTION pg_temp.message() RETURNS twtasks.message[] LANGUAGE sql AS $$ SELECT ARRAY[ROW('t', 0, 0, now(), NULL, '\x7b7d', NULL)::twtasks.message] $$;
SELECT (twtasks.add_task('OWN', task_id => pg_temp.id(7))).result, pg_temp.grab(pg_temp.id(7)), pg_temp.finish(pg_temp.id(7), 'accepted') \g /dev/null
SET ROLE regress_forger;
SELECT throws_ok($$SELECT twtasks.add_task('WORKS')$$, '42501', NULL, 'no head comes by add_task()');
SELECT throws_ok($$SELECT twtasks.add_task('DISGUISED')$$, '42501', NULL, 'nor by an intercept');
SELECT throws_ok($$SELECT twtasks.add_tasks('WORKS', ARRAY['{}']::jsonb[])$$, '42501', NULL, 'nor by add_tasks()');
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "DISGUISED"}]'::jsonb)$$, '42501', NULL, 'nor by the intercept of one of many');
SELECT throws_ok($$SELECT twtasks.schedule('s', '* * * * *', 'WORKS')$$, '42501', NULL, 'nor by a schedule');
SELECT throws_ok($$SELECT twtasks.schedule('s', '* * * * *', 'DISGUISED')$$, '42501', NULL, 'nor by a schedule and an intercept');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, ARRAY[ROW('WORKS', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task])$$,
	'42501', NULL, 'nor by a consumer');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => pg_temp.message(), type => 'WORKS')$$, '42501', NULL, 'nor by a message');
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => pg_temp.message(), type => 'DISGUISED')$$, '42501', NULL, 'nor by a message and an intercept');
SELECT throws_ok($$SELECT twtasks.finish_task('00000000-0000-0000-0000-000000000007', 1, add => '[{"type": "WORKS"}]')$$, '42501', NULL, 'nor by finish_task()');
RESET ROLE;
SELECT throws_ok($$SELECT twtasks.take_messages('l', 't', 0, 0, 1, messages => pg_temp.message(), function => 'public.regress_message')$$, '42501', NULL, 'nor by the function of a listener');

-- ---- by hand ----
SELECT pg_temp.follow() \g /dev/null
SELECT throws_like(format('SELECT twtasks.reopen_task(%L)', f.id), 'head task of object "%" cannot be reopened', 'a head that was cancelled is not reopened')
FROM twtasks.finished_task f WHERE f.type = 'WORKS' AND f.status = 'CANCELLED' AND f.sub_type = 'o' LIMIT 1;
SELECT throws_ok($$SELECT * FROM twtasks.change_tasks('reopen', 'WORKS', 'test', statuses => '{CANCELLED}', since => '-infinity')$$, '55000', NULL, 'nor are many');
SELECT is_empty($$SELECT FROM twtasks.task WHERE type = 'WORKS'$$, 'so no object has two heads');

-- A type that the stream has left is kept while it has heads.
SELECT twtasks.add_event('works', 'o', '"d"') \g /dev/null
SELECT is(pg_temp.next_head(), 'd', 'the object goes on');
SELECT twtasks.configure_stream('works', 'LATER') \g /dev/null
SELECT throws_ok($$SELECT twtasks.drop_type_policy('WORKS')$$, '55000', NULL, 'the policy of a type with live heads stays');
SELECT twtasks.cancel_task((pg_temp.head()).id) \g /dev/null
SELECT ok(twtasks.drop_type_policy('WORKS'), 'and goes when no head is left');
SELECT * FROM finish();
ROLLBACK;
