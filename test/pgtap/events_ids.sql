--
-- twtasks_events: an id that was given does not come again, whatever state of the
-- sequences and of the objects somebody has restored.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(21);
SELECT twtasks.configure_stream('works', 'WORKS') \g /dev/null

CREATE FUNCTION pg_temp.micros() RETURNS bigint LANGUAGE sql AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
-- Adds an event, and returns the id that it gets, or the problem.
CREATE FUNCTION pg_temp.send(object text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM twtasks.cancel_task(t.id) FROM twtasks.task t WHERE t.sub_type = send.object;
	PERFORM twtasks.add_event('works', object, '1');
	PERFORM twtasks_internal.start_events();
	RETURN (SELECT coalesce(o.problem, o.last_id::text) FROM twtasks.event_objects o WHERE o.object = send.object);
END $$;
CREATE TABLE pg_temp.given (name text, id bigint);

-- ---- the first ids ----
SELECT pg_temp.micros() AS before \gset
INSERT INTO pg_temp.given SELECT 'first', pg_temp.send('o')::bigint;
SELECT ok((SELECT id BETWEEN :before AND pg_temp.micros() FROM pg_temp.given), 'ids begin at the clock, above those of an earlier extension');
SELECT cmp_ok(:before, '<', 9007199254740992, 'JSON carries them exactly');
SELECT is(pg_temp.send('o'), (SELECT (id + 1)::text FROM pg_temp.given WHERE name = 'first'), 'then they count');

-- ---- the sequence alone is old ----
SELECT setval('twtasks.event_id_seq', 17) \g /dev/null
SELECT pg_temp.micros() AS before \gset
SELECT cmp_ok(pg_temp.send('o')::bigint, '>=', :before, 'a sequence that is far behind is raised to the clock before it gives ids');
SELECT is((SELECT data #>> '{events,0,prev}' FROM twtasks.task), (SELECT (id + 1)::text FROM pg_temp.given WHERE name = 'first'), 'the chain goes on');
-- A sequence that is less than a minute behind the clock.
SELECT setval('twtasks.event_id_seq', last_id - 5) FROM twtasks.event_object \g /dev/null
SELECT last_id AS last FROM twtasks.event_object \gset
SELECT is(pg_temp.send('o'), 'ids of events were behind those that objects have', 'an id below that of its object is not given');
SELECT is((SELECT queued FROM twtasks.event_objects), 1::bigint, 'the event waits');
SELECT is((SELECT given FROM twtasks_internal.start_events()), 1::bigint, 'and is sent at once');
SELECT cmp_ok((SELECT last_id FROM twtasks.event_object), '>', :last, 'with an id above all that its object has');
-- A clock that was wrong.
UPDATE twtasks.event_object SET last_id = 8000000000000000;
SELECT pg_temp.send('o') \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT cmp_ok((SELECT last_id FROM twtasks.event_object), '>', 8000000000000000, 'also above the clock');
SELECT is_empty('SELECT FROM twtasks.broken_event_objects', 'no invariant is broken');

-- ---- a copy ----
SELECT pg_temp.send('q') AS last \gset
UPDATE twtasks.adoption SET ended = now() WHERE ended IS NULL;
SELECT is(pg_temp.send('q'), 'this database sends no events: it is a copy that was not adopted', 'a copy gives no ids');
SELECT is((SELECT concat_ws(' ', queued, head, last_id) FROM twtasks.event_objects WHERE object = 'q'), '1 ' || :'last', 'its events wait');
-- The state of some seconds ago: sequences and objects are behind what consumers know.
SELECT setval('twtasks.event_id_seq', greatest(pg_temp.micros() - 10000000, 1)), setval('twtasks.event_seq_seq', 1), setval('twtasks.objects_with_events_entry_seq', 1) \g /dev/null
UPDATE twtasks.event_object SET last_id = 1, sent_id = 1;
SELECT pg_temp.micros() AS before \gset
SELECT twtasks.adopt(NULL, hold => false) \g /dev/null
SELECT cmp_ok((SELECT last_value FROM twtasks.event_id_seq), '>=', :before, 'adopt() raises the ids');
SELECT cmp_ok((SELECT last_value FROM twtasks.event_seq_seq), '>=', :before, 'and the order in the queue');
SELECT cmp_ok((SELECT last_value FROM twtasks.objects_with_events_entry_seq), '>=', :before, 'and in the list');
SELECT cmp_ok(pg_temp.send('q')::bigint, '>', :before, 'so no id comes again');
SELECT is((SELECT data #>> '{events,0,prev}' FROM twtasks.task WHERE sub_type = 'q'), '1', 'and the chain goes on');
SELECT is((SELECT problem FROM twtasks.event_objects WHERE object = 'q'), NULL, 'its problem is over');

-- A row of the original, by logical replication or COPY.
SELECT setval('twtasks.event_seq_seq', 1) \g /dev/null
INSERT INTO twtasks.adoption SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'ended', now()))).* FROM twtasks.adoption a LIMIT 1;
SELECT cmp_ok((SELECT last_value FROM twtasks.event_seq_seq), '>=', :before, 'a row that is copied raises them too');
SELECT is((SELECT tgenabled FROM pg_trigger WHERE tgname = 'raise_ids'), 'A', 'also in a session that replicates');
SELECT * FROM finish();
ROLLBACK;
