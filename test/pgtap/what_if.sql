--
-- what_if_limit(): figures that can be checked by hand, and a sentence.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.slot_use, twtasks.monitor_type, twtasks.monitor_look, twtasks.flow;
DELETE FROM twtasks.type_policy;
DELETE FROM twtasks.limit_rule;
DELETE FROM twtasks.pause;
DELETE FROM twtasks.incident;
SELECT plan(58);
SELECT pg_temp.node() \g /dev/null

-- The sidecars told: tries that began in each of five minutes, each of which ran 2.5 to 5 seconds.
CREATE FUNCTION pg_temp.flow(type text, started bigint) RETURNS void LANGUAGE sql
AS $$ SELECT twtasks_internal.note_flow(twtasks_internal.new_incarnation(), date_trunc('second', now()) - n * interval '1 minute' + interval '1 second', 60000, '{a}',
		ARRAY[flow.type], ARRAY[flow.started, 0, 0, 0, 0, 0, 0], array_fill(NULL::bigint, ARRAY[21]),
		array_fill(0::bigint, ARRAY[13]) || flow.started || array_fill(0::bigint, ARRAY[7]))
	FROM generate_series(1, 5) n $$;
-- The leader counted.
CREATE FUNCTION pg_temp.count(type text, status twtasks.task_status, tasks bigint, capped boolean DEFAULT false) RETURNS void LANGUAGE sql
AS $$ INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, retrying) VALUES (twtasks.clock(), 'a', type, status, tasks, capped, 0)
	ON CONFLICT ON CONSTRAINT monitor_type_pkey DO UPDATE SET tasks = EXCLUDED.tasks, capped = EXCLUDED.capped $$;
CREATE FUNCTION pg_temp.told(name text, concurrency integer, OUT figures text) LANGUAGE sql
AS $$ SELECT concat_ws(' ', w.limit_scope, w.current, w.running, coalesce(w.waiting::text, '-'), w.added_per_minute, coalesce(w.run_seconds::text, '-'),
		coalesce(w.per_minute::text, '-'), '->', coalesce(w.then_per_minute::text, '-'), coalesce(w.then_empty_after::text, '-'), w.then_bound)
	FROM twtasks.what_if_limit(name, concurrency) w $$;
CREATE FUNCTION pg_temp.says(name text, concurrency integer) RETURNS text LANGUAGE sql
AS $$ SELECT w.sentence FROM twtasks.what_if_limit(name, concurrency) w $$;

