--
-- Mistakes that others have made with tasks like these, one test each: what
-- must not happen here.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(38);
SELECT twtasks.is_enabled() \g /dev/null
SET LOCAL twtasks.testing = on;

-- A time that is past when the task is added.
SELECT (twtasks.add_task('PAST', run_after => clock_timestamp() - interval '1 year')).task_id AS task \gset
SELECT is((SELECT count(*) FROM twtasks.stuck_tasks), 0::bigint, 'a task whose time was past when it was added is not stuck at once');
SELECT is((SELECT (promoted, next_ms)::text FROM twtasks_internal.promote_tasks()), '(0,)', 'a task added for the past is not promoted, which would change its version');
SELECT is(pg_temp.grab(:'task', 0), 1::bigint, 'a task added for the past can be grabbed');

-- Versions are counted as long as they are stored.
SELECT pg_temp.task_in('ERROR') AS task \gset
UPDATE twtasks.task SET version = 2 ^ 40 WHERE id = :'task';
SELECT is((SELECT (r.result, r.version)::text FROM twtasks.resume_task(:'task', (2 ^ 40)::bigint) r), '(changed,1099511627777)', 'a version beyond 32 bits is accepted');
SELECT is((SELECT r.result FROM twtasks.hold_task(:'task', 1) r), 'wrong_version', 'a version is not cut off to 32 bits');

-- Changes by hand look at the status.
SELECT is(pg_temp.change('fail', pg_temp.task_in('PROCESSING'), 1), 'wrong_status', 'a running task cannot be failed by hand');
SELECT is(pg_temp.change('resume', pg_temp.task_in('DONE'), 2), 'wrong_status', 'a finished task cannot be resumed by hand');
SELECT is((SELECT string_agg(DISTINCT r.result, ' ') FROM twtasks.fail_task(pg_temp.id(98), 0) r), 'not_found', 'an unknown id is an answer, not an error');
SELECT throws_ok($$SELECT FROM twtasks.change_tasks('resume', '*', 'x', max_tasks => 0)$$, '22023', NULL, 'max_tasks 0 is an error');
SELECT throws_ok($$SELECT FROM twtasks.change_tasks('resume', '*', 'x', max_tasks => NULL)$$, '22023', NULL, 'max_tasks NULL is an error');

-- A batch is not undone by one that is not there any more.
SELECT pg_temp.task_in('ERROR', pg_temp.id(1)), pg_temp.task_in('ERROR', pg_temp.id(2)) \g /dev/null
SELECT is((SELECT array_agg(r.result ORDER BY x.n) FROM (VALUES (1, 2), (99, 2), (2, 2)) x(n, version), twtasks.fail_task(pg_temp.id(x.n), x.version) r),
	'{changed,changed,not_found}', 'a missing task leaves the other tasks of the statement alone');

-- The effects of a handler count only if the task was still its own.
CREATE SCHEMA regress_effects;
GRANT USAGE ON SCHEMA regress_effects TO PUBLIC;
CREATE TABLE regress_effects.effect (task uuid);
CREATE FUNCTION regress_effects.late(task twtasks.task_input) RETURNS void LANGUAGE sql SECURITY DEFINER
AS $$
	INSERT INTO regress_effects.effect VALUES (task.id);
	UPDATE twtasks.task SET version = version + 1 WHERE id = task.id;
$$;
SELECT task_id AS task FROM twtasks.add_task('LATE') \gset
SELECT is((SELECT result FROM twtasks.run_inline('regress_effects.late', 'LATE', 1)), 'failed', 'a handler whose task was taken over meanwhile fails');
SELECT is((SELECT count(*) FROM regress_effects.effect), 0::bigint, 'the failed handler leaves no effect');

-- Counting what is there does not depend on what the planner knows.
SELECT pg_temp.task_in('ERROR') \g /dev/null
SELECT ok((SELECT sum(tasks) FROM twtasks.stats) = (SELECT count(*) FROM twtasks.task), 'tasks are counted in a table that was never analyzed');

-- Each try comes later than the one before.
SELECT twtasks.reset_tasks() \g /dev/null
CREATE FUNCTION regress_effects.fail(task twtasks.task_input) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE FUNCTION pg_temp.wait_of_try(n integer) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
	waits interval;
BEGIN
	PERFORM twtasks.run_inline('regress_effects.fail', 'TRIES');
	SELECT next_event_time - state_time INTO waits FROM twtasks.task WHERE type = 'TRIES' AND tries = n;
	PERFORM twtasks.advance_clock(waits - interval '1 s');
	IF EXISTS (SELECT FROM twtasks.run_inline('regress_effects.fail', 'TRIES')) THEN
		RAISE EXCEPTION 'it came too early';
	END IF;
	PERFORM twtasks.advance_clock('1 s');
	RETURN waits;
END $$;
SELECT twtasks.add_task('TRIES') \g /dev/null
SELECT is((SELECT array_agg(pg_temp.wait_of_try(n) ORDER BY n) FROM generate_series(1, 5) n), '{5 s,10 s,20 s,40 s,80 s}'::interval[],
	'each try waits twice as long as the one before, and does not come earlier');

