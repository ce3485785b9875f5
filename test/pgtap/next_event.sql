--
-- tick(): when a duty has something to take, and that what no duty takes does
-- not make sidecars busy, however long it is past.
--
\ir ../lib/tasks.sql
TRUNCATE twtasks.node;
SELECT plan(12);

CREATE FUNCTION pg_temp.next_ms() RETURNS bigint
LANGUAGE sql
AS $$ SELECT next_ms FROM twtasks_internal.tick(pg_temp.node()) $$;

-- One task in each status, whose times are all past.
CREATE FUNCTION pg_temp.all_past(status twtasks.task_status, rule twtasks.stuck_rule DEFAULT 'error') RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	TRUNCATE twtasks.task, twtasks.unique_key;
	PERFORM pg_temp.task_in(status, pg_temp.id(1), rule => rule);
	UPDATE twtasks.task SET expires = created, deadline = created,
		next_event_time = CASE WHEN next_event_time < 'infinity' THEN created ELSE 'infinity' END;
END $$;

SELECT is(pg_temp.next_ms(), NULL, 'there is no next event without tasks');
SELECT pg_temp.all_past('SUBMITTED') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'a task that has expired in the queue is an event at once');
SELECT pg_temp.all_past('WAITING') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'a waiting task that has expired is an event at once');
SELECT pg_temp.all_past('PROCESSING') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'a running task does not expire');
SELECT pg_temp.all_past('ERROR') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'a task in ERROR does not expire');
SELECT pg_temp.all_past('HELD') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'a held task does not expire');
SELECT is(twtasks_internal.expire_tasks(), 0::bigint, 'expire_tasks() agrees about a held task');

-- Times to come.
TRUNCATE twtasks.task, twtasks.unique_key;
SELECT (twtasks.add_task('A', task_id => pg_temp.id(1), run_after => clock_timestamp() + interval '2 h', expires => clock_timestamp() + interval '1 h')).result \g /dev/null
SELECT ok(pg_temp.next_ms() BETWEEN 3590000 AND 3600000, 'the next event is the expiry of a task that is due later');
UPDATE twtasks.task SET expires = NULL;
SELECT ok(pg_temp.next_ms() BETWEEN 7190000 AND 7200000, 'the next event is when the task is due');

-- Accepted ones: only a rule makes a deadline count.
CREATE FUNCTION pg_temp.accepted(rule twtasks.stuck_rule) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM pg_temp.all_past('PROCESSING', rule);
	PERFORM pg_temp.finish(pg_temp.id(1), 'accepted');
END $$;
SELECT pg_temp.accepted('retry') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'an accepted task past its deadline is an event at once');
SELECT pg_temp.accepted('ignore') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'an accepted task with the stuck rule ignore is no event');
SELECT is((SELECT to_jsonb(r) FROM twtasks_internal.recover_tasks() r), '{"retried": 0, "errors": 0, "failed": 0, "next_ms": null}'::jsonb, 'recover_tasks() agrees about the ignored task');

SELECT * FROM finish();
