/*
 * twtasks.make_partitions(days_ahead)
 *
 *		Makes the day partitions of the history from today on.
 *
 * Parameters
 *		days_ahead		how many days after today, 0 to 366
 *
 * Returns
 *		how many were made
 *
 * Errors
 *		22023			days_ahead out of range
 *
 * Locks		twtasks.finished_task exclusively, for a moment and only when a
 *				partition is made; gives up after lock_timeout (1 s) and is to be called
 *				again
 */
CREATE FUNCTION twtasks.make_partitions(days_ahead integer DEFAULT 7)
RETURNS integer
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	first CONSTANT date := clock_timestamp()::date;
	day date;
	name text;
	made integer := 0;
BEGIN
	IF days_ahead NOT BETWEEN 0 AND 366 THEN
		RAISE EXCEPTION 'days_ahead must be between 0 and 366, not %', days_ahead
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR day IN SELECT first + n FROM generate_series(0, days_ahead) n LOOP
		name := 'finished_task_' || to_char(day, 'YYYYMMDD');
		CONTINUE WHEN to_regclass('twtasks.' || name) IS NOT NULL;
		-- In the order of a finish, which takes the whole and then its part; and
		-- so that none is on its way to a part that will not be its own any more.
		LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
		LOCK TABLE twtasks.finished_task_default IN ACCESS EXCLUSIVE MODE;
		-- Rows that are there already stay where they are until they are cleaned.
		CONTINUE WHEN EXISTS (SELECT FROM twtasks.finished_task_default f
							  WHERE f.state_time >= day AND f.state_time < day + 1);
		EXECUTE format('CREATE TABLE twtasks.%I PARTITION OF twtasks.finished_task '
					   'FOR VALUES FROM (%L) TO (%L)', name, day, day + 1);
		EXECUTE format('CREATE INDEX %I ON twtasks.%I (id)', name || '_id', name);
		made := made + 1;
	END LOOP;
	RETURN made;
EXCEPTION WHEN lock_not_available OR duplicate_table THEN
	RETURN 0;
END $$;

/*
 * twtasks.clean_tasks(keep)
 *
 *		Drops the history that is older than keep, a day partition at a time,
 *		the oldest first, with the unique keys of its tasks.
 *
 * Parameters
 *		keep			NULL: the setting twtasks.keep_finished
 *
 * Returns
 *		the name of the partition that was dropped, or whose keys were freed in
 *		part; NULL: nothing was due, or this is a copy of the database that was
 *		not adopted.  Call again until NULL
 *
 * Errors
 *		22023			keep is negative
 *
 * Locks		twtasks.finished_task exclusively, for the moment of the drop; gives
 *				up after lock_timeout (1 s) and is to be called again
 */
CREATE FUNCTION twtasks.clean_tasks(keep interval DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '1s'
SET timezone = 'UTC'
AS $$
DECLARE
	old CONSTANT timestamptz := twtasks.clock() - coalesce(keep, twtasks.keep_finished());
	name text;
	day date;
	freed bigint;
BEGIN
	IF keep < interval '0' THEN
		RAISE EXCEPTION 'keep must not be negative'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT c.relname INTO name
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
	WHERE i.inhparent = 'twtasks.finished_task'::regclass
	  AND c.relname ~ '^finished_task_[0-9]{8}$'
	  AND to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= old
	ORDER BY c.relname LIMIT 1;
	IF NOT twtasks.is_adopted() THEN
		RETURN NULL;
	ELSIF name IS NULL THEN
		WITH gone AS (
			DELETE FROM twtasks.finished_task_default f WHERE f.state_time < old RETURNING f.id)
		DELETE FROM twtasks.unique_key k USING gone g WHERE k.task_id = g.id;
		RETURN NULL;
	END IF;
	day := to_date(right(name, 8), 'YYYYMMDD');
	-- By themselves: whoever drops holds up every finish, and a statement must
	-- not take longer than a node may be silent.
	DELETE FROM twtasks.unique_key k
	WHERE k.task_id IN (
		SELECT f.id FROM twtasks.finished_task f
		JOIN twtasks.unique_key o ON o.task_id = f.id
		WHERE f.state_time >= day AND f.state_time < day + 1
		LIMIT 10000);
	GET DIAGNOSTICS freed = ROW_COUNT;
	IF freed > 0 THEN
		RETURN name;
	END IF;
	LOCK TABLE ONLY twtasks.finished_task IN ACCESS EXCLUSIVE MODE;
	EXECUTE format('DROP TABLE twtasks.%I', name);
	RETURN name;
EXCEPTION WHEN lock_not_available THEN
	RETURN NULL;
END $$;
