--
-- incidents.sql
--		What the tests of incidents share: a database in which all is well, and a
--		leader that judges when the test says so.
--
-- Included after tasks.sql, in a transaction; all of it goes with it.
--
SET LOCAL twtasks.testing = on;
TRUNCATE twtasks.node, twtasks.incident, twtasks.incident_sent, twtasks.silence, twtasks.flow, twtasks.policy_audit, twtasks.schedule;
SELECT pg_temp.node() \g /dev/null
-- On a slow machine the test lasts longer than a cluster may be without a leader.
UPDATE twtasks.node SET notes_flow = true, leads = true;
SELECT twtasks_internal.begin_history(), twtasks_internal.make_partitions() \g /dev/null

-- Time passes, and the leader counts and judges.
CREATE FUNCTION pg_temp.judge_after(by interval) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM twtasks.advance_clock(by);
	UPDATE twtasks.node SET heartbeat = clock_timestamp(), next_tick = NULL;
	PERFORM twtasks_internal.judge_incidents() FROM twtasks_internal.monitor_tasks();
END $$;

-- The same; the incidents that are open then, such as 'error/A ticket 1'.
CREATE FUNCTION pg_temp.judge(by interval DEFAULT '1 min') RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM pg_temp.judge_after(by);
	RETURN (SELECT string_agg(concat_ws(' ', i.key, i.severity, i.count), ', ' ORDER BY i.key)
			FROM twtasks.incidents i WHERE i.state <> 'resolved');
END $$;
