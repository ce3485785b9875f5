--
-- twtasks_events: what is refused, what a head carries, and how a chain goes on
-- when its head ends.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(71);
-- Columns of users may have the names of our variables.
ALTER TABLE twtasks.event_object ADD i text, ADD given text, ADD added text;

-- ---- streams ----
CREATE FUNCTION public.regress_other(ended twtasks.ended_task[]) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$ SELECT $$;
SELECT throws_ok($$SELECT twtasks.configure_stream(NULL, 'T')$$, '22004', NULL, 'a stream has a name');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', NULL)$$, '22004', NULL, 'a stream has a type');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T', NULL)$$, '22004', NULL, 'a stream has a batch');
SELECT throws_ok($$SELECT twtasks.configure_stream('', 'T')$$, '22023', NULL, 'an empty name is refused');
SELECT throws_ok($$SELECT twtasks.configure_stream(repeat('n', 251), 'T')$$, '22023', NULL, 'a name of 251 bytes is refused');
SELECT throws_ok($$SELECT twtasks.configure_stream(E'a\nb', 'T')$$, '22023', NULL, 'a name with a line end is refused');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T*')$$, '22023', NULL, 'a pattern is no type');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T', 0)$$, '22023', NULL, 'a batch has an event');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T', 10001)$$, '22023', NULL, 'a batch has at most 10,000 events');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T', bucket => 'nowhere')$$, '22023', NULL, 'the bucket must be there');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T', priority => 10)$$, '22023', NULL, 'priorities end with 9');
SELECT twtasks.configure_type('OTHER', on_end => 'public.regress_other');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'OTHER')$$, '55000', NULL, 'the end of the type must not be another function''s');
SELECT is_empty('SELECT FROM twtasks.event_streams', 'nothing is stored of what is refused');

SELECT lives_ok($$SELECT twtasks.configure_stream(repeat('n', 250), 'T')$$, 'a name of 250 bytes is taken');
SELECT twtasks.configure_type('WORKS', bucket => 'a');
SET LOCAL twtasks.on_behalf_of = 'anne';
SELECT twtasks.configure_stream('works', 'WORKS', batch => 2);
SET LOCAL twtasks.on_behalf_of = '';
SELECT is((SELECT changed_by FROM twtasks.event_streams WHERE name = 'works'), 'anne', 'a stream names the person for whom a program changed it');
SELECT is((SELECT bucket FROM twtasks.event_streams WHERE name = 'works'), 'a', 'the bucket is that of the type');
SELECT twtasks.configure_stream('works', 'WORKS', batch => 2, bucket => 'b', priority => 3);
SELECT is((SELECT concat_ws(' ', type, batch, bucket, priority) FROM twtasks.event_streams WHERE name = 'works'), 'WORKS 2 b 3',
	'a stream can be changed');

-- ---- bad events ----
SELECT throws_ok($$SELECT twtasks.add_event(NULL, 'o', '1')$$, '22004', NULL, 'an event has a stream');
SELECT throws_ok($$SELECT twtasks.add_event('works', NULL, '1')$$, '22004', NULL, 'an event has an object');
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', NULL)$$, '22004', NULL, 'an event has content');
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', '1', NULL)$$, '22004', NULL, 'there is a list of sub-events');
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', '1', '{NULL}')$$, '22004', NULL, 'a sub-event has content');
SELECT throws_ok($$SELECT twtasks.add_event('none', 'o', '1')$$, '42704', NULL, 'an unknown stream is refused');
SELECT throws_ok($$SELECT twtasks.add_event(repeat('s', 100000), 'o', '1')$$, '42704', NULL, 'so is one whose name is very long');
SELECT throws_ok($$SELECT twtasks.add_event('works', '', '1')$$, '22023', NULL, 'an empty object is refused');
SELECT throws_ok($$SELECT twtasks.add_event('works', repeat('ö', 126), '1')$$, '22023', NULL, 'an object of 252 bytes is refused');
SELECT throws_ok($$SELECT twtasks.add_event('works', E'o\tp', '1')$$, '22023', NULL, 'an object with a tab is refused');
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', '1', array_fill('1'::jsonb, ARRAY[10001]))$$, '54000', NULL,
	'10,001 sub-events are refused');
