/*
 * twtasks_internal.check_testing()
 *
 *		Refuses functions for tests where they are switched off.
 *
 * Errors
 *		55000			twtasks.testing is off
 */
CREATE FUNCTION twtasks_internal.check_testing()
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT twtasks_internal.is_testing() THEN
		RAISE EXCEPTION 'functions for tests are switched off'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The setting twtasks.testing is off.',
				HINT = CASE (twtasks.edition()).edition
					WHEN 'sql' THEN 'In a database for tests: UPDATE twtasks.setting SET value = ''on'' WHERE name = ''testing''.'
					ELSE format('In a database for tests: ALTER DATABASE %I SET twtasks.testing = on, and connect again.',
								current_database()) END;
	END IF;
END $$;

/*
 * twtasks_internal.do_duties()
 *
 *		Does the leader's duties at once: adds tasks of due schedules, promotes
 *		due tasks, expires tasks, applies stuck rules and runs the duties of other
 *		extensions.
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.schedule,
 *				twtasks.schedule_run
 * Wakes		sidecars of the tasks' buckets
 */
CREATE FUNCTION twtasks_internal.do_duties()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOOP
		EXIT WHEN (SELECT coalesce(r.next_ms, 1) > 0 OR r.added + r.missed = 0
				   FROM twtasks_internal.run_schedules(1000) r);
	END LOOP;
	LOOP
		EXIT WHEN (SELECT p.promoted FROM twtasks_internal.promote_tasks(1000) p) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN twtasks_internal.expire_tasks(1000) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN (SELECT r.retried + r.errors + r.failed
				   FROM twtasks_internal.recover_tasks(true, 1000) r) < 1000;
	END LOOP;
	LOOP
		EXIT WHEN (twtasks_internal.run_duties() = 0) IS NOT TRUE;
	END LOOP;
END $$;

/*
 * twtasks.set_clock(at)
 *
 *		Shifts the engine's clock in this database, for a test: it shows the
 *		given time now and goes on from there.  Then everything that is due
 *		happens: schedules, tasks whose time has come, tasks that expire, tasks
 *		past their deadline.
 *
 *		Only sessions with twtasks.testing on use this clock.  Until the commit,
 *		only this transaction uses it.
 *
 * Parameters
 *		at				NULL: the server's time again
 *
 * Returns
 *		the time that the clock shows
 *
 * Errors
 *		55000			twtasks.testing is off
 *		22023			at is infinite
 *
 * Writes		twtasks.test_clock and the tables of what is due
 * Locks		twtasks.test_clock against another set_clock()
 * Wakes		sidecars of the due tasks' buckets
 */
