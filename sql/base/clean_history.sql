/* How far the keys of a day have been freed.  Not in dumps, since it only saves work. */
CREATE TABLE twtasks.cleaning (
	day				date NOT NULL,	-- First day of the partition
	past			uuid NOT NULL,	-- Keys of tasks with smaller ids are free
	CONSTRAINT cleaning_pkey PRIMARY KEY (day)
);
COMMENT ON TABLE twtasks.cleaning IS 'How far the unique keys of days to be dropped have been freed';

/*
 * twtasks_internal.free_old_keys(day)
 *
 *		Frees the unique keys of the tasks of one partition, by its first day, a batch
 *		in each call.  Dropping a partition blocks every finish, so the keys go first.
 *		No call takes longer than a node may be silent.
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.unique_key, twtasks.cleaning
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.free_old_keys(day date)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	batch CONSTANT integer := 20000;
	begins CONSTANT timestamptz := free_old_keys.day;
	ends CONSTANT timestamptz := (SELECT p.past FROM twtasks_internal.history_parts() p WHERE p.first = free_old_keys.day);
	freed_to uuid;
	ids uuid[];
BEGIN
	SELECT c.past INTO freed_to FROM twtasks.cleaning c WHERE c.day = free_old_keys.day;
	IF EXISTS (SELECT FROM twtasks.unique_key) THEN
		ids := ARRAY(SELECT f.id FROM twtasks.finished_task f
					 WHERE f.state_time >= begins AND f.state_time < ends
					   AND f.id >= coalesce(freed_to, '00000000-0000-0000-0000-000000000000')
					 ORDER BY f.id LIMIT batch);
		DELETE FROM twtasks.unique_key k WHERE k.task_id = ANY (ids);
	END IF;
	IF coalesce(cardinality(ids), 0) < batch THEN
		DELETE FROM twtasks.cleaning c WHERE c.day = free_old_keys.day;
		RETURN false;
	END IF;
	INSERT INTO twtasks.cleaning (day, past) VALUES (free_old_keys.day, ids[batch])
	ON CONFLICT ON CONSTRAINT cleaning_pkey DO UPDATE SET past = excluded.past;
	RETURN true;
END $$;

/*
 * twtasks_internal.clean_default(old)
 *
 *		Deletes old tasks of the default partition and their keys, a batch in
 *		each call.
 *
 * Parameters
 *		old				delete tasks that finished before this time
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.finished_task, twtasks.unique_key
 * Locks		rows
 */
