--
-- The rules of keys: one live task, or the latest data.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(66);

-- Adds a task with the key "k"; its result, version, and whether its id is that of the task before.
CREATE FUNCTION pg_temp.put(data jsonb, rule text, before uuid DEFAULT NULL, run_after timestamptz DEFAULT NULL, priority integer DEFAULT NULL) RETURNS text
LANGUAGE sql AS $$
	SELECT concat_ws(' ', a.result, a.version, CASE a.task_id WHEN before THEN 'same' ELSE 'other' END)
	FROM twtasks.put_task('A', 'k', data, rule, run_after => put.run_after, priority => put.priority) a
$$;
CREATE FUNCTION pg_temp.of_key() RETURNS uuid LANGUAGE sql AS $$ SELECT twtasks.id_of('k') $$;
CREATE FUNCTION pg_temp.again() RETURNS void LANGUAGE sql AS $$ TRUNCATE twtasks.task, twtasks.finished_task, twtasks.unique_key $$;

-- live: one task that waits or runs; the key is free at its end.
SELECT is(pg_temp.put('1', 'live'), 'added 0 other', 'a key that nobody has');
SELECT pg_temp.of_key() AS first \gset
SELECT is(pg_temp.put('2', 'live', :'first'), 'already_exists 0 same', 'a task in the queue has its key');
SELECT pg_temp.grab(:'first') \g /dev/null
SELECT is(pg_temp.put('2', 'live', :'first'), 'already_exists 1 same', 'a running task has its key');
SELECT pg_temp.finish(:'first', 'retry', delay_ms => 60000) \g /dev/null
SELECT is(pg_temp.put('2', 'live', :'first'), 'already_exists 2 same', 'a task that waits for its retry has its key');
SELECT twtasks.resume_task(:'first', 2), pg_temp.grab(:'first'), pg_temp.finish(:'first', 'error') \g /dev/null
SELECT is(pg_temp.put('2', 'live', :'first'), 'already_exists 5 same', 'a task in ERROR has its key');
SELECT is((SELECT data FROM twtasks.task WHERE id = :'first'), '1', 'a task that exists keeps its data');
SELECT twtasks.fail_task(:'first', 5) \g /dev/null
SELECT is(pg_temp.put('2', 'live', :'first'), 'added 0 other', 'an ended task gives its key to the next');
SELECT is((SELECT jsonb_build_array(status, key, data) FROM twtasks.finished_task WHERE id = :'first'), '["FAILED", "k", 1]', 'the ended task stays in the history, with its key');
SELECT throws_ok(format('SELECT twtasks.reopen_task(%L)', :'first'), '23505', NULL, 'it cannot be reopened while the next one has the key');
SELECT is(pg_temp.put('3', 'kept', pg_temp.of_key()), 'already_exists 0 same', 'for an add without a rule the next one is the task with the key');
SELECT pg_temp.grab(pg_temp.of_key()), pg_temp.finish(pg_temp.of_key(), 'delete') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.unique_key), 0::bigint, 'a deleted task leaves no key');

-- The history is cleaned: a key stays with the task that has it now.
SELECT pg_temp.again() \g /dev/null
SELECT pg_temp.put('1', 'live') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
SELECT pg_temp.grab(:'first'), pg_temp.finish(:'first', 'done') \g /dev/null
SELECT pg_temp.put('2', 'live') \g /dev/null
UPDATE twtasks.finished_task SET state_time = state_time - interval '2 days';
SELECT twtasks_internal.clean_older('1 day'), twtasks_internal.clean_older('1 day') \g /dev/null
SELECT is((SELECT count(*) FROM twtasks.finished_task), 0::bigint, 'the history is clean');
SELECT is(pg_temp.put('3', 'live', pg_temp.of_key()), 'already_exists 0 same', 'the key is still taken');