SET twtasks.max_payload = '2kB';
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', to_jsonb(repeat('x', 2000)))$$, '54000', NULL, 'an event that no task can carry is refused');
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', '1', ARRAY[to_jsonb(repeat('x', 2000))])$$, '54000', NULL, 'so is such a sub-event');
SELECT is_empty('SELECT FROM twtasks.event UNION ALL SELECT FROM twtasks.objects_with_events', 'nothing is stored of what is refused');

-- The largest event that is taken can be sent, and a head is no larger than that.
SELECT twtasks.add_event('works', repeat('ö', 115), to_jsonb(repeat('x', 2048 - 300 - 6 * 230 - 6 * 5 - 2)), ARRAY['1', '2']::jsonb[]);
SELECT is((SELECT given FROM twtasks_internal.start_events()), 1::bigint, 'the largest event fits into a head task');
SELECT is((SELECT jsonb_array_length(data -> 'events') FROM twtasks.task), 1, 'but no other beside it');
RESET twtasks.max_payload;
SELECT twtasks.add_event('works', 'many', '0', array_fill('1'::jsonb, ARRAY[10000]));
SELECT is((SELECT queued FROM twtasks.event_objects WHERE object = 'many'), 10001::bigint, '10,000 sub-events are taken');
TRUNCATE twtasks.task, twtasks.event, twtasks.event_object, twtasks.objects_with_events;