CREATE FUNCTION twtasks_internal.clean_default(old timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
	batch CONSTANT integer := 20000;
	part CONSTANT oid := to_regclass('twtasks.finished_task_other');
	-- Before all other parts, so these are not read.
	before CONSTANT timestamptz := least(old, (SELECT min(p.first)::timestamptz FROM twtasks_internal.history_parts() p));
	deleted bigint;
BEGIN
	-- By the rights on the whole, as in make_days().
	WITH gone AS (
		DELETE FROM twtasks.finished_task f
		WHERE f.tableoid = part AND f.state_time < before
		  AND f.ctid = ANY (ARRAY(SELECT d.ctid FROM twtasks.finished_task d
								  WHERE d.tableoid = part AND d.state_time < before LIMIT batch))
		RETURNING f.id),
	freed AS (
		DELETE FROM twtasks.unique_key k USING gone g WHERE k.task_id = g.id)
	SELECT count(*) INTO deleted FROM gone;
	RETURN deleted = batch;
END $$;

/*
 * twtasks_internal.clean_older(keep)
 *
 *		Drops history older than keep with its unique keys, one partition in
 *		each call, the oldest first.
 *
 *		Only members of twtasks_owner may call this: a sidecar must not drop
 *		history younger than twtasks.keep_finished.
 *
 * Parameters
 *		keep			NULL: as clean_tasks()
 *
 * Returns
 *		the name of the partition that was dropped, or cleaned in part.  Call again
 *		until NULL: nothing is due, or this database is a copy and not adopted
 *
 * Errors
 *		22023			keep is negative
 *
 * Writes		twtasks.finished_task, twtasks.unique_key, twtasks.cleaning
 * Locks		twtasks.finished_task exclusively, for the moment of the drop; gives
 *				up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.clean_older(keep interval)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	old CONSTANT timestamptz := twtasks.clock() - coalesce(keep, twtasks_internal.keep_finished());
	name text;
	day date;
BEGIN
	IF keep < interval '0' THEN
		RAISE EXCEPTION 'keep must not be negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT p.name, p.first INTO name, day FROM twtasks_internal.history_parts() p
	WHERE p.past <= old ORDER BY p.first LIMIT 1;
	IF NOT twtasks.is_adopted() THEN
		RETURN NULL;
	ELSIF name IS NULL THEN
		RETURN CASE WHEN twtasks_internal.clean_default(old) THEN 'finished_task_other' END;
	ELSIF twtasks_internal.free_old_keys(day) THEN
		RETURN name;
	END IF;
	LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
	-- Another leader may have dropped it while we waited.
	IF to_regclass('twtasks.' || name) IS NOT NULL THEN
		EXECUTE format('DROP TABLE twtasks.%I', name);
	END IF;
	RETURN name;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END $$;

/*
 * twtasks_internal.clean_audit()
 *
 *		Deletes entries of twtasks.audit, policy_audit, schedule_audit and payload_read that
 *		are older than the setting twtasks.keep_audit, a batch of each in each call.  Entries
 *		ascend with time, so only the first ones are looked at.
 *
 * Returns
 *		whether there is more to do
 *
 * Writes		twtasks.audit, twtasks.policy_audit, twtasks.schedule_audit,
 *				twtasks.payload_read
 * Locks		rows; gives up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.clean_audit()
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
	batch CONSTANT integer := 5000;
	keep CONSTANT interval := nullif(current_setting('twtasks.keep_audit', true)::interval, '0');
	-- Not before the tasks.
	old CONSTANT timestamptz := clock_timestamp() - CASE WHEN keep IS NOT NULL THEN greatest(keep, twtasks_internal.keep_finished()) END;
	deleted integer[];
BEGIN
	IF old IS NULL THEN
		RETURN false;
	END IF;
	WITH of_tasks AS (
		DELETE FROM twtasks.audit a WHERE a.at < old AND a.id = ANY (ARRAY(
			SELECT f.id FROM twtasks.audit f ORDER BY f.id LIMIT batch)) RETURNING 1),
	of_policies AS (
		DELETE FROM twtasks.policy_audit a WHERE a.at < old AND a.id = ANY (ARRAY(
			SELECT f.id FROM twtasks.policy_audit f ORDER BY f.id LIMIT batch)) RETURNING 1),
	of_schedules AS (
		DELETE FROM twtasks.schedule_audit a WHERE a.at < old AND a.id = ANY (ARRAY(
			SELECT f.id FROM twtasks.schedule_audit f ORDER BY f.id LIMIT batch)) RETURNING 1),
	of_payloads AS (
		DELETE FROM twtasks.payload_read a WHERE a.at < old AND a.id = ANY (ARRAY(
			SELECT f.id FROM twtasks.payload_read f ORDER BY f.id LIMIT batch)) RETURNING 1)
	SELECT ARRAY[(SELECT count(*) FROM of_tasks), (SELECT count(*) FROM of_policies), (SELECT count(*) FROM of_schedules),
				 (SELECT count(*) FROM of_payloads)]
	INTO deleted;
	RETURN batch = ANY (deleted);
END $$;

/*
 * twtasks_internal.clean_attempts()
 *
 *		Drops attempts older than the setting twtasks.keep_attempts, one partition in
 *		each call, the oldest first, then those in the default partition by batches.
 *
 * Returns
 *		the name of the partition; NULL: nothing is due, or others hold locks
 *
 * Writes		twtasks.task_attempt
 * Locks		twtasks.task_attempt exclusively, for the moment of the drop; gives up
 *				after lock_timeout (1 s)
 */
CREATE FUNCTION twtasks_internal.clean_attempts()
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	batch CONSTANT integer := 20000;
	old CONSTANT timestamptz := twtasks.clock() - twtasks_internal.keep_attempts();
	part CONSTANT oid := to_regclass('twtasks.task_attempt_other');
	-- Before all other parts, so these are not read.
	before CONSTANT timestamptz := least(old, (SELECT min(p.first)::timestamptz FROM twtasks_internal.history_parts('task_attempt') p));
	deleted bigint;
	name text;
BEGIN
	SELECT p.name INTO name FROM twtasks_internal.history_parts('task_attempt') p
	WHERE p.past <= old ORDER BY p.first LIMIT 1;
	IF name IS NULL THEN
		DELETE FROM twtasks.task_attempt a
		WHERE a.tableoid = part AND a.ended < before
		  AND a.ctid = ANY (ARRAY(SELECT d.ctid FROM twtasks.task_attempt d
								  WHERE d.tableoid = part AND d.ended < before LIMIT batch));
		GET DIAGNOSTICS deleted = ROW_COUNT;
		RETURN CASE WHEN deleted = batch THEN 'task_attempt_other' END;
	END IF;
	LOCK TABLE ONLY twtasks.task_attempt IN ACCESS EXCLUSIVE MODE;
	-- Another leader may have dropped it while we waited.
	IF to_regclass('twtasks.' || name) IS NOT NULL THEN
		EXECUTE format('DROP TABLE twtasks.%I', name);
	END IF;
	RETURN name;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END $$;

/*
 * twtasks_internal.clean_tasks()
 *
 *		Drops history older than the setting twtasks.keep_finished, with its
 *		unique keys, one partition in each call, the oldest first.  Then cleans
 *		twtasks.task_attempt, twtasks.flow and the audits: see clean_attempts(),
 *		clean_flow() and clean_audit().
 *
 * Returns
 *		the name of the partition that was dropped, or of the partition or table that was
 *		cleaned in part.  Call again until NULL: nothing is due, this database is a copy and not adopted, or an error
 *		keeps it from that, which is a warning and in twtasks.warnings
 *
 * Writes		twtasks.finished_task, twtasks.unique_key, twtasks.cleaning, twtasks.duty,
 *				twtasks.task_attempt, twtasks.flow, the audits
 * Locks		as clean_older()
 */
CREATE FUNCTION twtasks_internal.clean_tasks()
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	fault text;
	context text;
BEGIN
	BEGIN
		name := twtasks_internal.clean_older(NULL);
		IF name IS NULL AND twtasks.is_adopted() THEN
			name := twtasks_internal.clean_attempts();
		END IF;
		IF name IS NULL AND twtasks.is_adopted() AND twtasks_internal.clean_flow() THEN
			name := 'flow';
		ELSIF name IS NULL AND twtasks.is_adopted() AND twtasks_internal.clean_audit() THEN
			name := 'audit';
		END IF;
		PERFORM twtasks_internal.forget_progress();
	EXCEPTION WHEN OTHERS OR assert_failure THEN
		GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
	END;
	PERFORM twtasks_internal.note_history('clean_tasks', fault, context);
	RETURN name;
END $$;