-- Many finished tasks are cleaned a part at a time, each call going on where the
-- one before ended.
CREATE TABLE twtasks.finished_task_20200101 PARTITION OF twtasks.finished_task FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-01-02 00:00+00');
CREATE INDEX finished_task_20200101_id ON twtasks.finished_task_20200101 (id);
INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket, key)
SELECT gen_random_uuid(), 2, '2020-01-01 12:00+00', '2020-01-01 12:00+00', 'DONE', 1, 5, 'MANY', 'default', 'many ' || n FROM generate_series(1, 45000) n;
INSERT INTO twtasks.unique_key (task_id, key) SELECT id, key FROM twtasks.finished_task WHERE type = 'MANY' ORDER BY id OFFSET 10000;
SELECT is(twtasks_internal.clean_older('1 day'), 'finished_task_20200101', 'one call frees a part of the keys of a large day');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key LIKE 'many %'), 25000::bigint, 'the first call has read 20,000 tasks');
SELECT is(twtasks_internal.clean_older('1 day'), 'finished_task_20200101', 'the next call goes on with the day');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key LIKE 'many %'), 5001::bigint, 'the next call has freed the next part');
SELECT is((SELECT count(*) FROM twtasks.cleaning), 1::bigint, 'the cleaning remembers how far it came');
SELECT is(twtasks_internal.clean_older('1 day'), 'finished_task_20200101', 'the last call finishes the day');
SELECT is(to_regclass('twtasks.finished_task_20200101'), NULL, 'the last call drops the partition of the day');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key LIKE 'many %') + (SELECT count(*) FROM twtasks.cleaning), 0::bigint, 'all keys of the day are free');
SELECT is(twtasks_internal.clean_older('1 day'), NULL, 'no more cleaning is due');
INSERT INTO twtasks.finished_task (id, version, state_time, created, status, tries, priority, type, bucket, key)
SELECT gen_random_uuid(), 2, '2019-01-01 12:00+00', '2019-01-01 12:00+00', 'DONE', 1, 5, 'MANY', 'default', 'many ' || n FROM generate_series(1, 20001) n;
INSERT INTO twtasks.unique_key (task_id, key) SELECT id, key FROM twtasks.finished_task WHERE type = 'MANY';
SELECT is((SELECT array_agg(twtasks_internal.clean_older('1 day')) FROM generate_series(1, 2)), '{finished_task_other,NULL}', 'tasks without a partition are cleaned in parts too');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key LIKE 'many %'), 0::bigint, 'the keys of these tasks are free');

-- A task that is live or whose day is not over is not cleaned, nor is its key.
SELECT (twtasks.add_task('STAYS', key => 'stays')).task_id AS task \gset
-- The partition of a day that ended meanwhile may be.
SELECT count(twtasks_internal.clean_older('0 s')) >= 0 AS cleaned FROM generate_series(1, 3) \gset
SELECT is(twtasks_internal.clean_older('0 s'), NULL, 'no other task is due for cleaning');
SELECT is((SELECT count(*) FROM twtasks.unique_key WHERE key = 'stays'), 1::bigint, 'a live task keeps its key');

-- A priority that was not given is one of those that there are.
SELECT ok((SELECT priority BETWEEN 0 AND 9 FROM twtasks.task WHERE id = :'task'), 'the default priority is in the range');

-- More stuck tasks than are looked at in one call, which nobody is to touch.
SELECT twtasks.reset_tasks() \g /dev/null
SELECT pg_temp.grab((twtasks.add_task('IGNORED')).task_id, 0, 0, 'ignore') FROM generate_series(1, 5) \g /dev/null
SELECT ok((SELECT retried + errors + failed = 0 AND next_ms IS DISTINCT FROM 0 FROM twtasks_internal.recover_tasks(true, 2)), 'ignored stuck tasks are no reason to look again at once');
SELECT pg_temp.grab((twtasks.add_task('RETRIED')).task_id, 0, 0, 'retry') \g /dev/null
SELECT is((SELECT retried FROM twtasks_internal.recover_tasks(true, 2)), 1::bigint, 'ignored stuck tasks hide no other stuck task');

-- How long a finished task is kept counts from its finish, whatever it was due.
SELECT twtasks.configure_type('CLEARED', when_done => 'clear') \g /dev/null
SELECT (twtasks.add_task('CLEARED', '{"a": 1}')).task_id AS task \gset
SELECT pg_temp.grab(:'task', 0, 90 * 86400000::bigint), pg_temp.finish(:'task', 'done') \g /dev/null
SELECT is((SELECT (data IS NULL, state_time BETWEEN created AND twtasks.clock())::text FROM twtasks.finished_task WHERE id = :'task'), '(t,t)', 'a task whose data was cleared is as old as its finish');

-- Bytes that mean "no payload" elsewhere, where a task has nothing but a context.
SELECT (twtasks.add_task('MARK', context => '{"c": 1}', payload => '\xc2ae')).task_id AS task \gset
SELECT is((SELECT jsonb_build_array(g.payload::text, g.data, g.context) FROM twtasks_internal.grab_tasks(ARRAY[:'task'::uuid], '{0}', pg_temp.node(), pg_temp.token(), '{60000}', '{error}') g),
	'["\\xc2ae", null, {"c": 1}]', 'a payload of the bytes C2 AE reaches the handler');
SELECT is(pg_temp.finish(:'task', 'done'), 'DONE', 'a task with such a payload is DONE');
SELECT is((SELECT payload FROM twtasks.finished_task WHERE id = :'task'), '\xc2ae', 'the payload comes into the history');

SELECT is((SELECT result FROM twtasks.fail_task(pg_temp.id(97), 0, NULL)), 'not_found', 'an unknown id without a reason is not found');
-- Retry policies that a sidecar sends are not those that configure_type() has checked.
SELECT throws_ok($$SELECT twtasks_internal.retry_delay('{"delays": []}', 0)$$, '22023', 'invalid retry policy', 'a repeat under a list without delays is refused');
SELECT is(twtasks_internal.retry_delay('{"delay": "7s", "jitter": 0, "max_tries": 3.0}', 1), 7000::bigint, 'a number of tries may have zeros after its point');

SELECT * FROM finish();
ROLLBACK;
