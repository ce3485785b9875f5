--
-- twtasks.why(): a reason and a sentence for each status and cause.
--
BEGIN;
\ir ../lib/tasks.sql
TRUNCATE twtasks.node, twtasks.slot_use;
DELETE FROM twtasks.type_policy;
DELETE FROM twtasks.limit_rule;
DELETE FROM twtasks.pause;
SET timezone = 'UTC';
SELECT plan(111);
SELECT twtasks.is_enabled() \g /dev/null

-- Checks the reason, the sentence, and that each statement of the advice is one.
CREATE FUNCTION pg_temp.told(n integer, reason text, sentence text) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	w record;
	bad text;
BEGIN
	SELECT * INTO w FROM twtasks.why(pg_temp.id(n));
	RETURN NEXT is(w.reason, told.reason, told.reason || ': the reason');
	RETURN NEXT matches(w.sentence, '^' || told.sentence || '\.$', told.reason || ': the sentence');
	FOR bad IN SELECT a->>'sql' FROM jsonb_array_elements(w.advice) a LOOP
		IF bad !~ '^SELECT ' THEN CONTINUE; END IF;
		BEGIN
			EXECUTE format('PREPARE advised AS %s', bad);
			DEALLOCATE advised;
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT fail(format('%s: advice is a statement: %s: %s', told.reason, bad, SQLERRM));
		END;
	END LOOP;
	IF w.sentence ~ '\?' THEN
		RETURN NEXT fail(told.reason || ': a question');
	END IF;
END $$;
CREATE FUNCTION pg_temp.advised(n integer) RETURNS text
LANGUAGE sql
AS $$ SELECT string_agg(a->>'sql', '; ') FROM twtasks.why(pg_temp.id(n)) w, jsonb_array_elements(w.advice) a $$;

-- Nodes.
SELECT twtasks.add_task('PAY|ACME', task_id => pg_temp.id(1), bucket => 'a') \g /dev/null
SELECT pg_temp.told(1, 'no node', 'It may run, but no node lives that works for its bucket "a"');
SELECT pg_temp.node() \g /dev/null
UPDATE twtasks.node SET buckets = '{a}', types = '{OTHER}';
SELECT pg_temp.told(1, 'no handler', 'It may run, but no node that lives handles its type "PAY\|ACME" in its bucket "a"');
UPDATE twtasks.node SET types = '{PAY|*}';
SELECT twtasks.configure_type('PAY|*', nodes => '{far}');
SELECT pg_temp.told(1, 'nodes missing', 'It may run, but its policy names only nodes that do not live: far');
SELECT twtasks_internal.start_node('far', buckets => '{b}') \g /dev/null
SELECT pg_temp.told(1, 'no fitting node', 'It may run, but no living node works for its bucket, handles its type, and is named by its policy all at once');
SELECT twtasks.drop_type_policy('PAY|*') \g /dev/null
DELETE FROM twtasks.node WHERE name = 'far';

-- Nothing holds it up.
SELECT pg_temp.told(1, 'just queued', 'It may run, but it has been in the queue for 00:00:0[0-4], and a node that is free takes it within seconds');
UPDATE twtasks.task SET state_time = state_time - interval '1 minute';
SELECT pg_temp.told(1, 'not taken', 'It may run, but nothing has taken it for 00:01:0., although no obstacle is known and nothing of its bucket runs on "test"');
UPDATE twtasks.node SET faults = '{"handlers[0]: program \"x\" does not exist"}';
SELECT pg_temp.told(1, 'broken handler', 'It may run, but node "test" reports handlers\[0\]: program "x" does not exist');
UPDATE twtasks.node SET faults = '{}';