-- replace: the task that has not started becomes the new one.
SELECT pg_temp.again() \g /dev/null
SELECT is(pg_temp.put('1', 'replace', NULL, '2100-01-01'), 'added 0 other', 'the first is added');
SELECT pg_temp.of_key() AS first \gset
SELECT is(pg_temp.put('2', 'replace', :'first', '2100-01-02', 3), 'replaced 1 same', 'it is replaced');
SELECT is((SELECT jsonb_build_array(data, status, priority, next_event_time = '2100-01-02'::timestamptz) FROM twtasks.task WHERE id = :'first'),
	'[2, "WAITING", 3, true]', 'it has the data, time and priority of the second');
SELECT is(pg_temp.put('30', 'replace_data', :'first', '2099-01-01'), 'replaced 2 same', 'replaced once more, in its place');
SELECT is((SELECT jsonb_build_array(data, status, priority, next_event_time = '2100-01-02'::timestamptz) FROM twtasks.task WHERE id = :'first'),
	'[30, "WAITING", 5, true]', 'replace_data keeps its time');
SELECT is(pg_temp.put('4', 'replace', :'first'), 'replaced 3 same', 'replaced to run at once');
SELECT is((SELECT jsonb_build_array(data, status, queued, next_event_time > state_time) FROM twtasks.task WHERE id = :'first'), '[4, "SUBMITTED", true, true]', 'it is in the queue');
SELECT is(pg_temp.grab(:'first', 2), NULL, 'the trigger of an older version does not start it');
SELECT is(pg_temp.grab(:'first', 3), 4::bigint, 'the trigger of its last version starts it');
SELECT is(pg_temp.put('5', 'replace', :'first'), 'added 0 other', 'beside a running task a new one is added');
SELECT pg_temp.of_key() AS second \gset
SELECT is((SELECT jsonb_agg(jsonb_build_array(data, status) ORDER BY data) FROM twtasks.task), '[[4, "PROCESSING"], [5, "SUBMITTED"]]', 'the running task keeps its data');
SELECT is(pg_temp.put('6', 'replace', :'second'), 'replaced 1 same', 'the new one has the key, and is replaced');
SELECT pg_temp.finish(:'first', 'retry', delay_ms => 60000) \g /dev/null
SELECT is((SELECT jsonb_agg(jsonb_build_array(data, status) ORDER BY data) FROM twtasks.task), '[[4, "WAITING"], [6, "SUBMITTED"]]', 'a retry keeps its data');

