/*
 * twtasks_internal.make_partition(name, bounds, whole)
 *
 *		Makes a partition of the history, or of task_attempt.
 *
 *		Only the partitions have an index.  If the whole had one, a restored
 *		partition would get a second index when it is attached.  It is attached here
 *		too, because CREATE TABLE ... PARTITION OF would wait for readers.
 *
 *		ANALYZE holds a snapshot while it reads, and no session can reuse the room of
 *		live tasks meanwhile.  So its sample is a tenth of the default's, unless the
 *		whole has a target of its own (ALTER COLUMN ... SET STATISTICS).
 *
 * Parameters
 *		whole			finished_task or task_attempt, here and in the functions below
 *
 * Locks		the whole in SHARE UPDATE EXCLUSIVE mode, and its default partition, if
 *				there is one, in ACCESS EXCLUSIVE mode
 */
CREATE FUNCTION twtasks_internal.make_partition(name text, bounds text, whole text DEFAULT 'finished_task')
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('CREATE TABLE twtasks.%I (LIKE twtasks.%I
						INCLUDING ALL EXCLUDING COMMENTS EXCLUDING STATISTICS)', name, whole);
	EXECUTE format('ALTER TABLE twtasks.%I REPLICA IDENTITY FULL', name);
	EXECUTE (
		SELECT format('ALTER TABLE twtasks.%I ', name)
			|| string_agg(format('ALTER COLUMN %I SET STATISTICS %s', a.attname, coalesce(nullif(a.attstattarget, -1), 10)), ', ')
		FROM pg_attribute a
		WHERE a.attrelid = ('twtasks.' || whole)::regclass AND a.attnum > 0 AND NOT a.attisdropped);
	EXECUTE format('CREATE INDEX %I ON twtasks.%I (%s)', name || '_id', name,
				   CASE whole WHEN 'finished_task' THEN 'id' ELSE 'task_id, version' END);
	EXECUTE format('ALTER TABLE twtasks.%I ATTACH PARTITION twtasks.%I %s', whole, name, bounds);
END $$;

/*
 * twtasks_internal.history_parts(whole)
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
CREATE FUNCTION twtasks_internal.history_parts(whole text DEFAULT 'finished_task', OUT name text, OUT first date, OUT past date)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT c.relname, d.day, d.day + coalesce(nullif(split_part(c.relname, '_', 4), ''), '1')::integer
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	CROSS JOIN LATERAL to_date(split_part(c.relname, '_', 3), 'YYYYMMDD') d(day)
	WHERE i.inhparent = ('twtasks.' || whole)::regclass AND c.relname ~ ('^' || whole || '_[0-9]{8}(_[0-9]{1,3})?$')
$$;

/*
 * twtasks_internal.end_of_part(day, whole)
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
CREATE FUNCTION twtasks_internal.end_of_part(day date, whole text DEFAULT 'finished_task')
RETURNS date
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE WHEN coalesce(bool_or(p.first <= day AND p.past > day), false) THEN NULL
			ELSE least(min(p.first) FILTER (WHERE p.first > day),
					   day + CASE WHEN min(k.keep) <= interval '400 days' THEN 1
								  WHEN min(k.keep) <= interval '2800 days' THEN 7
								  ELSE 28 END) END
	FROM (SELECT CASE whole WHEN 'finished_task' THEN twtasks_internal.keep_finished()
					  ELSE twtasks_internal.keep_attempts() END) k(keep)
	LEFT JOIN twtasks_internal.history_parts(whole) p ON true
$$;

/*
 * twtasks_internal.make_part(first, past, whole)
 *
 *		Makes the partition of some days, in UTC.
 *
 * Parameters
 *		past			the day after the last one
 *
 * Locks		as make_partition()
 */
CREATE FUNCTION twtasks_internal.make_part(first date, past date, whole text DEFAULT 'finished_task')
RETURNS void
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
	SELECT twtasks_internal.make_partition(
		whole || '_' || to_char(first, 'YYYYMMDD') || CASE WHEN past - first > 1 THEN '_' || past - first ELSE '' END,
		format('FOR VALUES FROM (%L) TO (%L)', first::timestamptz, past::timestamptz), whole)
$$;