-- Slots.
SELECT twtasks.add_task('OTHER', task_id => pg_temp.id(2), bucket => 'a'), pg_temp.grab(pg_temp.id(2)) \g /dev/null
SELECT pg_temp.told(1, 'slots full', 'It may run, but it waits for a slot: 1 task runs of other types now on "test"');
SELECT twtasks.add_task('PAY|ACME', task_id => pg_temp.id(n), bucket => 'a', priority => 1) FROM generate_series(3, 5) n \g /dev/null
SELECT pg_temp.grab(pg_temp.id(3)) \g /dev/null
SELECT pg_temp.told(1, 'slots full', 'It may run, but it waits for a slot: 1 task runs of its type now on "test"; 2 tasks of its type are queued before it');
SELECT is(ROW(place, place_capped), ROW(2::bigint, false), 'its place in the queue') FROM twtasks.why(pg_temp.id(1));
SELECT twtasks.add_task('LATER', task_id => pg_temp.id(90), run_after => now() + interval '1 h') \g /dev/null
SELECT is(ROW(place, place_capped), ROW(NULL::bigint, NULL::boolean), 'a task that waits has no place') FROM twtasks.why(pg_temp.id(90));
SELECT twtasks.configure_bucket('a', concurrency => 2) \g /dev/null
SELECT pg_temp.told(1, 'bucket full', 'It may run, but its bucket "a" lets only 2 run on each node; 2 tasks .*');
SELECT twtasks.configure_bucket('a', concurrency => 3) \g /dev/null
SELECT pg_temp.told(1, 'slots full', 'It may run, but it waits for a slot: .*');

-- Limits of nodes.
SELECT twtasks.configure_limit('PAY', 1);
SELECT pg_temp.told(1, 'limit full', 'It may run, but its limit "PAY" is full on each node that handles it \(1 of 1\); 2 .*');
SELECT is(pg_temp.advised(1), $$SELECT twtasks.configure_limit('PAY', 2, scope => 'node')$$, 'a limit of nodes: the advice');
SELECT twtasks.configure_limit('PAY', 1, stretch => 1, stretch_priority => 5);
SELECT pg_temp.told(1, 'slots full', 'It may run, but it waits for a slot: .*');
SELECT twtasks.configure_limit('PAY', 0);
SELECT pg_temp.told(1, 'limit of 0', 'It may run, but its limit "PAY" lets no task of its priority start; 2 .*');
SELECT twtasks.configure_limit('PAY', rate => 7, per => '1 minute');
SELECT pg_temp.told(1, 'rate limit', 'It may run, but its limit "PAY" lets only 7 start in 00:01:00 on each node; 2 .*');
SELECT twtasks.drop_limit('PAY') \g /dev/null

-- Limits of the cluster, and their hierarchy.
SELECT twtasks.configure_limit('PAY|*', 1, scope => 'cluster', rate => 10, per => '1 h');
SELECT twtasks.configure_limit('*', 50, scope => 'cluster');
SELECT pg_temp.told(1, 'limit full', 'It may run, but its limit "PAY\|ACME" is full \(1 of 1\); 2 .*');
SELECT is(pg_temp.advised(1), $$SELECT twtasks.configure_limit('PAY|ACME', 2, scope => 'cluster', rate => 10, per => '01:00:00', burst => 10)$$,
	'a limit of each key: the advice quotes the key, and keeps the rate');
SELECT twtasks.configure_limit('*', 2, scope => 'cluster');
SELECT pg_temp.told(1, 'limit full', 'It may run, but its limit "\*" is full \(2 of 2\); also, its limit "PAY\|ACME" is full \(1 of 1\); 2 .*');
SELECT twtasks.configure_limit('PAY|ACME', 5, scope => 'cluster');
SELECT pg_temp.told(1, 'limit full', 'It may run, but its limit "\*" is full \(2 of 2\); 2 .*');
DELETE FROM twtasks.limit_rule;
SELECT twtasks.configure_limit('PAY', rate => 1, per => '1 h', scope => 'cluster');
SELECT pg_temp.told(1, 'slots full', 'It may run, but it waits for a slot: .*');
SELECT twtasks_internal.make_slots('PAY');
UPDATE twtasks.slot_use SET tokens = 0.5 WHERE epoch > 0;
SELECT pg_temp.told(1, 'rate limit', 'It may run, but its limit "PAY" lets only 1 start in 01:00:00; 2 .*');
DELETE FROM twtasks.limit_rule;

