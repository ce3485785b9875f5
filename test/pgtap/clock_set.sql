--
-- A clock that is set ends neither the grace of a node without a session nor the
-- lease of a silent one: what was seen before counts for nothing, and the time runs
-- from now on.
--
BEGIN;
\ir ../lib/tasks.sql
SELECT plan(14);
TRUNCATE twtasks.node;

-- Puts the clock forward: all that was stored is so much older, and the machine too
-- seems to have been started later.
CREATE FUNCTION pg_temp.put_forward(by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION twtasks_internal.boot_time() RETURNS timestamptz
		LANGUAGE sql VOLATILE STRICT AS %L', format('SELECT %L::timestamptz', twtasks_internal.boot_time() + by));
	UPDATE twtasks.node SET heartbeat = heartbeat - by, missing_since = missing_since - by, silent_since = silent_since - by;
END $$;
-- Milliseconds until the next look, in minutes; NULL: it has ended.
CREATE FUNCTION pg_temp.looks(grace interval) RETURNS integer LANGUAGE sql
AS $$ SELECT round(r.next_ms / 60000.0)::integer FROM twtasks_internal.recover_tasks(true, 10, grace) r $$;
CREATE FUNCTION pg_temp.is_gone() RETURNS boolean LANGUAGE sql AS $$ SELECT ended IS NOT NULL FROM twtasks.node $$;

SELECT cmp_ok(abs(extract(epoch FROM twtasks_internal.boot_time() - twtasks_internal.boot_time())), '<', 0.05, 'the boot time stays');
SELECT cmp_ok(twtasks_internal.boot_time(), '<', clock_timestamp(), 'and is past');

-- The grace.
SELECT twtasks_internal.start_node('node', '1 hour') AS node \gset
SELECT pg_advisory_unlock_all() \g /dev/null
SELECT is(pg_temp.looks('5 minutes'), 5, 'a node without a session has a grace');
SELECT pg_temp.put_forward('10 minutes') \g /dev/null
SELECT is(pg_temp.looks('5 minutes'), 5, 'which begins anew when the clock is put forward');
SELECT ok(NOT pg_temp.is_gone(), 'and the node is not gone');
UPDATE twtasks.node SET missing_since = missing_since - interval '4 minutes';
SELECT is(pg_temp.looks('5 minutes'), 1, 'the new grace runs');
UPDATE twtasks.node SET missing_since = missing_since - interval '2 minutes';
SELECT is(pg_temp.looks('5 minutes'), NULL, 'and ends');
SELECT ok(pg_temp.is_gone(), 'so the node is gone');

-- The lease.
TRUNCATE twtasks.node;
SELECT twtasks_internal.start_node('node', '1 hour') AS node \gset
UPDATE twtasks.node SET heartbeat = heartbeat - interval '32 minutes';
SELECT is(pg_temp.looks('5 minutes'), 30, 'a silent node is looked at again');
SELECT pg_temp.put_forward('2 hours') \g /dev/null
SELECT is(pg_temp.looks('5 minutes'), NULL, 'when the clock is put forward, it has its whole lease again');
SELECT ok((SELECT ended IS NULL AND silent_since IS NULL FROM twtasks.node), 'and is not gone');
UPDATE twtasks.node SET heartbeat = heartbeat - interval '62 minutes', silent_since = clock_timestamp() - interval '31 minutes';
SELECT pg_temp.looks('5 minutes') \g /dev/null
SELECT ok(pg_temp.is_gone(), 'until that is over');

-- The row of a node from before an update has no boot time.
TRUNCATE twtasks.node;
SELECT twtasks_internal.start_node('node', '1 hour') AS node \gset
SELECT pg_advisory_unlock_all() \g /dev/null
UPDATE twtasks.node SET boot_time = NULL;
SELECT is(pg_temp.looks('5 minutes'), 5, 'a node without a boot time has a grace');

-- A clock that is put back.
TRUNCATE twtasks.node;
SELECT twtasks_internal.start_node('node', '1 hour') AS node \gset
SELECT pg_advisory_unlock_all(), pg_temp.looks('5 minutes') \g /dev/null
SELECT pg_temp.put_forward('-10 minutes') \g /dev/null
SELECT is(pg_temp.looks('5 minutes'), 5, 'the grace begins anew when the clock is put back, too');
SELECT * FROM finish();
ROLLBACK;