-- A task that has started once is never replaced, whatever became of it.
CREATE FUNCTION pg_temp.after(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	first uuid;
	said text;
BEGIN
	PERFORM pg_temp.again(), pg_temp.put('1', 'replace');
	first := pg_temp.of_key();
	PERFORM pg_temp.grab(first);
	CASE change
		WHEN 'retry' THEN PERFORM pg_temp.finish(first, 'retry', delay_ms => 60000);
		WHEN 'repeat' THEN PERFORM pg_temp.finish(first, 'repeat', delay_ms => 60000);
		WHEN 'resumed' THEN PERFORM pg_temp.finish(first, 'error'), twtasks.resume_task(first);
		WHEN 'accepted' THEN PERFORM pg_temp.finish(first, 'accepted'), twtasks.finish_task(first, 1, 'repeat', 'again');
		WHEN 'released' THEN PERFORM pg_temp.finish(first, 'release');
		WHEN 'reopened' THEN PERFORM pg_temp.finish(first, 'error'), twtasks.fail_task(first), twtasks.reopen_task(first);
	END CASE;
	said := pg_temp.put('2', 'replace', first);
	RETURN said || (SELECT string_agg(' ' || t.data::text, '' ORDER BY t.data) FROM twtasks.task t);
END $$;
SELECT is(pg_temp.after(c), 'added 0 other 1 2', 'a task that has started is not replaced: ' || c)
FROM unnest('{retry,repeat,resumed,accepted,released,reopened}'::text[]) c;

-- An operator's hold stays.
SELECT pg_temp.again(), pg_temp.put('1', 'replace') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
SELECT twtasks.hold_task(:'first') \g /dev/null
SELECT is(pg_temp.put('2', 'replace', :'first', '2100-01-01'), 'replaced 2 same', 'a held task is replaced');
SELECT is((SELECT jsonb_build_array(data, status, planned = '2100-01-01'::timestamptz) FROM twtasks.task), '[2, "HELD", true]', 'it stays held, for its new time');

SELECT is((SELECT string_agg(concat_ws(' ', action, from_version, to_version, from_status, role = session_user), ', ' ORDER BY id) FROM twtasks.audit WHERE task_id = :'first'),
	'hold 0 1 SUBMITTED t, replace 1 2 HELD t', '... and the audit says so');
SELECT is((SELECT after ->> 'planned' IS NOT NULL FROM twtasks.audit WHERE action = 'replace' AND task_id = :'first'), true, '... with what it changed');
SELECT is((SELECT string_agg(concat_ws(' ', event, version), ', ' ORDER BY version) FROM twtasks.life(:'first')), 'add 0, hold 1, replace 2', '... as its life does');

-- So does a replacement of what an operator has changed; one that nobody has touched leaves no row.
SELECT pg_temp.again(), pg_temp.put('1', 'replace') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
SELECT pg_temp.put('2', 'replace') \g /dev/null
SELECT twtasks.prioritize_task(:'first', 1, 1, 'urgent') \g /dev/null
SELECT is(pg_temp.put('3', 'replace', :'first'), 'replaced 3 same', 'a task with another priority is replaced');
SELECT is((SELECT string_agg(concat_ws(' ', action, to_version), ', ' ORDER BY id) FROM twtasks.audit WHERE task_id = :'first'),
	'prioritize 2, replace 3', '... which the audit tells');

-- Changes by hand do not count as a start, nor does the time that comes.
SELECT pg_temp.again(), pg_temp.put('1', 'replace', run_after => '2000-01-01') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
UPDATE twtasks.task SET status = 'WAITING', queued = false, next_event_time = now() - interval '1 s';
SELECT is((SELECT promoted FROM twtasks_internal.promote_tasks()), 1::bigint, 'the time comes');
SELECT twtasks.hold_task(:'first'), twtasks.prioritize_task(:'first', priority => 1) \g /dev/null
SELECT is(pg_temp.put('2', 'replace', :'first', '2100-01-01'), 'replaced 4 same', 'a task that came due, was held and prioritized is replaced');
SELECT is((SELECT jsonb_build_array(status, priority) FROM twtasks.task), '["HELD", 5]', 'and stays held');
SELECT is((SELECT jsonb_build_array(before -> 'priority', after -> 'priority') FROM twtasks.audit WHERE action = 'replace' AND task_id = :'first'), '[1, 5]', 'the audit has the priority that was lost');
SELECT twtasks.release_task(:'first') \g /dev/null
SELECT is(pg_temp.put('3', 'replace', :'first'), 'replaced 6 same', 'released, it is replaced again');
SELECT is((SELECT string_agg(concat_ws(' ', action, from_status, to_status), ', ' ORDER BY id) FROM twtasks.audit WHERE task_id = :'first' AND from_version > 3),
	'release HELD WAITING, replace WAITING SUBMITTED', 'the audit has the status before and after');

-- Nothing runs beside a held task that may have started: here, or where this database was copied from.
SELECT pg_temp.again(), pg_temp.put('1', 'replace') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
SELECT pg_temp.grab(:'first'), pg_temp.finish(:'first', 'retry', delay_ms => 60000), twtasks.hold_task(:'first') \g /dev/null
SELECT throws_ok($$SELECT pg_temp.put('2', 'replace_data')$$, '55000', 'key "k" belongs to a held task that may have started', 'a held task that has started is not passed over');
SELECT is(pg_temp.put('2', 'live', :'first'), 'already_exists 3 same', '... and is live');
SELECT twtasks.cancel_task(:'first') \g /dev/null
SELECT is(pg_temp.put('2', 'replace', :'first'), 'added 0 other', 'when it is cancelled, a new one is added');
SELECT pg_temp.again(), pg_temp.put('1', 'replace') \g /dev/null
SELECT twtasks_internal.hold_copied('copy') \g /dev/null
SELECT throws_ok($$SELECT pg_temp.put('2', 'replace')$$, '55000', NULL, 'a task that adopt() held keeps its data');

-- A key of put_task() stays one.
SELECT pg_temp.again(), pg_temp.put('1', 'replace') \g /dev/null
SELECT pg_temp.of_key() AS first \gset
SELECT pg_temp.grab(:'first'), pg_temp.finish(:'first', 'error'), twtasks.fail_task(:'first'), pg_temp.put('2', 'replace') \g /dev/null
SELECT pg_temp.of_key() AS second \gset
SELECT pg_temp.grab(:'second'), pg_temp.finish(:'second', 'delete'), twtasks.reopen_task(:'first') \g /dev/null
SELECT is(pg_temp.of_key(), :'first', 'a reopened task has its key again, when the next one is gone');
SELECT is(pg_temp.put('3', 'replace', :'first'), 'added 0 other', 'put_task() may take it, but does not replace what has started');

-- Keys and ids of add_task() stay with their task.
SELECT pg_temp.again() \g /dev/null
SELECT task_id AS kept FROM twtasks.add_task('A', '1', key => 'k', task_id => '00000000-0000-0000-0000-000000000009') \gset
SELECT throws_ok(format('SELECT twtasks.put_task(%L, %L, key_rule => %L)', type, 'k', rule), '23505', 'key "k" is kept for an earlier task', rule || ' takes no key of add_task(): ' || type)
FROM (VALUES ('A', 'live'), ('A', 'replace'), ('B', 'replace_data')) v(type, rule);
SELECT pg_temp.grab(:'kept'), pg_temp.finish(:'kept', 'done') \g /dev/null
SELECT throws_ok($$SELECT twtasks.put_task('B', 'k', key_rule => 'live')$$, '23505', NULL, '... nor when it has ended');
SELECT is((SELECT concat_ws(' ', a.result, a.task_id = :'kept') FROM twtasks.add_task('A', '1', key => 'k', task_id => :'kept') a), 'already_exists t', 'so it is added once');

-- Several in one call; as JSON.
SELECT is((SELECT string_agg(a.result, ' ') FROM twtasks.add_tasks(
	'[{"type": "A", "key": "j", "key_rule": "replace", "data": 1}, {"type": "A", "key": "j", "key_rule": "replace", "data": 2}, {"type": "A", "key": "j", "key_rule": null}]'::jsonb) a),
	'added replaced already_exists', 'add_tasks(jsonb) has rules');
SELECT is((SELECT data FROM twtasks.task WHERE key = 'j'), '2', 'the last data count');

-- Wrong arguments are refused.
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "A", "key_rule": "live"}]'::jsonb)$$, '22023', 'key must not be null with this key_rule', 'a rule without a key, as JSON');
SELECT throws_ok($$SELECT twtasks.put_task('B', 'j')$$, '23505', NULL, 'a live task of another type is not replaced');
SELECT throws_ok($$SELECT twtasks.put_task('B', 'j', key_rule => 'live')$$, '23505', NULL, '... nor does its key become free');
SELECT throws_ok($$SELECT twtasks.put_task('A', NULL)$$, '22004', 'key must not be null', 'a rule without a key');
SELECT throws_ok($$SELECT twtasks.add_tasks('[{"type": "A", "key": "i", "task_id": "00000000-0000-0000-0000-000000000007", "key_rule": "live"}]'::jsonb)$$, '22023', NULL, 'a rule beside an id');
SELECT throws_ok($$SELECT twtasks.put_task('A', 'i', key_rule => 'debounce')$$, '22023', 'unrecognized key_rule: "debounce"', 'another rule');
SELECT throws_ok($$SELECT twtasks.put_task('A', 'i', key_rule => NULL)$$, '22004', NULL, 'no rule');


-- Policies count, as for add_task().
SELECT twtasks.configure_type('A', priority => 2) \g /dev/null
SELECT twtasks.put_task('A', 'j', '3') \g /dev/null
SELECT is((SELECT jsonb_build_array(priority, data) FROM twtasks.task WHERE key = 'j'), '[2, 3]', 'a task that is replaced has the priority of its policy');

SELECT * FROM finish();
ROLLBACK;
