--
-- twtasks_events: many large events, and functions that take too long, stop
-- neither their object for ever nor other objects.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(32);
SELECT twtasks.configure_stream('many', 'MANY', batch => 10000), twtasks.configure_stream('large', 'LARGE', batch => 100), twtasks.configure_stream('small', 'SMALL') \g /dev/null

-- Events of that size.  The text does not matter.
CREATE FUNCTION pg_temp.add(stream text, object text, size integer, n integer) RETURNS void LANGUAGE sql
AS $$ SELECT twtasks.add_event(stream, object, e[1], e[2:]) FROM (SELECT array_fill(to_jsonb(repeat('x', size)), ARRAY[n]) AS e) a $$;
CREATE FUNCTION pg_temp.heads(wanted text) RETURNS SETOF twtasks.task LANGUAGE sql AS $$ SELECT * FROM twtasks.task t WHERE t.type = upper(wanted) ORDER BY t.sub_type $$;
-- Ends heads of a stream until none is left; returns how many events each had.
CREATE FUNCTION pg_temp.send(stream text) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
	head twtasks.task;
	sizes integer[] := '{}';
BEGIN
	FOR i IN 1 .. 1000 LOOP
		SELECT * INTO head FROM pg_temp.heads(stream) LIMIT 1;
		EXIT WHEN head.id IS NULL;
		sizes := sizes || jsonb_array_length(head.data -> 'events');
		PERFORM pg_temp.grab(head.id), pg_temp.finish(head.id, 'done');
		PERFORM twtasks_internal.start_events();
	END LOOP;
	RETURN sizes;
END $$;

-- ---- large heads ----
SELECT pg_temp.add('many', 'o', 1400, 10001), pg_temp.add('many', 'o', 1400, 1999) \g /dev/null
SELECT is((SELECT given FROM twtasks_internal.start_events()), 1::bigint, 'an object with 17 MB in one batch gets a head');
SELECT cmp_ok((SELECT size FROM pg_temp.heads('many')), '<=', 1048576, 'which has at most 1 MB');
SELECT cmp_ok((SELECT size FROM pg_temp.heads('many')), '>', 900000, 'and not much less');
SELECT is((SELECT sum(s) FROM unnest(pg_temp.send('many')) s), 12000::bigint, 'all events are sent in the end');
SELECT is((SELECT count(*) FROM (
	SELECT (e ->> 'prev')::bigint <> lag((e ->> 'id')::bigint, 1, 0::bigint) OVER (ORDER BY (e ->> 'id')::bigint) OR e ? 'skipped' AS is_broken
	FROM twtasks.finished_task f, jsonb_array_elements(f.data -> 'events') e WHERE f.type = 'MANY') c WHERE is_broken), 0::bigint, 'in one chain');
SELECT pg_temp.add('large', 'o', 150000, 20), pg_temp.add('large', 'o', 3000000, 1), pg_temp.add('large', 'o', 150000, 5) \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT is(pg_temp.send('large'), '{6,6,6,2,1,5}', 'events of 150 kB go by six, and a larger one alone');

-- ---- many objects ----
SELECT pg_temp.add('large', 'p' || n, 900000, 1) FROM generate_series(10, 29) n \g /dev/null
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events()), '(5,f)', 'a call gives some megabytes');
SELECT is((SELECT count(DISTINCT object) FROM twtasks.objects_with_events), 15::bigint, 'other objects stay on the list');
SELECT is((SELECT count(*) FROM twtasks.event_objects WHERE problem IS NOT NULL), 0::bigint, 'that is no problem of theirs');
SELECT is((SELECT sum(given) FROM generate_series(1, 3) n, LATERAL (SELECT given FROM twtasks_internal.start_events(n * 0 + 1000)) s), 15::numeric, 'further calls give their heads');
SELECT is((SELECT count(*) FROM pg_temp.heads('large')), 20::bigint, 'each object has one');
SELECT is_empty('SELECT FROM twtasks.broken_event_objects', 'no invariant is broken');
SELECT pg_temp.send('large') \g /dev/null

-- ---- heads that end together ----
SELECT pg_temp.add('large', 'p' || n, 10, 1) FROM generate_series(10, 29) n \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT pg_temp.add('large', 'p' || n, 900000, 1) FROM generate_series(10, 29) n \g /dev/null
SELECT pg_temp.grab(h.id) FROM pg_temp.heads('large') h \g /dev/null
SELECT is((SELECT count(*) FROM pg_temp.heads('large') h WHERE jsonb_array_length(h.data -> 'events') = 1 AND h.size < 1000), 20::bigint, 'twenty heads run');
SELECT is((SELECT count(*) FROM (SELECT array_agg(h.id) AS ids, array_agg(h.version) AS versions FROM pg_temp.heads('large') h) a,
	LATERAL twtasks_internal.finish_tasks(a.ids, a.versions, array_fill('done'::text, ARRAY[20]), array_fill(0::bigint, ARRAY[20]), array_fill(NULL::text, ARRAY[20]), pg_temp.node(), pg_temp.token()) f
	WHERE f.status = 'DONE'), 20::bigint, 'their ends hold');