-- Pauses and switches.
SELECT twtasks.pause_type('PAY|*', 'the bank is down'), twtasks.pause_bucket('a') \g /dev/null
SELECT pg_temp.told(1, 'paused', 'It may run, but bucket "a" is paused since .* by [^;]*; also, type "PAY\|\*" is paused since .* by .* \(the bank is down\); 2 .*');
SELECT is(pg_temp.advised(1), $$SELECT twtasks.resume_bucket('a'); SELECT twtasks.resume_type('PAY|*')$$, 'pauses: the advice');
DELETE FROM twtasks.pause;
SAVEPOINT before;
CREATE OR REPLACE FUNCTION twtasks.is_enabled() RETURNS boolean LANGUAGE sql AS 'SELECT false';
SELECT pg_temp.told(1, 'switched off', 'It may run, but the setting twtasks.enabled is off; 2 .*');
ROLLBACK TO before;
UPDATE twtasks.adoption SET ended = now(), environment = 'prod''n' WHERE ended IS NULL;
SELECT pg_temp.told(1, 'not adopted', 'It may run, but nothing is executed in this database: .*; 2 .*');
SELECT is(pg_temp.advised(1), $$SELECT twtasks.adopt('prod''n')$$, 'a database that is not adopted: the advice is quoted');
ROLLBACK TO before;
DELETE FROM twtasks.bucket_policy WHERE name = 'a';
SELECT pg_temp.told(1, 'no bucket', 'It may run, but its bucket "a" was dropped; 2 .*');
SELECT twtasks.configure_bucket('a');
UPDATE twtasks.task SET expires = clock_timestamp() WHERE id = pg_temp.id(1);
SELECT pg_temp.told(1, 'expired', 'It may run, but it expired at .* and becomes FAILED as soon as a node that leads sees it; 2 .*');


-- WAITING.
SELECT twtasks.add_task('LATER', task_id => pg_temp.id(10), run_after => now() + interval '1 h') \g /dev/null
UPDATE twtasks.node SET buckets = '{a,default}', types = NULL;
SELECT pg_temp.told(10, 'time', 'It waits until [-0-9 :+]*');
SELECT is(starts, now() + interval '1 h', 'a task that waits for a time starts then') FROM twtasks.why(pg_temp.id(10));
SELECT twtasks.pause_type('LATER') \g /dev/null
SELECT pg_temp.told(10, 'time', 'It waits until [-0-9 :+]*; even then, type "LATER" is paused since .*');
SELECT is(starts, NULL, 'a pause makes its start unknown') FROM twtasks.why(pg_temp.id(10));
DELETE FROM twtasks.pause;
UPDATE twtasks.task SET next_event_time = now() - interval '1 min' WHERE id = pg_temp.id(10);
SELECT pg_temp.told(10, 'due', 'It is due since [-0-9 :+]*, and no node leads, which would put it into the queue');
UPDATE twtasks.node SET leads = true;
SELECT pg_temp.told(10, 'due', 'It is due since [-0-9 :+]*, and node "test", which leads, has not put it into the queue yet');
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(11)), pg_temp.grab(pg_temp.id(11)), pg_temp.finish(pg_temp.id(11), 'retry', 1, 60000, E'no\nmoney.') \g /dev/null
SELECT pg_temp.told(11, 'retry', 'It waits until [-0-9 :+]* for try 2, since try 1 failed: no money');

-- ERROR, HELD.
SELECT pg_temp.task_in('ERROR', pg_temp.id(12)) \g /dev/null
SELECT pg_temp.told(12, 'error', 'It waits for a person since [-0-9 :+]*, after 1 try: test');
SELECT is(pg_temp.advised(12), format($$SELECT * FROM twtasks.resume_task(%1$L, 2, reason => '...'); SELECT * FROM twtasks.fail_task(%1$L, 2, reason => '...')$$,
	pg_temp.id(12)), 'ERROR: the advice names the version that was seen');
SELECT twtasks.hold_task(pg_temp.id(12), reason => 'look first') \g /dev/null
SELECT pg_temp.told(12, 'held', 'It is held since [-0-9 :+]*, by .* \(look first\), and runs only after somebody releases it; it was in ERROR before');
SELECT twtasks.hold_task(pg_temp.id(11)) \g /dev/null
SELECT pg_temp.told(11, 'held', 'It is held since .*, and runs only after somebody releases it; it was to run at [-0-9 :+]*');

