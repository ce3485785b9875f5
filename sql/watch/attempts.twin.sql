-- before:
/*
 * twtasks_internal.write_attempts(attempts, at)
 *
 *		Writes attempts that ended at this time.  A failure is a warning.  An error stands
 *		once in a partition while it stays the same.  A try that is repeated has a bound;
 *		the last one before a person decides has none.  Tries are at least two versions
 *		apart, so only a task of many versions can have reached it.
 *
 * Writes		twtasks.task_attempt
 */
CREATE FUNCTION twtasks_internal.write_attempts(attempts twtasks_internal.attempt[], at timestamptz)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan
SET jit = off
AS $$
DECLARE
	day CONSTANT date := (at AT TIME ZONE 'UTC')::date;
	part record;
BEGIN
	PERFORM twtasks_internal.begin_history('task_attempt') WHERE to_regclass('twtasks.task_attempt_other') IS NULL;
	SELECT coalesce(min(p.first::timestamp AT TIME ZONE 'UTC'), '-infinity') AS since,
		   coalesce(min(p.past::timestamp AT TIME ZONE 'UTC'), 'infinity') AS past INTO part
	FROM twtasks_internal.history_parts('task_attempt') p WHERE day >= p.first AND day < p.past;
	-- A plan for these two times leaves the other partitions alone; one for any times locks all.
	INSERT INTO twtasks.task_attempt (task_id, version, try, runnable, started, ended, incarnation, result, error, next, node)
	SELECT u.id, u.version, u.try, u.runnable, u.started, at, u.incarnation, u.result,
		CASE WHEN u.version = 1 OR u.error IS DISTINCT FROM (
				SELECT t.error FROM twtasks.task_attempt t WHERE t.task_id = u.id AND t.ended >= part.since AND t.ended < part.past
				  AND t.error IS NOT NULL AND t.result <> 'late' ORDER BY t.version DESC LIMIT 1) THEN u.error END,
		u.next, n.name
	FROM unnest(attempts) u LEFT JOIN twtasks.node n ON n.incarnation = u.incarnation
	WHERE u.next IS NULL OR u.version < 200
	   OR 100 <> (SELECT count(*) FROM (SELECT FROM twtasks.task_attempt t WHERE t.task_id = u.id AND t.ended >= part.since AND t.ended < part.past LIMIT 100) a);
EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
	RAISE WARNING 'could not write % attempts: %', cardinality(attempts), SQLERRM
		USING ERRCODE = SQLSTATE,
			HINT = 'The ends of these tries are kept. Mend twtasks.task_attempt, or set twtasks.keep_attempts to 0.';
END $$;

-- twin: twt_note_attempts LANGUAGE plpgsql
DECLARE
	attempts twtasks_internal.attempt[];
BEGIN
	IF twtasks_internal.keep_attempts() > '0' THEN
		attempts := ARRAY(
			SELECT twtasks_internal.attempt_of(t.id, t.version, t.tries, t.status, t.state_time, t.queued,
				twtasks_internal.runnable_since(t.type, t.queued, t.next_event_time, t.created), t.incarnation,
				note_attempts.result, note_attempts.error, note_attempts.next)
			FROM unnest(ids) WITH ORDINALITY u(id, n) JOIN twtasks.task t ON t.id = u.id ORDER BY u.n);
	END IF;
	-- The next try can run since this one ended.
	IF cardinality(attempts) > 0 THEN
		PERFORM twtasks_internal.write_attempts(attempts, next);
	END IF;
END