SELECT is((SELECT count(*) FROM pg_temp.heads('large')), 5::bigint, 'the next heads have some megabytes');
DO $$ BEGIN FOR i IN 1 .. 4 LOOP PERFORM twtasks_internal.start_events(); END LOOP; END $$;
SELECT is((SELECT count(*) FROM pg_temp.heads('large') h WHERE NOT h.data -> 'events' -> 0 ? 'skipped'), 20::bigint, 'the others follow, and know that the last ones were sent');
SELECT pg_temp.send('large') \g /dev/null

-- ---- a function that takes too long, or fails in a way that nothing catches ----
CREATE FUNCTION public.regress_slow(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	WHILE task.sub_type = current_setting('test.slow') LOOP
		NULL;
	END LOOP;
	ASSERT task.sub_type <> current_setting('test.broken'), 'it is broken';
	RETURN task;
END $$;
SELECT twtasks.configure_type('LARGE', intercept => 'public.regress_slow') \g /dev/null
CREATE FUNCTION pg_temp.problem(wanted text) RETURNS text LANGUAGE sql AS $$ SELECT problem FROM twtasks.event_objects WHERE object = wanted $$;
SET test.slow = 'p11';
SET test.broken = 'p12';
SET twtasks.function_timeout = '1s';
SET client_min_messages = error;
SELECT pg_temp.add('large', 'p' || n, 10, 1), pg_temp.add('small', 'q' || n, 10, 1) FROM generate_series(10, 13) n \g /dev/null
-- The worst place to begin: the object that takes too long comes early in the next call.
UPDATE twtasks.event_place SET listed_stream = 'small', listed_object = 'q12';
SELECT is(twtasks_internal.run_duties(), 3000::bigint, 'the duty does not fail');
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT string_agg(t.sub_type, ' ' ORDER BY t.sub_type) FROM twtasks.task t WHERE t.type IN ('LARGE', 'SMALL')), 'p10 p13 q10 q11 q12 q13', 'all other objects, of all streams, go on');
SELECT matches(pg_temp.problem('p11'), 'took too long', 'the object at fault shows its problem');
SELECT is(pg_temp.problem('p12'), 'it is broken', 'so does the other one');
SELECT pg_temp.add('large', 'p14', 10, 1) \g /dev/null
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT isnt((SELECT head FROM twtasks.event_object WHERE object = 'p14'), NULL, 'an object without a problem does not wait for them');

-- The end of a head meets the same.
SELECT pg_temp.add('large', 'p10', 20, 1), pg_temp.add('large', 'p13', 20, 1) \g /dev/null
SELECT pg_temp.grab(h.id) FROM pg_temp.heads('large') h \g /dev/null
SET test.slow = 'p10';
SELECT is((SELECT count(*) FROM (SELECT array_agg(h.id) AS ids, array_agg(h.version) AS versions FROM pg_temp.heads('large') h) a,
	LATERAL twtasks_internal.finish_tasks(a.ids, a.versions, array_fill('done'::text, ARRAY[3]), array_fill(0::bigint, ARRAY[3]), array_fill(NULL::text, ARRAY[3]), pg_temp.node(), pg_temp.token()) f
	WHERE f.status = 'DONE'), 3::bigint, 'ends hold although a next head takes too long');
SELECT twtasks_internal.run_duties(), twtasks_internal.run_duties(), twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT string_agg(h.sub_type, ' ' ORDER BY h.sub_type) FROM pg_temp.heads('large') h), 'p11 p13', 'then others go on');
SELECT matches(pg_temp.problem('p10'), 'took too long', 'and it shows its problem');
SET test.slow = '';
SET test.broken = '';
SELECT twtasks_internal.run_duties() \g /dev/null
SELECT is((SELECT string_agg(h.sub_type, ' ' ORDER BY h.sub_type) FROM pg_temp.heads('large') h), 'p10 p11 p12 p13', 'when the function is mended, all go on');
SELECT is((SELECT h.data -> 'events' -> 0 ? 'skipped' FROM pg_temp.heads('large') h WHERE h.sub_type = 'p10'), false, 'nothing was skipped');
SELECT is((SELECT count(*) FROM twtasks.event_objects WHERE problem IS NOT NULL), 0::bigint, 'no problem is left');
SELECT is_empty('SELECT FROM twtasks.broken_event_objects', 'no invariant is broken');
SELECT is_empty($$SELECT FROM twtasks.task WHERE status = 'ERROR'$$, 'and no task is in ERROR');

-- ---- looks at all objects ----
CREATE FUNCTION pg_temp.look() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	UPDATE twtasks.event_place SET looked = looked - interval '2 min';
	PERFORM twtasks_internal.look_at_objects();
	RETURN (SELECT count(*) FROM twtasks.objects_with_events);
END $$;
SET test.broken = 'p15';
SELECT pg_temp.add('large', 'p15', 10, 1) \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT is(pg_temp.look(), 1::bigint, 'a look does not list an object with a problem again');
TRUNCATE twtasks.objects_with_events;
SELECT is(pg_temp.look(), 1::bigint, 'unless somebody has emptied the list');
SET test.broken = '';
SELECT twtasks_internal.start_events() \g /dev/null
SELECT isnt((SELECT head FROM twtasks.event_object WHERE object = 'p15'), NULL, 'the object goes on when the function is mended');
SELECT * FROM finish();
ROLLBACK;