-- PROCESSING.
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(13)) \g /dev/null
SELECT pg_temp.told(13, 'running', 'It runs since [-0-9 :+]* on node "test" as try 1; its deadline is [-0-9 :+]*, and then its stuck rule "error" makes it ERROR, for a person to decide');
UPDATE twtasks.task SET stuck = 'retry', deadline = now() - interval '1 s' WHERE id = pg_temp.id(13);
SELECT pg_temp.told(13, 'deadline passed', 'It runs since .* as try 1; its deadline passed at [-0-9 :+]*, and at the next look of node "test", which leads, its stuck rule "retry" lets it run again');
SELECT twtasks.request_cancel(pg_temp.id(13), reason => 'no need') \g /dev/null
SELECT pg_temp.told(13, 'deadline passed', '.*, it becomes CANCELLED, as was asked; it is to stop, cancelled by .*: no need');
DELETE FROM twtasks.cancel_request;
UPDATE twtasks.node SET heartbeat = heartbeat - 2 * lease;
SELECT pg_temp.told(13, 'node silent', 'It runs since .* on node "test", which has been silent since .*; when the node counts as gone, its stuck rule "retry" lets it run again');
UPDATE twtasks.node SET heartbeat = clock_timestamp(), ended = clock_timestamp();
SELECT pg_temp.told(13, 'node gone', 'Its node "test" is gone, and it ran there since .*; as soon as a node leads, its stuck rule "retry" lets it run again');
SELECT twtasks.configure_type('TEST', takeover => 'deadline');
UPDATE twtasks.task SET deadline = now() + interval '1 min' WHERE id = pg_temp.id(13);
SELECT pg_temp.told(13, 'node gone', 'Its node "test" is gone, .*; its handler may still run until the deadline at .*, then its stuck rule "retry" lets it run again');
UPDATE twtasks.task SET stuck = 'ignore' WHERE id = pg_temp.id(13);
SELECT pg_temp.told(13, 'node gone', 'Its node "test" .*, then its stuck rule "ignore" leaves it as it is');
DELETE FROM twtasks.node WHERE name = 'test';
SELECT pg_temp.told(13, 'node gone', 'Its node is gone, .*');
SELECT set_config('test.node', '', true) \g /dev/null
SELECT pg_temp.task_in('PROCESSING', pg_temp.id(14)), pg_temp.finish(pg_temp.id(14), 'accepted', delay_ms => 60000) \g /dev/null
SELECT pg_temp.told(14, 'accepted', 'Its handler handed it on, and it waits for a report by finish_task\(\) until .*; then its stuck rule "error" makes it ERROR, for a person to decide');

-- Ends.
SELECT pg_temp.task_in('DONE', pg_temp.id(15)), pg_temp.task_in('FAILED', pg_temp.id(16)) \g /dev/null
SELECT twtasks.add_task('TEST', task_id => pg_temp.id(17)), twtasks.cancel_task(pg_temp.id(17), reason => 'twice') \g /dev/null
SELECT pg_temp.told(15, 'done', 'It is done since .*, after 1 try');
SELECT pg_temp.told(16, 'failed', 'It failed for good at .*, after 1 try: test');
SELECT pg_temp.told(17, 'cancelled', 'It was cancelled at .*, after 0 tries: twice');
DELETE FROM twtasks.finished_task WHERE id = pg_temp.id(17);
SELECT pg_temp.told(17, 'deleted', 'It is no longer kept: .* it was last changed by hand at .*, by .*');
SELECT pg_temp.told(99, 'no such task', 'No task has this id: .*');
SELECT throws_ok('SELECT twtasks.why(NULL)', '22004', 'id must not be null', 'NULL is no id');

-- An extension explains its tasks, and one that fails says so.
CREATE FUNCTION twtasks_internal.why_of_test(id uuid) RETURNS jsonb LANGUAGE sql
AS $$ SELECT jsonb_build_object('clause', 'it is a test', 'advice', jsonb_build_array(twtasks_internal.advice('look', 'SELECT 1'))) $$;
SELECT pg_temp.told(15, 'done', 'It is done since .*, after 1 try; it is a test');
SELECT is(pg_temp.advised(15), 'SELECT 1', 'the advice of an extension replaces ours');
CREATE OR REPLACE FUNCTION twtasks_internal.why_of_test(id uuid) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb';
SELECT pg_temp.told(15, 'done', 'It is done since .*, after 1 try');
CREATE OR REPLACE FUNCTION twtasks_internal.why_of_test(id uuid) RETURNS jsonb LANGUAGE sql AS 'SELECT (1/0)::text::jsonb';
SELECT pg_temp.told(15, 'done', 'It is done .*; function "twtasks_internal.why_of_test" failed: division by zero');

SELECT * FROM finish();
ROLLBACK;