-- Five slots of the cluster, all in use, and nobody has told anything yet.
SELECT twtasks.configure_limit('PAY|*', 5, scope => 'cluster');
SELECT twtasks.add_task('PAY|ACME', task_id => pg_temp.id(n), bucket => 'a'), pg_temp.grab(pg_temp.id(n)) FROM generate_series(1, 5) n \g /dev/null
SELECT twtasks.configure_limit('PAY|*', 5, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 - 0.0 - - -> - -', 'nobody has told anything');
SELECT is(pg_temp.says('PAY|ACME', 15), 'Limit "PAY|ACME" has 5 slots, 5 in use, nobody has counted its tasks, and no sidecar has told how many start; '
	'with 15, nobody can say how many would start, since no try was measured lately.', '... which the sentence says');
INSERT INTO twtasks.monitor_look (at, waiting, submitted, processing, errors, held, capped, stuck, finished_estimate, dropped, nodes, retrying)
VALUES (twtasks.clock(), 0, 0, 0, 0, 0, false, 0, 0, 0, 1, 0);
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 0 - - -> - -', 'none waits');

-- The limit is full: three times the slots, three times as many starts.
SELECT pg_temp.flow('PAY|ACME', 12), pg_temp.flow('PAY|BETA', 100) \g /dev/null
SELECT pg_temp.count('PAY|ACME', 'SUBMITTED', 8211), pg_temp.count('PAY|ACME', 'PROCESSING', 5), pg_temp.count('PAY|BETA', 'SUBMITTED', 7), pg_temp.count('PAY|ACME', 'WAITING', 99) \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 0.0 25.000 12.0 -> 36.0 03:48:05', 'a full limit with three times its slots');
SELECT is(pg_temp.told('PAY|ACME', 1), 'cluster 5 5 8211 0.0 25.000 12.0 -> 2.4 57:01:15', 'with one slot');
SELECT is(pg_temp.told('PAY|ACME', 0), 'cluster 5 5 8211 0.0 25.000 12.0 -> 0.0 -', 'with none');
SELECT is(pg_temp.told('PAY|ACME', 5), 'cluster 5 5 8211 0.0 25.000 12.0 -> 12.0 11:24:15', 'as it is');
SELECT is(pg_temp.says('PAY|ACME', 15), 'Limit "PAY|ACME" has 5 slots, 5 in use, 8211 tasks wait, and 12 start a minute; '
	'with 15, 36 would start a minute, and the backlog would be gone in 03:48:05, with 0 added a minute.', 'the sentence');
SELECT is(pg_temp.says('PAY|ACME', 0), 'Limit "PAY|ACME" has 5 slots, 5 in use, 8211 tasks wait, and 12 start a minute; with 0, no task would start.', '... of a limit of 0');

-- New tasks come.
SELECT twtasks.add_task('PAY|ACME', bucket => 'a') FROM generate_series(1, 120) \g /dev/null
SELECT twtasks.add_task('PAY|BETA', bucket => 'a') FROM generate_series(1, 50) \g /dev/null
SELECT twtasks.add_task('PAY|ACME', bucket => 'a', run_after => now() + interval '1 h') FROM generate_series(1, 30) \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 36.0 05:42:08', 'tasks that come keep the backlog');
SELECT is(pg_temp.told('PAY|ACME', 5), 'cluster 5 5 8211 12.0 25.000 12.0 -> 12.0 -', 'as many as start: it never ends');
SELECT alike(pg_temp.says('PAY|ACME', 5), '%; with 5, 12 would start a minute, and the backlog would grow by the 12 that are added a minute.', '... which the sentence says');

-- Wider limits.
SELECT twtasks.configure_limit('PAY', 8, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 19.2 19:00:25 limit "PAY" of scope cluster (8, of which others use 0)', 'a wider limit');
SELECT twtasks.add_task('PAY|BETA', task_id => pg_temp.id(n), bucket => 'a'), pg_temp.grab(pg_temp.id(n)) FROM generate_series(11, 13) n \g /dev/null
SELECT twtasks.configure_limit('PAY', 8, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 12.0 - limit "PAY" of scope cluster (8, of which others use 3)', 'a wider limit that others use');
SELECT alike(pg_temp.says('PAY|ACME', 15), '%; more is kept by limit "PAY" of scope cluster (8, of which others use 3).', '... in the sentence');
SELECT is(pg_temp.told('PAY|ACME', 2), 'cluster 5 5 8211 12.0 25.000 12.0 -> 4.8 -', 'it is no bound if this limit is lower');
SELECT twtasks.drop_limit('PAY') \g /dev/null
SELECT twtasks.configure_limit('*', 6);
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 14.4 57:01:15 limit "*" of scope node (6, of which others use 0)', 'a limit of each node');
SELECT twtasks_internal.start_node('second') \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 28.8 08:08:45 limit "*" of scope node (6, of which others use 0)', '... of two nodes');
SELECT twtasks.drop_limit('*') \g /dev/null

-- Rates.
SELECT twtasks.configure_limit('PAY', rate => 20, per => '1 minute', scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 20.0 17:06:23 the rate of limit "PAY", 20 in 00:01:00', 'a rate of a wider limit');
SELECT twtasks.drop_limit('PAY') \g /dev/null
SELECT twtasks.configure_limit('PAY|*', 5, scope => 'cluster', rate => 1, per => '2 seconds');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 30.0 07:36:10 the rate of limit "PAY|ACME", 1 in 00:00:02', 'its own rate');
SELECT twtasks.configure_limit('PAY|*', 5, scope => 'cluster');

-- Buckets.
SELECT twtasks.configure_bucket('a', concurrency => 4) \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 19.2 19:00:25 bucket "a" (4 on each node, of which others use 0)', 'a bucket on two nodes');
SELECT pg_temp.count('OTHER', 'PROCESSING', 2) \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 14.4 57:01:15 bucket "a" (4 on each node, of which others use 2)', 'a bucket that others use');
SELECT twtasks.unset_bucket_options('a', 'concurrency') \g /dev/null

-- Narrower limits.
SELECT twtasks.configure_limit('PAY|ACME|EUR', 3, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 36.0 05:42:08', 'a limit of a part of the types is no bound');
SELECT pg_temp.count('PAY|ACME', 'SUBMITTED', 0);
DELETE FROM twtasks.monitor_type WHERE tasks = 0;
SELECT pg_temp.count('PAY|ACME|EUR', 'SUBMITTED', 8000), pg_temp.count('PAY|ACME|USD', 'SUBMITTED', 211) \g /dev/null
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 36.0 05:42:08', '... nor if another part has none');
SELECT twtasks.configure_limit('PAY|ACME|*', 4);
SELECT is(pg_temp.told('PAY|ACME', 15), 'cluster 5 5 8211 12.0 25.000 12.0 -> 26.4 09:30:13 the limits of its types, such as "PAY|ACME|EUR" (3), "PAY|ACME|USD" (8)', 'limits of all parts');
DELETE FROM twtasks.limit_rule WHERE pattern LIKE 'PAY|ACME%';
DELETE FROM twtasks.monitor_type WHERE type LIKE 'PAY|ACME|%';
SELECT pg_temp.count('PAY|ACME', 'SUBMITTED', 8211, true) \g /dev/null
SELECT is((SELECT waiting_capped FROM twtasks.what_if_limit('PAY|ACME', 15)), true, 'a count that was ended');
SELECT alike(pg_temp.says('PAY|ACME', 15), '%, at least 8211 tasks wait, %', '... in the sentence');

-- Nothing starts at all.
SELECT twtasks.pause_type('PAY|*', 'bank') \g /dev/null
SELECT alike(pg_temp.says('PAY|ACME', 15), '%; but now type "PAY|*" is paused since % (bank).', 'a pause');
SELECT twtasks.resume_type('PAY|*') \g /dev/null

-- The limit is not full: the tasks wait for something else.
SELECT twtasks.configure_limit('PAY|*', 100, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 200), 'cluster 100 5 8211 12.0 3.750 12.0 -> 12.0 -', 'more slots of a limit that is not full change nothing');
SELECT alike(pg_temp.says('PAY|ACME', 200), '%; with 200, nothing would change, since it does not hold up its tasks.', '... which the sentence says');
SELECT is(pg_temp.told('PAY|ACME', 2), 'cluster 100 5 8211 12.0 3.750 12.0 -> 12.0 -', 'two slots would do');
SELECT is(pg_temp.told('PAY|BETA', 5), 'cluster 100 3 7 5.0 3.750 100.0 -> 80.0 00:00:06', 'five slots would be full');
SELECT pg_temp.count('PAY|BETA', 'SUBMITTED', 0);
DELETE FROM twtasks.monitor_type WHERE tasks = 0;
SELECT is(pg_temp.told('PAY|BETA', 5), 'cluster 100 3 0 100.0 3.750 100.0 -> 80.0 -', 'none waits, and then some would');
SELECT alike(pg_temp.says('PAY|BETA', 5), '%, 0 tasks wait, and 100 start a minute; with 5, 80 would start a minute, and a backlog would grow.', '... in the sentence');
SELECT is(pg_temp.told('PAY|BETA', 7), 'cluster 100 3 0 100.0 3.750 100.0 -> 100.0 00:00:00', 'seven slots are enough');

-- A limit of each node, and of both scopes.
SELECT twtasks.configure_limit('PAY', 3);
SELECT is(pg_temp.told('PAY', 6), 'node 3 5 8211 17.0 3.214 112.0 -> 224.0 00:39:40', 'a limit of two nodes');
SELECT alike(pg_temp.says('PAY', 6), 'Limit "PAY" has 3 slots on each node, 5 in use, %', '... in the sentence');
SELECT twtasks.configure_limit('PAY', 50, scope => 'cluster');
SELECT is((SELECT ROW(w.limit_scope, w.current)::text FROM twtasks.what_if_limit('PAY', 6) w), '(cluster,50)', 'the limit of the cluster comes first');
SELECT is((SELECT ROW(w.limit_scope, w.current)::text FROM twtasks.what_if_limit('PAY', 6, 'node') w), '(node,3)', 'unless the scope is given');
SELECT is((SELECT w.then_bound FROM twtasks.what_if_limit('PAY', 600, 'node') w), 'limit "PAY" of scope cluster (50, of which others use 3)', 'the other scope bounds it');
DELETE FROM twtasks.limit_rule WHERE pattern = 'PAY';
SELECT twtasks.configure_limit('PAY|ACME', rate => 100, per => '1 s', scope => 'cluster');
SELECT is((SELECT ROW(w.current, w.then_per_minute)::text FROM twtasks.what_if_limit('PAY|ACME', 2) w), '(,12.0)', 'one key has its own limit, of a rate alone');
SELECT alike(pg_temp.says('PAY|ACME', 2), 'Limit "PAY|ACME" has any number of slots, %', '... in the sentence');

-- A limit of 0, and one that nothing is known of.
SELECT twtasks.configure_limit('PAY|ACME', 0, scope => 'cluster');
SELECT is(pg_temp.told('PAY|ACME', 5), 'cluster 0 5 8211 12.0 3.750 12.0 -> 80.0 02:00:45', 'a limit of 0 gets slots');
TRUNCATE twtasks.flow;
SELECT is(pg_temp.told('PAY|ACME', 5), 'cluster 0 5 8211 12.0 - - -> - -', '... and no try was measured');
SELECT is(pg_temp.told('PAY|ACME', 0), 'cluster 0 5 8211 12.0 - - -> 0.0 -', '... but none is none');

-- Refused.
SELECT throws_ok('SELECT twtasks.what_if_limit(NULL, 5)', '22004', NULL, 'no name');
SELECT throws_ok($$SELECT twtasks.what_if_limit('PAY|ACME', NULL)$$, '22004', NULL, 'no number');
SELECT throws_ok($$SELECT twtasks.what_if_limit('PAY|ACME', -1)$$, '22023', NULL, 'a number below 0');
SELECT throws_ok($$SELECT twtasks.what_if_limit('PAY|ACME', 10001)$$, '22023', NULL, 'more than a limit of the cluster may have');
SELECT throws_ok($$SELECT twtasks.what_if_limit('NONE', 5)$$, '42704', NULL, 'no such limit');
SELECT throws_ok($$SELECT twtasks.what_if_limit('PAY|ACME', 5, 'node')$$, '42704', NULL, 'no such limit of each node');
SELECT throws_ok($$SELECT twtasks.what_if_limit('PAY|*', 5)$$, '42704', NULL, 'a limit of each key is none of its own');
SELECT throws_ok($$SELECT twtasks.what_if_limit('', 5)$$, '42704', NULL, 'an empty name');

-- Rights.
SET LOCAL ROLE twtasks_viewer;
SELECT isnt(pg_temp.says('PAY|ACME', 5), NULL, 'a viewer may ask');
RESET ROLE;
SELECT is(has_function_privilege('twtasks_producer', 'twtasks.what_if_limit(text, integer, twtasks.limit_scope)', 'EXECUTE'), false, 'a producer may not');

-- Bounded beside many types: each limit is computed once, and each type's name once for each count.
INSERT INTO twtasks.monitor_type (at, bucket, type, status, tasks, capped, retrying)
SELECT twtasks.clock(), 'a', 'PAY|' || n, 'SUBMITTED', 1, false, 0 FROM generate_series(1, 10000) n;
INSERT INTO twtasks.flow (at, step, node, bucket, type, started, done, failed, errors, retried, refused, unknown, run)
SELECT twtasks.clock() - n % 60 * interval '1 minute', interval '1 minute', 1, 'a', 'PAY|' || n, 1, 0, 0, 0, 0, 0, 0, array_fill(1::bigint, ARRAY[21]) FROM generate_series(1, 60000) n;
SELECT twtasks.configure_limit('*', 500, scope => 'cluster');
SELECT twtasks.configure_limit('PAY', 5, scope => 'cluster');
SELECT twtasks.configure_limit('PAY|' || n, 5, scope => 'cluster') FROM generate_series(1, 200) n \g /dev/null
SET LOCAL statement_timeout = '20s';
SELECT is((SELECT waiting FROM twtasks.what_if_limit('PAY', 10)), 18211::bigint, '10,000 types');
SELECT is((SELECT waiting FROM twtasks.what_if_limit('*', 1000)), 18211::bigint, '10,000 types under the limit of all');

DELETE FROM twtasks.monitor_look;
SELECT unalike(pg_temp.says('PAY', 10), '%nothing would change%', 'without a count nobody can say');

SELECT * FROM finish();
ROLLBACK;