/*
 * twtasks_internal.begin_history(whole)
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
 * Locks		the whole in SHARE UPDATE EXCLUSIVE mode, which lets others
 *				read and write, only when the partitions are made
 */
CREATE FUNCTION twtasks_internal.begin_history(whole text DEFAULT 'finished_task')
RETURNS boolean
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	today CONSTANT date := clock_timestamp()::date;
BEGIN
	IF to_regclass(format('twtasks.%I', whole || '_other')) IS NOT NULL THEN
		RETURN false;
	END IF;
	EXECUTE format('LOCK TABLE ONLY twtasks.%I IN SHARE UPDATE EXCLUSIVE MODE', whole);
	-- Another session may have made it while we waited.
	IF to_regclass(format('twtasks.%I', whole || '_other')) IS NOT NULL THEN
		RETURN false;
	END IF;
	PERFORM twtasks_internal.make_partition(whole || '_other', 'DEFAULT', whole);
	PERFORM twtasks_internal.make_part(today, e, whole) FROM twtasks_internal.end_of_part(today, whole) e WHERE e IS NOT NULL;
	RETURN true;
END $$;

/*
 * twtasks_internal.size_of_default()
 *
 *		The size of the default partition in bytes, as VACUUM or ANALYZE saw it last, if
 *		reading it would take long: over 100 MB.  Each new partition reads it whole under
 *		a lock that stops finishes.
 *
 * Returns
 *		NULL: small
 */
CREATE FUNCTION twtasks_internal.size_of_default()
RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT s.bytes FROM pg_class c
	CROSS JOIN LATERAL (SELECT c.relpages * current_setting('block_size')::bigint) s(bytes)
	WHERE c.oid = to_regclass('twtasks.finished_task_other') AND s.bytes > 100 * 1024 * 1024
$$;

/*
 * twtasks_internal.name_default_days()
 *
 *		Makes the default partition the partition of the days that it has, if they are
 *		past, at most 28, and have no other.  An empty default partition takes its
 *		place.  So its rows are read under a lock once, and not for each day to come.
 *
 *		It stays if it belongs to another role, as after a restore without owners.
 *
 * Errors
 *		55P03			others hold locks on the history for longer than lock_timeout
 *
 * Locks		twtasks.finished_task and the partition in ACCESS EXCLUSIVE mode, only when
 *				it gets its days
 */
CREATE FUNCTION twtasks_internal.name_default_days()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
	part CONSTANT oid := 'twtasks.finished_task_other'::regclass;
	begins date;
	ends date;
	name text;
BEGIN
	IF NOT pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = part), 'USAGE') THEN
		RETURN;
	END IF;
	SELECT min(f.state_time)::date, max(f.state_time)::date + 1 INTO begins, ends FROM twtasks.finished_task_other f;
	IF ends IS NULL OR ends > clock_timestamp()::date OR ends - begins > 28
		OR EXISTS (SELECT FROM twtasks_internal.history_parts() p WHERE p.first < ends AND p.past > begins) THEN
		RETURN;
	END IF;
	LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
	-- Another session may have named it while we waited.
	IF part IS DISTINCT FROM to_regclass('twtasks.finished_task_other') THEN
		RETURN;
	END IF;
	name := 'finished_task_' || to_char(begins, 'YYYYMMDD') || '_' || ends - begins;
	ALTER TABLE twtasks.finished_task DETACH PARTITION twtasks.finished_task_other;
	EXECUTE format('ALTER TABLE twtasks.finished_task_other RENAME TO %I', name);
	EXECUTE format('ALTER INDEX IF EXISTS twtasks.finished_task_other_id RENAME TO %I', name || '_id');
	EXECUTE format('ALTER TABLE twtasks.finished_task ATTACH PARTITION twtasks.%I FOR VALUES FROM (%L) TO (%L)',
				   name, begins::timestamptz, ends::timestamptz);
	PERFORM twtasks_internal.make_partition('finished_task_other', 'DEFAULT');
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
 * twtasks_internal.make_days(days, whole)
 *
 *		Makes the partitions of these days that are missing.  Beside a large default
 *		partition it makes one in each call, so that finishes wait for one look at it.
 *
 * Returns
 *		how many were made
 *
 * Errors
 *		55P03			others hold locks on the history for longer than lock_timeout
 *
 * Locks		as make_partitions()
 */