-- ---- rights ----
SET ROLE twtasks_producer;
SELECT lives_ok($$SELECT twtasks.add_event('works', 'o', '1')$$, 'a producer adds events');
SELECT throws_ok($$SELECT twtasks.configure_stream('s', 'T')$$, '42501', NULL, 'but makes no stream');
SELECT throws_ok($$SELECT FROM twtasks.event$$, '42501', NULL, 'and reads no event');
RESET ROLE;
CREATE ROLE regress_payments;
SELECT twtasks.allow_type('WORKS', 'regress_payments');
SET ROLE twtasks_producer;
SELECT throws_ok($$SELECT twtasks.add_event('works', 'o', '1')$$, '42501', NULL, 'nor adds events to a stream whose type it may not add');
RESET ROLE;
SELECT twtasks.disallow_type('WORKS', 'regress_payments');
SELECT is((SELECT count(*) FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid JOIN pg_extension e ON e.oid = d.refobjid AND d.deptype = 'e',
			   aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		   WHERE e.extname = 'twtasks_events' AND (a.grantee = 0 OR p.proowner <> 'twtasks_owner'::regrole
				OR NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}')) AND p.prosrc <> 'twt_as_owner_needs_1_1')), 0::bigint,
	'all functions are twtasks_owner''s, are not PUBLIC''s, and fix their search_path');
SELECT is((SELECT count(*) FROM pg_class c, aclexplode(c.relacl) a
		   WHERE c.relnamespace = 'twtasks'::regnamespace AND c.relname ~ 'event' AND c.relkind IN ('r', 'S', 'v')
			 AND (c.relowner <> 'twtasks_owner'::regrole
				  OR a.grantee <> c.relowner AND (c.relkind <> 'v' OR a.privilege_type <> 'SELECT' OR a.grantee = 0))), 0::bigint,
	'all tables are twtasks_owner''s alone');
TRUNCATE twtasks.task, twtasks.event, twtasks.event_object, twtasks.objects_with_events;

-- ---- the chain ----
CREATE VIEW pg_temp.heads AS SELECT t.sub_type AS object, t.data -> 'events' AS events FROM twtasks.task t;
CREATE FUNCTION pg_temp.started() RETURNS bigint LANGUAGE sql AS $$ SELECT given FROM twtasks_internal.start_events() $$;
SELECT setval('twtasks.event_id_seq', 9000000000000100);
SELECT twtasks.add_event('works', 'o', '"a"', ARRAY['"b"', '"c"']::jsonb[]);
SELECT is(pg_temp.started(), 1::bigint, 'a listed object gets a head');
SELECT is((SELECT data FROM twtasks.task), '{"stream": "works", "object": "o", "events": [{"id": 9000000000000101, "prev": 0, "event": "a"}, {"id": 9000000000000102, "prev": 9000000000000101, "event": "b"}]}',
	'the head has as many events as a batch, each with id and prev');
SELECT is((SELECT concat_ws(' ', type, sub_type, bucket, priority) FROM twtasks.task), 'WORKS o b 3', 'the head is as the stream says');
SELECT is(pg_temp.started(), 0::bigint, 'nothing is left on the list');
SELECT twtasks.add_event('works', 'o', '"d"');
SELECT is(pg_temp.started(), 0::bigint, 'an object with a live head gets no other');
SELECT is_empty('SELECT FROM twtasks.objects_with_events', 'since its end looks at the queue, its entry goes');

-- As an operator does it.
CREATE FUNCTION pg_temp.cancel_head() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	head twtasks.task;
BEGIN
	SELECT t.* INTO STRICT head FROM twtasks.task t WHERE t.sub_type = 'o';
	PERFORM twtasks.cancel_task(head.id, head.version, 'not wanted');
	RETURN (SELECT f.status FROM twtasks.finished_task f WHERE f.id = head.id);
END $$;
SELECT is(pg_temp.cancel_head(), 'CANCELLED', 'a person cancels the head');
SELECT is((SELECT events FROM pg_temp.heads), '[{"id": 9000000000000103, "prev": 9000000000000102, "event": "c", "skipped": 0}, {"id": 9000000000000104, "prev": 9000000000000103, "event": "d"}]',
	'the next head says what may never have arrived');
SELECT is((SELECT concat_ws(' ', queued, status, last_id, sent_id) FROM twtasks.event_objects WHERE object = 'o'), '0 SUBMITTED 9000000000000104 0', 'the view shows it');
SELECT twtasks.add_event('works', 'o', '"e"');
SELECT is(pg_temp.cancel_head(), 'CANCELLED', 'a person cancels that head too');
SELECT is((SELECT events FROM pg_temp.heads), '[{"id": 9000000000000105, "prev": 9000000000000104, "event": "e", "skipped": 0}]', 'the next head still says from where');
UPDATE twtasks.event_object SET sent_id = last_id;
SELECT is((SELECT count(*) FROM twtasks.broken_event_objects), 0::bigint, 'no invariant is broken');

-- ---- repairs ----
SELECT twtasks.add_event('works', 'p', '"x"');
DELETE FROM twtasks.objects_with_events;
SELECT is((SELECT broken FROM twtasks.broken_event_objects), 'events are queued, but the object is not listed and has no live head',
	'the view shows an object that was forgotten');
SELECT is(pg_temp.started(), 0::bigint, 'the list does not know of it');
UPDATE twtasks.event_place SET looked = looked - interval '61 s';
SELECT is(twtasks_internal.duty_start_events(), 3000::bigint, 'the duty looks at all objects once a minute');
SELECT is((SELECT count(*) FROM pg_temp.heads WHERE object = 'p'), 1::bigint, 'so it finds the forgotten one');
DELETE FROM twtasks.task WHERE sub_type = 'p';
SELECT twtasks.add_event('works', 'look:' || n, '1') FROM generate_series(1, 5) n;
TRUNCATE twtasks.objects_with_events;
UPDATE twtasks.event_place SET looked = looked - interval '61 s';
SELECT FROM twtasks_internal.look_at_objects(2);
SELECT is((SELECT string_agg(object, ' ' ORDER BY entry) FROM twtasks.objects_with_events), 'look:1 look:2', 'a look takes so many objects at a time');
SELECT FROM twtasks_internal.look_at_objects(2);
SELECT FROM twtasks_internal.look_at_objects(2);
SELECT FROM twtasks_internal.look_at_objects(2);
SELECT is((SELECT string_agg(object, ' ' ORDER BY entry) FROM twtasks.objects_with_events), 'look:1 look:2 look:3 look:4 look:5', 'and goes on until all are seen');
SELECT FROM twtasks_internal.start_events();
SELECT is((SELECT broken FROM twtasks.broken_event_objects), 'the head task is gone without its end', 'the view shows a head that somebody has deleted');
SELECT twtasks.add_event('works', 'p', '"y"');
SELECT is(pg_temp.started(), 1::bigint, 'the next event starts another');
SELECT matches((SELECT events::text FROM pg_temp.heads WHERE object = 'p'), '"skipped": 0', 'that says what may be missing');

-- ---- a long list ----
SELECT twtasks.add_event('works', 'l', '1'), twtasks.add_event('works', 'l', '2'), twtasks.add_event('works', 'm', '1');
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(1)), '(1,t)', 'there is more to do while the list goes on');
SELECT twtasks.add_event('works', 'l', '3');
DO $$ BEGIN FOR i IN 1 .. 2 LOOP PERFORM twtasks.cancel_task(t.id, t.version) FROM twtasks.task t WHERE t.sub_type = 'l'; END LOOP; END $$;
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(1)), '(1,t)', 'the next object of the list comes next');
SELECT is((SELECT (given, more)::text FROM twtasks_internal.start_events(1)), '(0,t)', 'there is more to do also if an object on it has no events any more');
SELECT FROM twtasks_internal.start_events();

