/*
 * twtasks_internal.make_partition(name, bounds)
 *
 *		Makes a partition of the history.
 *
 *		Only the partitions have an index.  If the whole had one, a restored
 *		partition would get a second index when it is attached.  It is attached here
 *		too, because CREATE TABLE ... PARTITION OF would wait for readers.
 *
 * Locks		twtasks.finished_task in SHARE UPDATE EXCLUSIVE mode, and
 *				twtasks.finished_task_other, if there is one, in ACCESS EXCLUSIVE mode
 */
CREATE FUNCTION twtasks_internal.make_partition(name text, bounds text)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('CREATE TABLE twtasks.%I (LIKE twtasks.finished_task
						INCLUDING ALL EXCLUDING COMMENTS EXCLUDING STATISTICS)', name);
	EXECUTE format('ALTER TABLE twtasks.%I REPLICA IDENTITY FULL', name);
	EXECUTE format('CREATE INDEX %I ON twtasks.%I (id)', name || '_id', name);
	EXECUTE format('ALTER TABLE twtasks.finished_task ATTACH PARTITION twtasks.%I %s', name, bounds);
END $$;

/*
 * twtasks_internal.history_parts()
 *
 *		The partitions of the history, without the default one.  Their names say which
 *		days they have, in UTC: finished_task_20240131 has one, finished_task_20240131_7
 *		seven.
 *
 * Returns
 *		name
 *		first			its first day
 *		past			the day after its last one
 */
CREATE FUNCTION twtasks_internal.history_parts(OUT name text, OUT first date, OUT past date)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.relname, d.day, d.day + coalesce(nullif(split_part(c.relname, '_', 4), ''), '1')::integer
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	CROSS JOIN LATERAL to_date(split_part(c.relname, '_', 3), 'YYYYMMDD') d(day)
	WHERE i.inhparent = 'twtasks.finished_task'::regclass AND c.relname ~ '^finished_task_[0-9]{8}(_[0-9]{1,3})?$'
$$;

/*
 * twtasks_internal.end_of_part(day)
 *
 *		Where a partition that begins at this day would end.
 *
 *		Each partition costs every look-up by id a little, and DROP EXTENSION a few
 *		locks.  So there are at most about 400, for decades: history that is kept
 *		for long has partitions of several days.
 *
 * Returns
 *		the day after its last one; NULL: a partition has the day
 */
CREATE FUNCTION twtasks_internal.end_of_part(day date)
RETURNS date
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN coalesce(bool_or(p.first <= day AND p.past > day), false) THEN NULL
			ELSE least(min(p.first) FILTER (WHERE p.first > day),
					   day + CASE WHEN twtasks_internal.keep_finished() <= interval '400 days' THEN 1
								  WHEN twtasks_internal.keep_finished() <= interval '2800 days' THEN 7
								  ELSE 28 END) END
	FROM twtasks_internal.history_parts() p
$$;

/*
 * twtasks_internal.make_part(first, past)
 *
 *		Makes the partition of some days, in UTC.
 *
 * Parameters
 *		past			the day after the last one
 *
 * Locks		as make_partition()
 */
CREATE FUNCTION twtasks_internal.make_part(first date, past date)
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
	SELECT twtasks_internal.make_partition(
		'finished_task_' || to_char(first, 'YYYYMMDD') || CASE WHEN past - first > 1 THEN '_' || past - first ELSE '' END,
		format('FOR VALUES FROM (%L) TO (%L)', first::timestamptz, past::timestamptz))
$$;

/*
 * twtasks_internal.begin_history()
 *
 *		Makes the default partition of the history and the one of today, unless the
 *		default partition is there.
 *
 *		Partitions do not belong to the extension: pg_dump -n of PostgreSQL 15
 *		crashes when it meets the data of one that does.  So a dump has them as
 *		tables, and would meet those that CREATE EXTENSION makes.  That is why
 *		they are made later: when a node starts, or a task finishes before that.
 *
 * Returns
 *		whether they were made
 *
 * Errors
 *		55P03			others change or vacuum the history for longer than lock_timeout (1 s)
 *
 * Locks		twtasks.finished_task in SHARE UPDATE EXCLUSIVE mode, which lets others
 *				read and write, only when the partitions are made
 */
