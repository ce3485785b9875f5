--
-- twtasks_events: the list of objects with events.  Neither an object with many
-- entries nor one that stays on the list holds up others.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(13);
SELECT twtasks.configure_stream('hot', 'HOT', batch => 100), twtasks.configure_stream('other', 'OTHER') \g /dev/null
CREATE FUNCTION pg_temp.entries() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s', object, n), ', ' ORDER BY object)
	FROM (SELECT object, count(*) AS n FROM twtasks.objects_with_events GROUP BY object) o
$$;
CREATE FUNCTION pg_temp.heads() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(sub_type, ' ' ORDER BY sub_type) FROM twtasks.task $$;

-- ---- many entries of an object ----
SELECT count(twtasks.add_event('hot', 'o', to_jsonb(n))) FROM generate_series(1, 250) n \g /dev/null
SELECT twtasks.add_event('other', 'p', '1') \g /dev/null
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(10)), '(2,t)', 'another object does not wait behind the entries of one');
SELECT is(pg_temp.heads(), 'o p', 'both have their heads');
SELECT is(pg_temp.entries(), 'o 150, p 1', 'a call removes ten entries for each object that it may look at');
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(10)), '(0,t)', 'a further call goes on');
SELECT is(pg_temp.entries(), 'o 51', 'and begins with another object');
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(10)), '(0,f)', 'and then there is no more to do');
SELECT is(pg_temp.entries(), NULL, 'the list is empty');

-- ---- objects that stay on the list ----
CREATE FUNCTION public.regress_broken(task twtasks.new_task) RETURNS twtasks.new_task LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE 'it is broken' USING ERRCODE = 'invalid_parameter_value';
END $$;
SELECT twtasks.configure_stream('bad', 'BAD'), twtasks.configure_type('BAD', intercept => 'public.regress_broken') \g /dev/null
SELECT twtasks.add_event('bad', 'b' || n, '1'), twtasks.add_event('bad', 'b' || n, '2') FROM generate_series(1, 5) n \g /dev/null
SELECT twtasks.add_event('other', 'q', '1') \g /dev/null
UPDATE twtasks.event_place SET listed_stream = NULL, listed_object = NULL;
SELECT is((SELECT string_agg((given, more)::text, ' ' ORDER BY n) FROM generate_series(1, 3) n,
	LATERAL (SELECT s.given, s.more FROM twtasks_internal.start_events(n * 0 + 2) s) s), '(0,f) (0,f) (1,t)', 'objects at fault hold up another for a while');
SELECT is(pg_temp.heads(), 'o p q', 'but not for ever');
SELECT is(pg_temp.entries(), 'b1 1, b2 1, b3 1, b4 1, b5 1', 'each object at fault has one entry, however many events it has');
SELECT count(twtasks.add_event('bad', 'b1', '3')) FROM generate_series(1, 50) \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT is(pg_temp.entries(), 'b1 1, b2 1, b3 1, b4 1, b5 1', 'also after further events');

-- ---- the same object in two streams ----
SELECT twtasks.add_event('other', 's', '1'), twtasks.add_event('hot', 's', '1') \g /dev/null
SELECT is((SELECT given FROM twtasks_internal.start_events()), 2::bigint, 'objects of two streams may have the same name');
SELECT is((SELECT string_agg(data ->> 'stream', ' ' ORDER BY type) FROM twtasks.task WHERE sub_type = 's'), 'hot other', 'and their heads tell the stream');
SELECT * FROM finish();
ROLLBACK;