-- ---- an object at fault ----
SELECT twtasks.add_event('works', 'q', '1'), twtasks.add_event(repeat('n', 250), 'r', '1');
UPDATE twtasks.event_stream SET bucket = 'not valid' WHERE name <> 'works';
SELECT is(pg_temp.started(), 1::bigint, 'a stream at fault does not stop others');
SELECT isnt((SELECT problem FROM twtasks.event_objects WHERE object = 'r'), NULL, 'the view shows the reason');

-- ---- another place ----
UPDATE twtasks.event_place SET timeline = timeline - 1;
SELECT twtasks.add_event('works', 's', '1');
SELECT pg_temp.started();
SELECT cmp_ok((SELECT (events -> 0 ->> 'id')::bigint FROM pg_temp.heads WHERE object = 's'), '>', 9000000001000000::bigint,
	'after a promotion ids are far above those that may have been sent');

-- ---- rights ----
SELECT throws_ok($$SELECT twtasks.add_task('WORKS')$$, '42501', NULL, 'nobody adds a head by hand');
CREATE ROLE regress_writer;
GRANT twtasks_producer TO regress_writer;
SELECT twtasks.allow_type('WORKS', 'regress_writer') \g /dev/null
SET ROLE regress_writer;
SELECT twtasks.add_event('works', 'restricted', '1') \g /dev/null
RESET ROLE;
SELECT twtasks_internal.start_events() \g /dev/null
SELECT ok((SELECT head IS NOT NULL FROM twtasks.event_objects WHERE object = 'restricted'), 'a type that is restricted gets its heads');

-- ---- a wrong call of the owner ----
SELECT throws_ok($$SELECT twtasks_internal.give_events(ARRAY[NULL]::text[], '{x}', '{true}')$$, '22023', NULL, 'no stream');
SELECT throws_ok($$SELECT twtasks_internal.give_events('{}', '{x,y}', '{true}')$$, '22023', NULL, 'too few streams');
SELECT * FROM finish();
ROLLBACK;