CREATE FUNCTION twtasks.set_clock(at timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.check_testing();
	IF NOT isfinite(set_clock.at) THEN
		RAISE EXCEPTION 'the clock must show a finite time'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	LOCK TABLE twtasks.test_clock IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM twtasks.test_clock;
	INSERT INTO twtasks.test_clock (ahead_us, at, actor)
	SELECT (extract(epoch FROM set_clock.at - clock_timestamp()) * 1000000)::bigint,
		   clock_timestamp(), twtasks_internal.actor()
	WHERE set_clock.at IS NOT NULL;
	PERFORM twtasks_internal.do_duties();
	RETURN twtasks.clock();
END $$;

/*
 * twtasks.advance_clock(by)
 *
 *		Lets time pass, for a test: calls set_clock() with a time that much
 *		later.
 *
 * Returns
 *		the time that the clock shows
 *
 * Errors
 *		55000			twtasks.testing is off
 *		22004			by is NULL
 *
 * Writes, locks, wakes: as set_clock()
 * Example		SELECT twtasks.advance_clock('1 hour');
 */
CREATE FUNCTION twtasks.advance_clock(by interval)
RETURNS timestamptz
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF by IS NULL THEN
		RAISE EXCEPTION 'by must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN twtasks.set_clock(twtasks.clock() + by);
END $$;

/*
 * twtasks_internal.stop_vacuums()
 *
 *		Ends vacuums that the server itself has begun on tables of tasks: it does so for
 *		who has waited for deadlock_timeout.  Each table is locked alone and given back, so
 *		that this is a part of no deadlock.
 */
CREATE FUNCTION twtasks_internal.stop_vacuums()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	busy oid;
BEGIN
	PERFORM set_config('lock_timeout', (SELECT s.setting::integer + 200 FROM pg_settings s WHERE s.name = 'deadlock_timeout') || 'ms', true);
	FOR busy IN
		SELECT DISTINCT l.relation FROM pg_locks l
		JOIN pg_stat_activity a ON a.pid = l.pid
		JOIN pg_class c ON c.oid = l.relation
		-- An autovacuum has no user.  The type of a backend is for superusers and the like.
		WHERE a.usesysid IS NULL AND a.datname = current_database()
		  AND c.relnamespace = 'twtasks'::regnamespace AND c.relkind = 'r'
	LOOP
		BEGIN
			EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', busy::regclass);
			RAISE EXCEPTION USING ERRCODE = 'TWTLK';
		EXCEPTION WHEN SQLSTATE 'TWTLK' OR lock_not_available OR deadlock_detected THEN
			NULL;
		END;
	END LOOP;
END $$;

/*
 * twtasks.reset_tasks()
 *
 *		Removes all tasks, live and finished, with their keys and audit, and
 *		resets the clock, for the next test.  Schedules stay, and start anew.
 *		Offsets of listeners stay, as the messages do.
 *
 * Returns
 *		number of tasks removed
 *
 * Errors
 *		55000			twtasks.testing is off
 *		55P03			another transaction held one of the tables for a minute
 *
 * Writes		twtasks.task, twtasks.finished_task, twtasks.task_attempt,
 *				twtasks.unique_key, twtasks.audit, twtasks.payload_read, twtasks.cancel_request, twtasks.schedule,
 *				twtasks.schedule_run, twtasks.slot_use, twtasks.test_clock
 * Locks		these tables exclusively.  It gives all of them back when it cannot
 *				have one of them within 50 ms, and tries again
 */
CREATE FUNCTION twtasks.reset_tasks()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	before CONSTANT text := current_setting('lock_timeout');
	last CONSTANT timestamptz := clock_timestamp() + interval '1 min';
	removed bigint;
BEGIN
	PERFORM twtasks_internal.check_testing();
	-- Queries lock these tables in other orders, so waiting for one while we hold others could deadlock.
	FOR round IN 1 .. 1000000 LOOP
		BEGIN
			PERFORM set_config('lock_timeout', '50ms', true);
			LOCK TABLE twtasks.task, twtasks.finished_task, twtasks.task_attempt, twtasks.unique_key, twtasks.audit, twtasks.payload_read,
				twtasks.cancel_request, twtasks.schedule, twtasks.schedule_run, twtasks.slot_use, twtasks.test_clock IN ACCESS EXCLUSIVE MODE;
			PERFORM set_config('lock_timeout', before, true);
			EXIT;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF clock_timestamp() > last THEN
				RAISE EXCEPTION 'could not lock the tables of twtasks within a minute'
					USING ERRCODE = 'lock_not_available',
						HINT = 'The views pg_locks and pg_prepared_xacts name the transactions that hold them. End these, then try again.';
			END IF;
		END;
		PERFORM twtasks_internal.stop_vacuums() WHERE round % 10 = 0;
		PERFORM pg_sleep(0.02);
	END LOOP;
	SELECT count(*) INTO removed FROM twtasks.tasks;
	TRUNCATE twtasks.task, twtasks.finished_task, twtasks.task_attempt, twtasks.unique_key, twtasks.audit, twtasks.payload_read,
		twtasks.cancel_request, twtasks.schedule_run, twtasks.slot_use;
	DELETE FROM twtasks.test_clock;
	PERFORM twtasks_internal.start_schedule(s.name, true) FROM twtasks.schedule s;
	RETURN removed;
END $$;