CREATE FUNCTION twtasks_internal.begin_history()
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	today CONSTANT date := clock_timestamp()::date;
BEGIN
	IF to_regclass('twtasks.finished_task_other') IS NOT NULL THEN
		RETURN false;
	END IF;
	LOCK TABLE ONLY twtasks.finished_task IN SHARE UPDATE EXCLUSIVE MODE;
	-- Another session may have made it while we waited.
	IF to_regclass('twtasks.finished_task_other') IS NOT NULL THEN
		RETURN false;
	END IF;
	PERFORM twtasks_internal.make_partition('finished_task_other', 'DEFAULT');
	PERFORM twtasks_internal.make_part(today, e) FROM twtasks_internal.end_of_part(today) e WHERE e IS NOT NULL;
	RETURN true;
END $$;

/*
 * Dumps of version 1.0 name this relation, which was the default partition and
 * came with CREATE EXTENSION.  A restore adds its rows to the history.
 */
CREATE VIEW twtasks.finished_task_default AS
	SELECT f.* FROM twtasks.finished_task f;
COMMENT ON VIEW twtasks.finished_task_default IS 'Takes the history of dumps of version 1.0';

/*
 * twtasks_internal.add_to_history()
 *
 *		Adds a row of a dump of version 1.0 to the history.
 *
 * Writes		twtasks.finished_task
 * Locks		as begin_history()
 */
CREATE FUNCTION twtasks_internal.add_to_history()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.begin_history();
	INSERT INTO twtasks.finished_task SELECT NEW.*;
	RETURN NEW;
END $$;

CREATE TRIGGER add_to_history
	INSTEAD OF INSERT ON twtasks.finished_task_default
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.add_to_history();

/*
 * twtasks_internal.note_history(name, fault, context)
 *
 *		Notes how a change of the history's partitions ended, for twtasks.warnings.  An
 *		event trigger of a user can make each such change fail.
 *
 * Parameters
 *		name			of the function that makes the change
 *		fault			the reason why it failed; NULL: it succeeded
 *		context			of the error, whose first line names a user's function
 *
 * Writes		as note_duty(), unless this call and the one before succeeded
 */
CREATE FUNCTION twtasks_internal.note_history(name text, fault text, context text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	told CONSTANT text := fault || coalesce(' (' || nullif(split_part(context, chr(10), 1), '') || ')', '');
	before CONSTANT timestamptz := (SELECT d.called FROM twtasks.duty d WHERE d.name = note_history.name AND d.problem IS NOT NULL);
BEGIN
	-- While calls fail in short order, the first one says so.
	IF told IS NOT NULL AND (before > clock_timestamp() - interval '2 minutes') IS NOT TRUE THEN
		RAISE WARNING 'partitions of the history could not be changed: %', told;
	END IF;
	IF told IS NOT NULL OR before IS NOT NULL THEN
		PERFORM twtasks_internal.note_duty(name, told);
	END IF;
END $$;

/*
 * twtasks_internal.make_days(days)
 *
 *		Makes the partitions of these days that are missing.
 *
 * Returns
 *		how many were made
 *
 * Errors
 *		55P03			others hold locks on the history for longer than lock_timeout
 *
 * Locks		as make_partitions()
 */
CREATE FUNCTION twtasks_internal.make_days(days date[])
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	day date;
	past date;
	made integer := 0;
BEGIN
	made := twtasks_internal.begin_history()::integer;
	FOREACH day IN ARRAY days LOOP
		CONTINUE WHEN twtasks_internal.end_of_part(day) IS NULL;
		-- A finish locks the whole and then its part.  So no finish is on its way to
		-- a part that is no longer the right one, and nobody who has read the history
		-- goes on with an old list of parts.
		LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
		-- Another session may have made it while we waited.
		past := twtasks_internal.end_of_part(day);
		CONTINUE WHEN past IS NULL;
		-- Rows in the default partition stay there until they are cleaned.  No other
		-- part has these days.  A restore without owners gives parts to others, so the
		-- rights are those on the whole.
		CONTINUE WHEN EXISTS (SELECT FROM twtasks.finished_task f
							  WHERE f.state_time >= day::timestamptz AND f.state_time < past::timestamptz);
		PERFORM twtasks_internal.make_part(day, past);
		made := made + 1;
	END LOOP;
	RETURN made;
END $$;

/*
 * twtasks_internal.history_users()
 *
 *		Other sessions with locks on the history, for messages.
 */
CREATE FUNCTION twtasks_internal.history_users()
RETURNS text
LANGUAGE sql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(DISTINCT l.pid::text, ', '), 'which have ended')
	FROM pg_locks l
	WHERE l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
	  AND l.relation = ANY (ARRAY['twtasks.finished_task'::regclass, to_regclass('twtasks.finished_task_other')])
	  AND l.granted AND l.pid <> pg_backend_pid()
