/*
 * twtasks_internal.add_occurrence(schedule, occurrence)
 *
 *		Adds the task of an occurrence, unless it was added before.  A schedule
 *		of that name may have added it and been removed since, or the server's
 *		clock may have been put back.
 *
 * Parameters
 *		occurrence		NULL: an additional task, now
 *
 * Returns
 *		as add_task(); result 'already_exists': it was added before, or the additional
 *		task has the key of another
 *
 * Errors
 *		23505			another task has the key of this occurrence's; others as add_task()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.add_occurrence(schedule twtasks.schedule, occurrence timestamptz)
RETURNS twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	run CONSTANT timestamptz := coalesce(occurrence, twtasks.clock());
	added twtasks.added_task;
BEGIN
	IF EXISTS (SELECT FROM twtasks.schedule_run r
			   WHERE r.name = schedule.name AND r.occurrence = add_occurrence.occurrence) THEN
		added.result := 'already_exists';
		RETURN added;
	END IF;
	added := twtasks_internal.add_task_as(schedule.role, twtasks.new_task(
		schedule.type, schedule.data, schedule.sub_type, priority => schedule.priority,
		bucket => schedule.bucket, expires => run + schedule.expires_after,
		context => coalesce(schedule.context, '{}')
			|| jsonb_build_object('schedule', schedule.name, 'scheduled_for',
								  to_char(run AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
		payload => schedule.payload));
	IF added.result <> 'added' THEN
		IF occurrence IS NULL THEN
			RETURN added;
		END IF;
		-- Else the occurrence would pass for one that has run.
		RAISE EXCEPTION 'task of schedule "%" was not added, since another task has its key', schedule.name
			USING ERRCODE = 'unique_violation', DETAIL = format('The other task is "%s".', added.task_id),
				HINT = format('An intercept function has set the key: SELECT intercept FROM twtasks.policy_of(%L) names it.', schedule.type);
	ELSIF occurrence IS NOT NULL THEN
		INSERT INTO twtasks.schedule_run (name, occurrence, added, task_id)
		VALUES (schedule.name, occurrence, twtasks.clock(), added.task_id);
	END IF;
	UPDATE twtasks.schedule s SET last_run = run, last_task = added.task_id
	WHERE s.name = schedule.name;
	RETURN added;
END $$;

/*
 * twtasks_internal.run_schedule(schedule, now, until)
 *
 *		Adds the due occurrences of a schedule whose row is locked, by its rule
 *		for missed ones.  Then moves the schedule on to the next occurrence.
 *
 * Parameters
 *		until			at this time stop adding; the next occurrence is still due
 *
 * Returns
 *		added			number of tasks
 *		has_missed		whether occurrences were left out
 *
 * Errors
 *		as add_task() and cron_next()
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.run_schedule(
	schedule twtasks.schedule,
	now timestamptz,
	until timestamptz,
	OUT added integer,
	OUT has_missed boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted CONSTANT integer := CASE schedule.missed WHEN 'all' THEN schedule.missed_limit ELSE 1 END;
	before CONSTANT timestamptz := schedule.next_run - interval '1 microsecond';
	-- one more, which shows whether any is left out
	due timestamptz[] := twtasks_internal.cron_last(schedule.cron, before, now, schedule.time_zone, wanted + 1);
	left_out timestamptz;
	following timestamptz := twtasks.cron_next(schedule.cron, greatest(now, before), schedule.time_zone);
	occurrence timestamptz;
BEGIN
	added := 0;
	IF cardinality(due) > wanted THEN
		left_out := due[1];
		due := due[2:];
	END IF;
	IF schedule.missed = 'skip' AND due[1] < now - interval '1 minute' THEN
		left_out := due[1];
		due := '{}';
	END IF;
	FOREACH occurrence IN ARRAY due LOOP
		IF occurrence > due[1] AND clock_timestamp() > until THEN
			following := occurrence;
			EXIT;
		END IF;
		IF (twtasks_internal.add_occurrence(schedule, occurrence)).result = 'added' THEN
			added := added + 1;
		END IF;
	END LOOP;
	UPDATE twtasks.schedule s
	SET next_run = following, look_at = coalesce(following, 'infinity'),
		last_missed = coalesce(left_out, s.last_missed), problem = NULL
	WHERE s.name = schedule.name;
	has_missed := left_out IS NOT NULL;
END $$;

/*
 * twtasks_internal.run_schedule_as_json(schedule, now, until)
 *
 *		run_schedule(), for try_call().
 *
 * Returns, errors, writes, wakes: as run_schedule()
 */
