--
-- twtasks_events: list_event_objects() pages through the objects of a stream, and
-- says of each what twtasks.event_objects says.
--
BEGIN;
\ir ../lib/tasks.sql
\ir ../lib/events.sql
SELECT plan(15);
SELECT twtasks.configure_stream('works', 'WORKS', batch => 100), twtasks.configure_stream('posts', 'POSTS') \g /dev/null
SELECT twtasks.add_event('works', 'o' || n % 9, to_jsonb(n)) FROM generate_series(1, 30) n \g /dev/null
SELECT twtasks.add_event('posts', 'o1', '1') \g /dev/null
SELECT twtasks_internal.start_events() \g /dev/null
SELECT twtasks.add_event('works', 'o' || n, '"later"') FROM unnest('{2,3,20}'::integer[]) n \g /dev/null
UPDATE twtasks.task SET status = 'ERROR', queued = false, next_event_time = 'infinity', error = 'no' WHERE sub_type IN ('o3', 'o5') AND type = 'WORKS';

SELECT results_eq($$SELECT o.object, o.queued, o.oldest, o.head, o.status, o.problem, o.last_id, o.sent_id FROM twtasks.list_event_objects('works') o$$,
	$$SELECT o.object COLLATE "default", o.queued, o.oldest, o.head, o.status, o.problem COLLATE "default", o.last_id, o.sent_id FROM twtasks.event_objects o WHERE o.stream = 'works' ORDER BY o.object$$,
	'the rows of the view');
SELECT results_eq($$SELECT object FROM twtasks.list_event_objects('works', max_objects => 4)$$, $$VALUES ('o0'), ('o1'), ('o2'), ('o20')$$, 'a page has objects that never had a head');
SELECT results_eq($$SELECT object FROM twtasks.list_event_objects('works', after => 'o2', max_objects => 3)$$, $$VALUES ('o20'), ('o3'), ('o4')$$, '... the next one too');
SELECT is((SELECT count(*) FROM twtasks.list_event_objects('works', after => 'o8')), 0::bigint, '... and none is behind the last one');
SELECT results_eq($$SELECT object, queued FROM twtasks.list_event_objects('works', 'queued')$$, $$VALUES ('o2', 1::bigint), ('o20', 1), ('o3', 1)$$, 'objects with events that no head carries');
SELECT results_eq($$SELECT object, problem FROM twtasks.list_event_objects('works', 'blocked')$$, $$VALUES ('o3', 'no'), ('o5', 'no')$$, 'objects that stand still');
SELECT results_eq($$SELECT object FROM twtasks.list_event_objects('works', 'blocked', after => 'o3')$$, $$VALUES ('o5')$$, '... of the next page');
SELECT is((SELECT string_agg(object, ',') FROM twtasks.list_event_objects('posts')), 'o1', 'another stream');
SELECT is_empty($$SELECT FROM twtasks.list_event_objects('none')$$, 'no such stream');
INSERT INTO twtasks.event (added, size, stream, object, event) SELECT now(), 1, 'works', 'o8', '1' FROM generate_series(1, 1001);
SELECT results_eq($$SELECT queued, queued_capped FROM twtasks.list_event_objects('works', after => 'o7')$$, 'VALUES (1000::bigint, true)', 'the count of events is bounded');
SELECT throws_ok('SELECT twtasks.list_event_objects(NULL)', '22004', NULL, 'a stream is needed');
SELECT throws_ok($$SELECT twtasks.list_event_objects('works', 'odd')$$, '22023', NULL, 'no such state');
SELECT throws_ok($$SELECT twtasks.list_event_objects('works', max_objects => 1001)$$, '22023', NULL, 'at most a thousand');
SELECT throws_ok($$SELECT twtasks.list_event_objects('works', max_objects => NULL)$$, '22023', NULL, '... and not any number');
SET LOCAL ROLE twtasks_viewer;
SELECT is((SELECT count(*) FROM twtasks.list_event_objects('works')), 10::bigint, 'viewers may see them');
RESET ROLE;
SELECT * FROM finish();
ROLLBACK;