$$;

/*
 * twtasks_internal.make_partitions(days_ahead)
 *
 *		Makes the partitions of the history, from today on.  The leader
 *		calls this every hour, so it also renews the marker that tells copies
 *		apart (renew_marker()).
 *
 * Parameters
 *		days_ahead		how many days after today, 0 to 366
 *
 * Returns
 *		how many were made; NULL: others hold locks on the history, which is a warning
 *		and in twtasks.warnings: call again soon
 *
 * Errors
 *		22023			days_ahead out of range
 *
 *		An error of a user's event trigger is a warning, also in twtasks.warnings.
 *
 * Writes		twtasks.adoption, twtasks.duty, a file
 * Locks		twtasks.finished_task exclusively, for a moment and only when a
 *				partition is made; gives up after lock_timeout (1 s); call again
 */
CREATE FUNCTION twtasks_internal.make_partitions(days_ahead integer DEFAULT 7)
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	first CONSTANT date := clock_timestamp()::date;
	made integer := 0;
	fault text;
	context text;
BEGIN
	IF days_ahead NOT BETWEEN 0 AND 366 THEN
		RAISE EXCEPTION 'days_ahead must be between 0 and 366, not %', days_ahead
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.renew_marker();
	BEGIN
		made := twtasks_internal.make_days(ARRAY(SELECT first + n FROM generate_series(0, days_ahead) n));
	EXCEPTION
		WHEN lock_not_available THEN
			made := NULL;
			fault := 'other sessions hold locks on twtasks.finished_task: ' || twtasks_internal.history_users();
		WHEN OTHERS OR assert_failure THEN
			GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
	END;
	PERFORM twtasks_internal.note_history('make_partitions', fault, context);
	RETURN made;
END $$;

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
AS $$
#variable_conflict use_column
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
	ON CONFLICT (day) DO UPDATE SET past = excluded.past;
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
 * twtasks_internal.clean_tasks()
 *
 *		Drops history older than the setting twtasks.keep_finished, with its
 *		unique keys, one partition in each call, the oldest first.
 *
 * Returns
 *		the name of the partition that was dropped, or cleaned in part.  Call again
 *		until NULL: nothing is due, this database is a copy and not adopted, or an error
 *		keeps it from that, which is a warning and in twtasks.warnings
 *
 * Writes		twtasks.finished_task, twtasks.unique_key, twtasks.cleaning, twtasks.duty
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
	EXCEPTION WHEN OTHERS OR assert_failure THEN
		GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
	END;
	PERFORM twtasks_internal.note_history('clean_tasks', fault, context);
	RETURN name;
END $$;
