/*
 * twtasks_internal.hold_copied(reason)
 *
 *		Holds every task that would run by itself: WAITING, SUBMITTED and
 *		PROCESSING become HELD.  The original may have started them, so put_task()
 *		does not replace them.
 *
 * Returns
 *		the number of tasks
 *
 * Writes		twtasks.task, twtasks.unique_key, twtasks.audit
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.hold_copied(reason text)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	WITH found AS MATERIALIZED (
		SELECT t.id, twtasks_internal.facts(t.*) AS facts FROM twtasks.task t
		WHERE t.status IN ('WAITING', 'SUBMITTED', 'PROCESSING') FOR UPDATE),
	held AS (
		UPDATE twtasks.task t
		SET status = 'HELD', version = t.version + 1, queued = false,
			state_time = twtasks.clock(), next_event_time = 'infinity', deadline = NULL,
			planned = CASE t.status WHEN 'WAITING' THEN t.next_event_time END
		FROM found f WHERE t.id = f.id
		RETURNING t.id, twtasks_internal.facts(t.*) AS facts),
	kept AS (
		UPDATE twtasks.unique_key k SET put_version = -1
		FROM held h WHERE k.task_id = h.id AND k.put_version IS NOT NULL)
	SELECT count(twtasks_internal.write_audit('adopt', f.id, f.facts, h.facts, hold_copied.reason))
	FROM found f JOIN held h ON h.id = f.id
$$;

/*
 * twtasks.adopt(environment, hold, reason, address)
 *
 *		Declares that the tasks of this database are to be executed here.
 *		Without this call nothing is executed after a restore, a copy, a
 *		recovery to a point in time or pg_upgrade.  The call also names or
 *		renames an environment.
 *
 *		A copy does not know what its original has done since.  So all tasks of
 *		a copy that would run are held, and all its schedules paused, unless
 *		hold is false.  People release the tasks (release_task(),
 *		change_tasks()) or cancel them.
 *
 * Parameters
 *		environment		only sidecars with this environment in their configuration take
 *						tasks here: 1 to 63 letters, digits, _ or -; NULL: only
 *						sidecars without an environment
 *		hold			NULL: hold them if this is a copy; false: run them, since the
 *						original is known to be gone and nothing was lost.  In the SQL
 *						edition, NULL holds them unless a sidecar works here that came by
 *						a recorded address, and the environment is the same or had no name
 *		reason			for the record
 *		address			counts in the SQL edition: host:port/database, by which other
 *						sidecars reach this same server; hold counts as without it.  NULL:
 *						if this is a copy, the next sidecar tells its address, and the
 *						original's are forgotten
 *
 * Returns
 *		held			number of tasks held
 *		paused			number of schedules paused
 *
 * Errors
 *		22023			environment or address is not valid
 *		25006			on a standby
 *
 * Writes		twtasks.adoption, twtasks.task, twtasks.audit, twtasks.schedule,
 *				twtasks.schedule_audit, twtasks.node
 * Locks		twtasks.adoption against another adopt(); the tasks' rows
 * Example		SELECT * FROM twtasks.adopt('staging');
 */
CREATE FUNCTION twtasks.adopt(
	environment text,
	hold boolean DEFAULT NULL,
	reason text DEFAULT NULL,
	address text DEFAULT NULL,
	OUT held bigint,
	OUT paused bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	fault text;
	forget boolean;
	held_before CONSTANT bigint := coalesce((SELECT max(a.held) FROM twtasks.adoption a WHERE a.ended IS NULL), 0);
BEGIN
	IF adopt.environment !~ '^[A-Za-z0-9_-]{1,63}$' THEN
		RAISE EXCEPTION 'invalid environment: "%"', adopt.environment
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A name has 1 to 63 letters, digits, _ or -.';
	END IF;
	IF adopt.address !~ '^[^[:space:]"]{1,255}:[0-9]{1,5}/[^"]{1,63}$' THEN
		RAISE EXCEPTION 'invalid address: "%"', adopt.address
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give it as the refusal of the sidecar does: host:port/database.';
	END IF;
	PERFORM twtasks_internal.own_place();	-- refuses standbys
	LOCK TABLE twtasks.adoption IN SHARE ROW EXCLUSIVE MODE;
	held := 0;
	paused := 0;
	fault := twtasks_internal.copy_fault(adopt.environment, adopt.hold);
	forget := fault IS NOT NULL AND (adopt.address IS NULL OR NOT twtasks.is_adopted());
	IF coalesce(adopt.hold, fault IS NOT NULL) THEN
		held := twtasks_internal.hold_copied(adopt.reason);
		SELECT count(*) FILTER (WHERE twtasks_internal.set_schedule_paused(s.name, true, adopt.reason) = 'paused')
		INTO paused FROM (SELECT o.name FROM twtasks.schedule o ORDER BY o.name) s;
		IF held > 0 OR paused > 0 THEN
			RAISE NOTICE 'held % % and paused % %', held, twtasks_internal.plural(held, 'task', 'tasks'),
				paused, twtasks_internal.plural(paused, 'schedule', 'schedules')
				USING DETAIL = coalesce('Reason: ' || fault || '.', 'The caller asked for it.'),
					HINT = 'Call twtasks.change_tasks() to release or cancel tasks, twtasks.resume_schedule() for schedules.';
		END IF;
	END IF;
	UPDATE twtasks.adoption a SET ended = clock_timestamp() WHERE a.ended IS NULL;
	PERFORM twtasks_internal.write_adoption(adopt.environment, held_before + held, adopt.reason);
	PERFORM twtasks_internal.note_addresses(adopt.address, forget);
	-- The nodes in a copy are the original's.
	UPDATE twtasks.node n SET ended = clock_timestamp() WHERE n.ended IS NULL AND forget;
END $$;