CREATE FUNCTION twtasks_internal.run_schedule_as_json(schedule twtasks.schedule, now timestamptz, until timestamptz)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT to_jsonb(r) FROM twtasks_internal.run_schedule(schedule, now, until) r $$;

/*
 * twtasks_internal.forget_runs()
 *
 *		Deletes rows of twtasks.schedule_run that are as old as dropped history,
 *		at most a thousand.
 *
 * Writes		twtasks.schedule_run
 * Locks		rows; skips rows that others have locked
 */
CREATE FUNCTION twtasks_internal.forget_runs()
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM twtasks.schedule_run r
	WHERE (r.name, r.occurrence) IN (
		SELECT o.name, o.occurrence FROM twtasks.schedule_run o
		WHERE o.added < (SELECT twtasks.clock()) - twtasks_internal.keep_finished()
		ORDER BY o.added LIMIT 1000 FOR UPDATE SKIP LOCKED)
$$;

/*
 * twtasks_internal.run_schedules(batch)
 *
 *		Adds the tasks of all schedules that are due.  Adds none while
 *		twtasks.enabled is off, or if this database is a copy and not adopted:
 *		occurrences due then are missed.
 *
 *		A schedule that cannot run (its bucket is gone, its time zone is no
 *		longer known) does not hold up others. twtasks.schedules shows the
 *		reason, and the next try is half a minute later.  The same applies if a
 *		schedule takes longer than twtasks.function_timeout.  When the call has
 *		taken half of that time in all, the rest waits for the next call.
 *
 * Parameters
 *		batch			at most this many schedules in one call
 *
 * Returns
 *		added			number of tasks
 *		missed			number of schedules with occurrences left out
 *		failed			number of schedules that cannot run, and could before
 *		next_ms			milliseconds until the next one is due; 0: more are due now;
 *						NULL: none waits
 *
 * Writes		twtasks.task, twtasks.schedule, twtasks.schedule_run
 * Locks		rows of schedules, the earliest first; skips rows that others have
 *				locked
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.run_schedules(
	batch integer DEFAULT 100,
	OUT added bigint,
	OUT missed bigint,
	OUT failed bigint,
	OUT next_ms bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
	started CONSTANT timestamptz := twtasks.clock();
	-- A schedule that is cut off at the time limit adds nothing.
	until CONSTANT timestamptz := clock_timestamp() + current_setting('twtasks.function_timeout')::interval / 2;
	due twtasks.schedule;
	ran record;
	left_over integer := batch;
BEGIN
	added := 0;
	missed := 0;
	failed := 0;
	IF NOT (twtasks.is_enabled() AND twtasks.is_adopted()) THEN
		RETURN;
	END IF;
	FOR due IN
		SELECT s.* FROM twtasks.schedule s
		WHERE s.look_at <= started
		ORDER BY s.look_at
		LIMIT batch FOR UPDATE SKIP LOCKED
	LOOP
		left_over := left_over - 1;
		ran := twtasks_internal.try_call('twtasks_internal.run_schedule_as_json', due, started, until);
		IF ran.state IS NULL THEN
			added := added + (ran.result::jsonb->>'added')::integer;
			missed := missed + (ran.result::jsonb->>'has_missed')::boolean::integer;
		ELSE
			failed := failed + (due.problem IS NULL)::integer;
			UPDATE twtasks.schedule s
			SET problem = twtasks_internal.cut_message(ran.error), look_at = started + interval '30 seconds'
			WHERE s.name = due.name;
			-- The next one may take as long, and the node has other duties.
			EXIT WHEN ran.state IN ('55P03', '53400');
		END IF;
		EXIT WHEN added >= 1000 OR clock_timestamp() > until;
	END LOOP;
	PERFORM twtasks_internal.forget_runs();

	-- A schedule that is due and was skipped is locked: do not try it again at once.
	SELECT least(
		(SELECT CASE WHEN left_over > 0 AND added < 1000 THEN 500 ELSE 0 END
		 FROM twtasks.schedule s WHERE s.look_at <= started LIMIT 1),
		(SELECT greatest(0, ceil(extract(epoch FROM s.look_at - twtasks.clock()) * 1000))
		 FROM twtasks.schedule s
		 WHERE s.look_at > started AND s.look_at < 'infinity'
		 ORDER BY s.look_at LIMIT 1))
	INTO next_ms;
END $$;
