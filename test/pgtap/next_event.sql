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

SELECT is(pg_temp.next_ms(), NULL, 'no task: nothing to come back for');
SELECT pg_temp.all_past('SUBMITTED') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'one that has expired in the queue: at once');
SELECT pg_temp.all_past('WAITING') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'one that waits, too');
SELECT pg_temp.all_past('PROCESSING') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'one that runs does not expire');
SELECT pg_temp.all_past('ERROR') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'one in ERROR does not');
SELECT pg_temp.all_past('HELD') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'one that is held does not');
SELECT is(twtasks_internal.expire_tasks(), 0::bigint, 'as expire_tasks() finds');

-- Times to come.
TRUNCATE twtasks.task, twtasks.unique_key;
SELECT (twtasks.add_task('A', task_id => pg_temp.id(1), run_after => clock_timestamp() + interval '2 h', expires => clock_timestamp() + interval '1 h')).result \g /dev/null
SELECT ok(pg_temp.next_ms() BETWEEN 3590000 AND 3600000, 'one that expires before it is due');
UPDATE twtasks.task SET expires = NULL;
SELECT ok(pg_temp.next_ms() BETWEEN 7190000 AND 7200000, 'one that is due');

-- Accepted ones: only a rule makes a deadline count.
CREATE FUNCTION pg_temp.accepted(rule twtasks.stuck_rule) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM pg_temp.all_past('PROCESSING', rule);
	PERFORM pg_temp.finish(pg_temp.id(1), 'accepted');
END $$;
SELECT pg_temp.accepted('retry') \g /dev/null
SELECT is(pg_temp.next_ms(), 0::bigint, 'an accepted one past its deadline');
SELECT pg_temp.accepted('ignore') \g /dev/null
SELECT is(pg_temp.next_ms(), NULL, 'whose deadline nobody minds');
SELECT is((SELECT to_jsonb(r) FROM twtasks_internal.recover_tasks() r), '{"retried": 0, "errors": 0, "failed": 0, "next_ms": null}'::jsonb, 'as recover_tasks() finds');

SELECT * FROM finish();