CREATE FUNCTION twtasks_internal.make_days(days date[], whole text DEFAULT 'finished_task')
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	day date;
	past date;
	made integer := 0;
	has_rows boolean;
BEGIN
	made := twtasks_internal.begin_history(whole)::integer;
	-- Each node that starts comes here, and reading a large partition takes long.
	IF whole = 'finished_task' AND twtasks_internal.size_of_default() > 0
		AND EXISTS (SELECT FROM unnest(days) d(day) WHERE twtasks_internal.end_of_part(d.day) IS NOT NULL) THEN
		PERFORM twtasks_internal.name_default_days();
	END IF;
	FOREACH day IN ARRAY days LOOP
		EXIT WHEN made > 0 AND whole = 'finished_task' AND twtasks_internal.size_of_default() > 0;
		CONTINUE WHEN twtasks_internal.end_of_part(day, whole) IS NULL;
		-- A finish locks the whole and then its part.  So no finish is on its way to
		-- a part that is no longer the right one, and nobody who has read the history
		-- goes on with an old list of parts.
		EXECUTE format('LOCK TABLE ONLY twtasks.%I IN ACCESS EXCLUSIVE MODE', whole);
		-- Another session may have made it while we waited.
		past := twtasks_internal.end_of_part(day, whole);
		CONTINUE WHEN past IS NULL;
		-- Rows in the default partition stay there until they are cleaned.  No other
		-- part has these days.  A restore without owners gives parts to others, so the
		-- rights are those on the whole.
		EXECUTE format('SELECT EXISTS (SELECT FROM twtasks.%I f WHERE f.%2$I >= $1 AND f.%2$I < $2)', whole,
					   CASE whole WHEN 'finished_task' THEN 'state_time' ELSE 'ended' END)
		INTO has_rows USING day::timestamptz, past::timestamptz;
		CONTINUE WHEN has_rows;
		PERFORM twtasks_internal.make_part(day, past, whole);
		made := made + 1;
	END LOOP;
	RETURN made;
END $$;

/*
 * twtasks_internal.history_users(whole)
 *
 *		Other sessions with locks on the history, for messages.
 */
CREATE FUNCTION twtasks_internal.history_users(whole text DEFAULT 'finished_task')
RETURNS text
LANGUAGE sql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT coalesce(string_agg(DISTINCT l.pid::text, ', '), 'which have ended')
	FROM pg_locks l
	WHERE l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
	  AND l.relation = ANY (ARRAY[('twtasks.' || whole)::regclass, to_regclass(format('twtasks.%I', whole || '_other'))])
	  AND l.granted AND l.pid <> pg_backend_pid()
$$;

/*
 * twtasks_internal.make_partitions(days_ahead)
 *
 *		Makes the partitions of the history, from today on.  A call that finds all of
 *		them makes the partitions of task_attempt.  The leader calls this every hour, so it also renews the marker that tells copies
 *		apart (renew_marker()).
 *
 * Parameters
 *		days_ahead		how many days after today, 0 to 366
 *
 * Returns
 *		how many of the history were made; NULL: others hold locks on it, which is a warning
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
	days date[];
	whole text := 'finished_task';
	made integer := 0;
	fault text;
	context text;
BEGIN
	IF days_ahead NOT BETWEEN 0 AND 366 THEN
		RAISE EXCEPTION 'days_ahead must be between 0 and 366, not %', days_ahead
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM twtasks_internal.renew_marker();
	days := ARRAY(SELECT first + n FROM generate_series(0, days_ahead) n);
	BEGIN
		made := twtasks_internal.make_days(days);
		-- One whole in each call, so that finishes wait for one lock.
		IF made = 0 AND twtasks_internal.keep_attempts() > interval '0' THEN
			whole := 'task_attempt';
			PERFORM twtasks_internal.make_days(days, whole);
		END IF;
	EXCEPTION
		WHEN lock_not_available THEN
			made := NULL;
			fault := format('other sessions hold locks on twtasks.%s: %s', whole, twtasks_internal.history_users(whole));
		WHEN OTHERS OR assert_failure THEN
			GET STACKED DIAGNOSTICS fault = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
	END;
	PERFORM twtasks_internal.note_history('make_partitions', fault, context);
	RETURN made;
END $$;
