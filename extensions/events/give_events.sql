/*
 * twtasks_internal.clock_id()
 *
 *		The lowest id of an event that may be given now, and certainly was not given
 *		before: microseconds since 1970.  JSON carries such numbers exactly.
 */
CREATE FUNCTION twtasks_internal.clock_id()
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

/*
 * twtasks_internal.raise_ids(above)
 *
 *		Moves the ids of events, and the order in the queue, on to the clock, and above
 *		a number.  A restored state, or tables without their sequences, may lack the
 *		last ids; consumers would skip an id that comes again.  The clock is above
 *		all ids that were ever given, unless those were more than a million a second.
 *
 * Writes		the sequences, for good: a rollback does not take them back
 * Locks		SHARE UPDATE EXCLUSIVE on twtasks.event_place, which it releases
 */
CREATE FUNCTION twtasks_internal.raise_ids(above bigint DEFAULT 0)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- Else a slow session could take the ids back to its own, earlier time.
	LOCK TABLE twtasks.event_place IN SHARE UPDATE EXCLUSIVE MODE;
	PERFORM setval('twtasks.event_id_seq',
				   (SELECT greatest(s.last_value + 1000000, above + 1000000, twtasks_internal.clock_id()) FROM twtasks.event_id_seq s)),
			setval('twtasks.event_seq_seq',
				   (SELECT greatest(s.last_value + 1000000, twtasks_internal.clock_id()) FROM twtasks.event_seq_seq s)),
			setval('twtasks.objects_with_events_entry_seq',
				   (SELECT greatest(s.last_value + 1000000, twtasks_internal.clock_id()) FROM twtasks.objects_with_events_entry_seq s));
	-- The end of this subtransaction releases the lock; a transaction may stay open.
	RAISE EXCEPTION 'done' USING ERRCODE = 'TWT00';
EXCEPTION WHEN SQLSTATE 'TWT00' THEN
	NULL;
END $$;

/*
 * twtasks_internal.raise_ids_when_adopted()
 *
 *		Calls raise_ids() for each new place of the database.
 */
CREATE FUNCTION twtasks_internal.raise_ids_when_adopted()
RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.raise_ids();
	RETURN NULL;
END $$;
/* Always: rows may also come by logical replication. */
CREATE TRIGGER raise_ids AFTER INSERT ON twtasks.adoption
	FOR EACH ROW EXECUTE FUNCTION twtasks_internal.raise_ids_when_adopted();
ALTER TABLE twtasks.adoption ENABLE ALWAYS TRIGGER raise_ids;
ALTER TRIGGER raise_ids ON twtasks.adoption DEPENDS ON EXTENSION twtasks_events;

/*
 * twtasks_internal.keep_ids_new()
 *
 *		Calls raise_ids() before the first ids that another place gives, such as a
 *		promoted standby, and where the ids are a minute behind the clock, since
 *		somebody may have restored an old state.
 *
 * Errors
 *		55000			this database is a copy and not adopted
 *
 * Writes		twtasks.event_place, and as raise_ids()
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.keep_ids_new()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_behind boolean;
	has_moved boolean;
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RAISE EXCEPTION 'this database sends no events: it is a copy that was not adopted'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'If this database takes the place of the original, see twtasks.adopt(environment).';
	END IF;
	-- A copy is not adopted, so only the timeline can be another.
	SELECT p.timeline IS DISTINCT FROM ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint,
		   s.last_value < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 60000000
	INTO has_moved, is_behind
	FROM twtasks.event_id_seq s LEFT JOIN twtasks.event_place p ON true;
	IF has_moved THEN
		INSERT INTO twtasks.event_place AS p (system_identifier, database, timeline, looked)
		SELECT here.system_identifier, here.database, here.timeline, twtasks.clock() FROM twtasks_internal.own_place() here
		ON CONFLICT ON CONSTRAINT event_place_pkey DO UPDATE SET
			system_identifier = EXCLUDED.system_identifier, database = EXCLUDED.database, timeline = EXCLUDED.timeline;
	END IF;
	IF has_moved OR is_behind THEN
		PERFORM twtasks_internal.raise_ids();
	END IF;
END $$;

/*
 * twtasks_internal.go_on_after(stream, object)
 *
 *		Lets the next look at the list begin after an object.  Does nothing while
 *		another open transaction does the same.
 *
 * Writes		twtasks.event_place
 */
CREATE FUNCTION twtasks_internal.go_on_after(stream text, object text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.event_place p SET listed_stream = go_on_after.stream, listed_object = go_on_after.object
	WHERE p.only_row = (
		SELECT e.only_row FROM twtasks.event_place e
		WHERE (e.listed_stream, e.listed_object) IS DISTINCT FROM (go_on_after.stream, go_on_after.object) FOR UPDATE SKIP LOCKED)
$$;

/*
 * twtasks_internal.give_events(streams, objects, done)
 *
 *		Moves the next events of objects from the queue into new head tasks, and gives
 *		each event its id and the id of the event before it.  The caller has locked the
 *		objects in an earlier statement, and none has a live head.  An object without
 *		queued events gets no head.  Objects beyond some megabytes are listed again.
 *
 * Parameters
 *		streams, objects	the objects, each once
 *		done				whether the last head of the object is DONE
 *
 * Returns
 *		number of heads
 *
 * Errors
 *		55000			as keep_ids_new(); or a head was not added
 *		40001			the ids were behind an object's ids, and are raised now
 *		as add_tasks()
 *
 * Writes		twtasks.event, twtasks.event_object, twtasks.task,
 *				twtasks.objects_with_events
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.give_events(streams text[], objects text[], done boolean[])
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS 'MODULE_PATHNAME', 'twt_give_events';
