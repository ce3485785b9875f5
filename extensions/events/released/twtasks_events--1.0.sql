\echo Use "CREATE EXTENSION twtasks_events" to load this file. \quit

-- extensions/events/schema.sql
/*
 * Ordered events: the events of an object are sent one after the other, each
 * with its id and the id of the event before it.
 *
 * A live head task is an object's ownership: it carries the next events of the
 * object, and no other task does.  Its end makes the next head, in the same
 * transaction.  So crashes, retries and take-overs are those of any task, and a
 * resend is identical.
 *
 *		invariant	an object with queued events is listed, or has a live head
 *		lock		whoever changes the chain of an object holds the lock of its row, and
 *					looks at head and queue in a later statement
 *
 * test/models/heads.pml shows that this suffices, and what breaks it.
 */
CREATE TABLE twtasks.event_stream (
	name		text COLLATE "C" NOT NULL,	-- Names the stream in add_event()
	type		text COLLATE "C" NOT NULL,	-- Type of its head tasks
	batch		integer NOT NULL,			-- Most events in one head task
	bucket		text COLLATE "C" NOT NULL,	-- Bucket of its head tasks
	priority	integer,					-- Priority of its head tasks; NULL: of their type's policy
	changed_at	timestamptz NOT NULL,		-- Time of the last change
	changed_by	text NOT NULL,				-- Role that logged in and made the last change
	CONSTRAINT event_stream_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE twtasks.event_stream IS 'Streams of ordered events, as configure_stream() set them';

CREATE TABLE twtasks.event_object (
	last_id		bigint NOT NULL DEFAULT 0,	-- Id of the last event that was given to a head; 0: none
	sent_id		bigint NOT NULL DEFAULT 0,	-- Id of the last event of a head that is DONE; 0: none
	head		uuid,						-- The head task; NULL: none lives
	stream		text COLLATE "C" NOT NULL,	-- The stream
	object		text COLLATE "C" NOT NULL,	-- Names the object in add_event()
	problem		text,						-- Reason why no head could be added; NULL: none
	CONSTRAINT event_object_pkey PRIMARY KEY (stream, object)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX event_object_head ON twtasks.event_object (head) WHERE head IS NOT NULL;
COMMENT ON TABLE twtasks.event_object IS 'Objects that had events: their chains of ids, and their live head tasks';

CREATE TABLE twtasks.event (
	seq			bigint GENERATED ALWAYS AS IDENTITY,	-- Order in the queue
	added		timestamptz NOT NULL,					-- Time of add_event()
	size		integer NOT NULL,						-- Bytes of the event as text
	stream		text COLLATE "C" NOT NULL,				-- The stream
	object		text COLLATE "C" NOT NULL,				-- The object
	event		jsonb NOT NULL,							-- The event
	CONSTRAINT event_pkey PRIMARY KEY (stream, object, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE twtasks.event IS 'The queue: events that no head task carries yet';

CREATE TABLE twtasks.objects_with_events (
	entry		bigint GENERATED ALWAYS AS IDENTITY,	-- Order in the list
	stream		text COLLATE "C" NOT NULL,				-- The stream
	object		text COLLATE "C" NOT NULL,				-- The object
	CONSTRAINT objects_with_events_pkey PRIMARY KEY (entry)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
COMMENT ON TABLE twtasks.objects_with_events IS 'Objects that start_events() must look at, one entry for each add_event()';

/* Ids of events of all streams.  They are given in the order of sending. */
CREATE SEQUENCE twtasks.event_id_seq;

/*
 * A promoted standby, or a restored dump, may have an older state of the sequence.
 */
CREATE TABLE twtasks.event_place (
	only_row			boolean NOT NULL DEFAULT true,		-- There is one row
	system_identifier	bigint NOT NULL,					-- The cluster that gave the last ids
	database			oid NOT NULL,						-- ... the database's oid in that cluster
	timeline			bigint NOT NULL,					-- ... and the cluster's timeline
	looked				timestamptz NOT NULL,				-- Time at which the last look at all objects began
	at_stream			text COLLATE "C",					-- Stream of the last object that this look has seen; NULL: the look is over
	at_object			text COLLATE "C",					-- ... and that object
	CONSTRAINT event_place_pkey PRIMARY KEY (only_row),
	CONSTRAINT event_place_only_row CHECK (only_row)
);
COMMENT ON TABLE twtasks.event_place IS 'Where the last ids of events were given, and when all objects were looked at';

SELECT pg_catalog.pg_extension_config_dump('twtasks.event_stream', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_object', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_seq_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.objects_with_events', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.objects_with_events_entry_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('twtasks.event_place', '');
COMMENT ON COLUMN twtasks.event_stream.name IS 'Names the stream in add_event()';
COMMENT ON COLUMN twtasks.event_stream.type IS 'Type of its head tasks';
COMMENT ON COLUMN twtasks.event_stream.batch IS 'Most events in one head task';
COMMENT ON COLUMN twtasks.event_stream.bucket IS 'Bucket of its head tasks';
COMMENT ON COLUMN twtasks.event_stream.priority IS 'Priority of its head tasks; NULL: of their type''s policy';
COMMENT ON COLUMN twtasks.event_stream.changed_at IS 'Time of the last change';
COMMENT ON COLUMN twtasks.event_stream.changed_by IS 'Role that logged in and made the last change';
COMMENT ON COLUMN twtasks.event_object.last_id IS 'Id of the last event that was given to a head; 0: none';
COMMENT ON COLUMN twtasks.event_object.sent_id IS 'Id of the last event of a head that is DONE; 0: none';
COMMENT ON COLUMN twtasks.event_object.head IS 'The head task; NULL: none lives';
COMMENT ON COLUMN twtasks.event_object.stream IS 'The stream';
COMMENT ON COLUMN twtasks.event_object.object IS 'Names the object in add_event()';
COMMENT ON COLUMN twtasks.event_object.problem IS 'Reason why no head could be added; NULL: none';
COMMENT ON COLUMN twtasks.event.seq IS 'Order in the queue';
COMMENT ON COLUMN twtasks.event.added IS 'Time of add_event()';
COMMENT ON COLUMN twtasks.event.size IS 'Bytes of the event as text';
COMMENT ON COLUMN twtasks.event.stream IS 'The stream';
COMMENT ON COLUMN twtasks.event.object IS 'The object';
COMMENT ON COLUMN twtasks.event.event IS 'The event';
COMMENT ON COLUMN twtasks.objects_with_events.entry IS 'Order in the list';
COMMENT ON COLUMN twtasks.objects_with_events.stream IS 'The stream';
COMMENT ON COLUMN twtasks.objects_with_events.object IS 'The object';
COMMENT ON COLUMN twtasks.event_place.only_row IS 'There is one row';
COMMENT ON COLUMN twtasks.event_place.system_identifier IS 'The cluster that gave the last ids';
COMMENT ON COLUMN twtasks.event_place.database IS '... the database''s oid in that cluster';
COMMENT ON COLUMN twtasks.event_place.timeline IS '... and the cluster''s timeline';
COMMENT ON COLUMN twtasks.event_place.looked IS 'Time at which the last look at all objects began';
COMMENT ON COLUMN twtasks.event_place.at_stream IS 'Stream of the last object that this look has seen; NULL: the look is over';
COMMENT ON COLUMN twtasks.event_place.at_object IS '... and that object';

-- extensions/events/add_event.sql
/*
 * twtasks.add_event(stream, object, event, sub_events)
 *
 *		Queues an event of an object, and events that belong to it, in the caller's
 *		transaction.  The events of one object are sent in one order to all consumers.
 *
 *		Two transactions that change the same object must add their events after the
 *		change, which makes the later one wait.  Then the order of the events is the
 *		order of the changes.
 *
 * Parameters
 *		stream		as configured by configure_stream()
 *		object		names the object: 1 to 250 bytes, no control characters
 *		event		what the consumers get
 *		sub_events	events that follow it directly, each with an id of its own; at most
 *					10,000
 *
 * Errors
 *		22004		a parameter or a sub-event is NULL
 *		22023		object is empty, too long, or has control characters
 *		25006		read-only transaction, or a standby
 *		42501		the calling role may not add tasks of the stream's type
 *		42704		the stream is not configured
 *		54000		there are too many sub-events, or one does not fit into
 *					twtasks.max_payload
 *
 * Writes		twtasks.event, twtasks.objects_with_events
 * Locks		none
 * Wakes		after commit one sidecar of the stream's bucket
 * Example		SELECT twtasks.add_event('works', 'work:1', '{"changed": "title"}');
 */
CREATE FUNCTION twtasks.add_event(
	stream text,
	object text,
	event jsonb,
	sub_events jsonb[] DEFAULT '{}')
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.check_event(stream, object, events)
 *
 *		Raises an error unless the values can be those of add_event().
 *
 * Errors
 *		22004, 22023, 54000		as add_event()
 */
CREATE FUNCTION twtasks_internal.check_event(stream text, object text, events jsonb[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- The head task's own text, where a character of the name may take six bytes.
	room CONSTANT bigint := pg_size_bytes(current_setting('twtasks.max_payload')) - 300 - 6 * octet_length(object);
BEGIN
	IF stream IS NULL OR object IS NULL OR array_position(coalesce(events, ARRAY[NULL::jsonb]), NULL) IS NOT NULL THEN
		RAISE EXCEPTION 'stream, object and events must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'Write ''null''::jsonb for an event without content.';
	END IF;
	IF octet_length(object) NOT BETWEEN 1 AND 250 OR object ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid object: "%"', twtasks_internal.shown(object)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The name of an object has 1 to 250 bytes and no control characters.';
	END IF;
	IF cardinality(events) > 10001 THEN
		RAISE EXCEPTION 'too many sub-events: %', cardinality(events) - 1
			USING ERRCODE = 'program_limit_exceeded', HINT = 'An event has at most 10000 sub-events.';
	END IF;
	IF EXISTS (SELECT FROM unnest(events) e WHERE octet_length(e::text) > room) THEN
		RAISE EXCEPTION 'event of object "%" is too large', object
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('With the setting twtasks.max_payload an event of this object has at most %s bytes.', room);
	END IF;
END $$;

/*
 * twtasks_internal.add_event_as_owner(given)
 *
 *		Does the work of add_event(), whose parameters are the columns of the row.
 *
 * Writes		twtasks.event, twtasks.objects_with_events
 * Wakes		as add_event()
 */
CREATE FUNCTION twtasks_internal.add_event_as_owner(given record)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	events CONSTANT jsonb[] := CASE WHEN given.sub_events IS NOT NULL THEN array_prepend(given.event, given.sub_events) END;
	known twtasks.event_stream;
BEGIN
	PERFORM twtasks_internal.check_event(given.stream, given.object, events);
	SELECT s.* INTO known FROM twtasks.event_stream s WHERE s.name = given.stream;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'stream "%" is not configured', twtasks_internal.shown(given.stream)
			USING ERRCODE = 'undefined_object', HINT = 'Configure the stream with twtasks.configure_stream().';
	END IF;
	PERFORM twtasks_internal.check_allowed(known.type);
	INSERT INTO twtasks.event (stream, object, added, size, event)
	SELECT known.name, given.object, twtasks.clock(), octet_length(e.event::text), e.event
	FROM unnest(events) WITH ORDINALITY e(event, n) ORDER BY e.n;
	INSERT INTO twtasks.objects_with_events (stream, object) VALUES (known.name, given.object);
	PERFORM twtasks_internal.ask_duties(known.bucket);
END $$;
COMMENT ON FUNCTION twtasks.add_event IS 'Queues an event of an object, and events that belong to it, in the caller''s transaction.  The events of one object are sent in one order to all consumers.';
COMMENT ON FUNCTION twtasks_internal.check_event IS 'Raises an error unless the values can be those of add_event().';
COMMENT ON FUNCTION twtasks_internal.add_event_as_owner IS 'Does the work of add_event(), whose parameters are the columns of the row.';

-- extensions/events/configure_stream.sql
/*
 * twtasks.configure_stream(name, type, batch, bucket, priority)
 *
 *		Makes a stream of ordered events, or changes it.  Head tasks that live keep
 *		what they have.  The policy of the type gets an on_end function, so other
 *		tasks of that type should not exist.
 *
 * Parameters
 *		name		1 to 250 bytes, no control characters
 *		type		of the head tasks, whose handlers get {"object": ..., "events":
 *					[{"id": ..., "prev": ..., "event": ...}]}
 *		batch		most events in one head task: 1 to 10,000
 *		bucket		of the head tasks; NULL: of the type's policy, as it is now, else
 *					'default'
 *		priority	of the head tasks, 0 (urgent) to 9; NULL: of the type's policy
 *
 * Errors
 *		22004		name, type or batch is NULL
 *		22023		a value is not valid, or the bucket is not configured
 *		55000		the type has another on_end function
 *
 * Writes		twtasks.event_stream, twtasks.type_policy, twtasks.policy_audit
 * Locks		row locks
 * Wakes		every sidecar, to read the configuration again
 * Example		SELECT twtasks.configure_stream('works', 'WORK_EVENTS', batch => 100);
 */
CREATE FUNCTION twtasks.configure_stream(
	name text,
	type text,
	batch integer DEFAULT 1,
	bucket text DEFAULT NULL,
	priority integer DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	hook CONSTANT text := 'twtasks_internal.end_events';
	policy record;
BEGIN
	IF name IS NULL OR type IS NULL OR batch IS NULL THEN
		RAISE EXCEPTION 'name, type and batch must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF octet_length(name) NOT BETWEEN 1 AND 250 OR name ~ '[[:cntrl:]]' THEN
		RAISE EXCEPTION 'invalid name of a stream: "%"', twtasks_internal.shown(name)
			USING ERRCODE = 'invalid_parameter_value', HINT = 'A name has 1 to 250 bytes and no control characters.';
	END IF;
	IF type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	END IF;
	IF batch NOT BETWEEN 1 AND 10000 THEN
		RAISE EXCEPTION 'batch must be between 1 and 10000, not %', batch USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF priority NOT BETWEEN 0 AND 9 THEN
		RAISE EXCEPTION 'priority must be between 0 and 9, not %', priority
			USING ERRCODE = 'invalid_parameter_value', HINT = '0 is the most urgent, 5 the default.';
	END IF;
	PERFORM twtasks_internal.check_bucket(bucket);
	SELECT p.* INTO policy FROM twtasks.policy_of(type) p;
	IF policy.on_end <> ALL (ARRAY[hook, 'none']) THEN
		RAISE EXCEPTION 'type "%" has another on_end function: %', type, policy.on_end
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Give the stream a type of its own.';
	END IF;
	PERFORM twtasks.configure_type(type, on_end => hook);
	INSERT INTO twtasks.event_stream AS s (name, type, batch, bucket, priority, changed_at, changed_by)
	VALUES (name, type, batch, coalesce(bucket, policy.bucket, 'default'), priority,
			clock_timestamp(), twtasks_internal.actor())
	ON CONFLICT ON CONSTRAINT event_stream_pkey DO UPDATE SET
		type = EXCLUDED.type, batch = EXCLUDED.batch, bucket = EXCLUDED.bucket, priority = EXCLUDED.priority,
		changed_at = EXCLUDED.changed_at, changed_by = EXCLUDED.changed_by;
END $$;
COMMENT ON FUNCTION twtasks.configure_stream IS 'Makes a stream of ordered events, or changes it.  Head tasks that live keep what they have.  The policy of the type gets an on_end function, so other tasks of that type should not exist.';

-- extensions/events/give_events.sql
/*
 * twtasks_internal.keep_ids_new()
 *
 *		Moves the ids on by 1,000,000 where the database is not the one that gave the
 *		last ids.  A promoted standby or a restored dump may lack the last of them, and
 *		an id that was sent must not be used again.
 *
 * Writes		twtasks.event_place
 * Locks		row lock
 */
CREATE FUNCTION twtasks_internal.keep_ids_new()
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	here CONSTANT record := twtasks_internal.own_place();
	known twtasks.event_place;
BEGIN
	SELECT p.* INTO known FROM twtasks.event_place p;
	IF (known.system_identifier, known.database, known.timeline)
		= (here.system_identifier, here.database, here.timeline) THEN
		RETURN;
	END IF;
	INSERT INTO twtasks.event_place AS p (system_identifier, database, timeline, looked)
	VALUES (here.system_identifier, here.database, here.timeline, twtasks.clock())
	ON CONFLICT ON CONSTRAINT event_place_pkey DO UPDATE SET
		system_identifier = EXCLUDED.system_identifier, database = EXCLUDED.database, timeline = EXCLUDED.timeline
	WHERE (p.system_identifier, p.database, p.timeline)
		IS DISTINCT FROM (EXCLUDED.system_identifier, EXCLUDED.database, EXCLUDED.timeline);
	IF FOUND AND known.only_row THEN
		PERFORM setval('twtasks.event_id_seq', nextval('twtasks.event_id_seq') + 1000000);
	END IF;
END $$;

/*
 * twtasks_internal.give_events(streams, objects, done)
 *
 *		Moves the next events of objects from the queue into new head tasks, and gives
 *		each event its id and that of the event before it.  The caller has locked the
 *		objects in an earlier statement, and none has a live head.  An object without
 *		queued events gets no head.
 *
 * Parameters
 *		streams, objects	the objects, each once
 *		done				whether the last head of the object is DONE
 *
 * Returns
 *		number of heads
 *
 * Errors
 *		as add_tasks()
 *
 * Writes		twtasks.event, twtasks.event_object, twtasks.task
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.give_events(streams text[], objects text[], done boolean[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	most bigint;
	heads record;
	ids uuid[];
	given integer := 0;
BEGIN
	PERFORM twtasks_internal.keep_ids_new();
	-- A session that has not preloaded twtasks knows the setting from its first call on.
	-- A grab may be lost in a crash.  An event that was sent must keep its id.
	PERFORM set_config('synchronous_commit', 'on', true)
	WHERE current_setting('synchronous_commit') IN ('off', 'local');
	most := pg_size_bytes(current_setting('twtasks.max_payload')) - 100;
	WITH wanted AS (
		SELECT o.stream, o.object, w.done, o.last_id, CASE WHEN w.done THEN o.last_id ELSE o.sent_id END AS sent_id,
			   s.type, s.batch, s.bucket, s.priority
		FROM unnest(streams, objects, done) w(stream, object, done)
		CROSS JOIN LATERAL (
			SELECT n.last_id, n.sent_id, n.stream, n.object FROM twtasks.event_object n
			WHERE n.stream = w.stream AND n.object = w.object OFFSET 0) o
		JOIN twtasks.event_stream s ON s.name = w.stream),
	next AS (
		SELECT n.place_in_table
		FROM wanted w
		CROSS JOIN LATERAL (
			SELECT q.place_in_table, sum(q.size + 120) OVER (ORDER BY q.seq) AS total,
				   row_number() OVER (ORDER BY q.seq) AS place
			FROM (SELECT e.seq, e.size, e.ctid AS place_in_table FROM twtasks.event e
				  WHERE e.stream = w.stream AND e.object = w.object
				  ORDER BY e.seq LIMIT w.batch) q) n
		WHERE n.total <= most - 6 * octet_length(w.object) OR n.place = 1),
	taken AS (
		-- Nobody else moves these rows, since the object is locked.
		DELETE FROM twtasks.event e
		WHERE e.ctid = ANY (ARRAY(SELECT n.place_in_table FROM next n))
		RETURNING e.stream, e.object, e.seq, e.event),
	numbered AS (
		SELECT t.*, nextval('twtasks.event_id_seq') AS id
		FROM (SELECT a.* FROM taken a ORDER BY a.stream, a.object, a.seq OFFSET 0) t),
	chained AS (
		SELECT n.stream, n.object, n.id, n.event, lag(n.id) OVER (PARTITION BY n.stream, n.object ORDER BY n.id) AS prev
		FROM numbered n),
	made AS (
		SELECT w.stream, w.object, w.done, max(c.id) AS last_id,
			   (w.type, jsonb_build_object('object', w.object, 'events', jsonb_agg(
					jsonb_build_object('id', c.id, 'prev', coalesce(c.prev, w.last_id), 'event', c.event)
					|| CASE WHEN c.prev IS NULL AND w.sent_id < w.last_id
							THEN jsonb_build_object('skipped', w.sent_id) ELSE '{}' END
					ORDER BY c.id)),
				w.object, NULL, NULL, w.priority, NULL, w.bucket, NULL, NULL, NULL)::twtasks.new_task AS task
		FROM wanted w LEFT JOIN chained c ON c.stream = w.stream AND c.object = w.object
		GROUP BY w.stream, w.object, w.done, w.last_id, w.sent_id, w.type, w.bucket, w.priority)
	SELECT array_agg(m.stream ORDER BY m.stream, m.object) AS streams,
		   array_agg(m.object ORDER BY m.stream, m.object) AS objects,
		   array_agg(m.done ORDER BY m.stream, m.object) AS done,
		   array_agg(m.last_id ORDER BY m.stream, m.object) AS last_ids,
		   coalesce(array_agg(m.task ORDER BY m.stream, m.object) FILTER (WHERE m.last_id IS NOT NULL), '{}') AS tasks
	INTO heads FROM made m;
	SELECT array_agg(a.task_id ORDER BY a.n) INTO ids
	FROM twtasks.add_tasks(heads.tasks) WITH ORDINALITY a(task_id, version, result, n);
	-- One at a time: a join might read the whole table, by a plan from when it was empty.
	FOR i IN 1 .. coalesce(cardinality(heads.objects), 0) LOOP
		given := given + (heads.last_ids[i] IS NOT NULL)::integer;
		UPDATE twtasks.event_object o
		SET head = CASE WHEN heads.last_ids[i] IS NOT NULL THEN ids[given] END,
			last_id = coalesce(heads.last_ids[i], o.last_id), problem = NULL,
			sent_id = CASE WHEN heads.done[i] THEN o.last_id ELSE o.sent_id END
		WHERE o.stream = heads.streams[i] AND o.object = heads.objects[i];
	END LOOP;
	RETURN given;
END $$;
COMMENT ON FUNCTION twtasks_internal.keep_ids_new IS 'Moves the ids on by 1,000,000 where the database is not the one that gave the last ids.  A promoted standby or a restored dump may lack the last of them, and an id that was sent must not be used again.';
COMMENT ON FUNCTION twtasks_internal.give_events IS 'Moves the next events of objects from the queue into new head tasks, and gives each event its id and that of the event before it.  The caller has locked the objects in an earlier statement, and none has a live head.  An object without queued events gets no head.';

-- extensions/events/start_events.sql
/*
 * twtasks_internal.list_again(streams, objects, reason)
 *
 *		Puts objects whose heads could not be added at the end of the list, so that
 *		they do not hold up others.
 *
 * Writes		twtasks.event_object, twtasks.objects_with_events
 */
CREATE FUNCTION twtasks_internal.list_again(streams text[], objects text[], reason text)
RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE twtasks.event_object o SET problem = twtasks_internal.cut_message(reason)
	FROM unnest(streams, objects) w(stream, object)
	WHERE o.stream = w.stream AND o.object = w.object;
	INSERT INTO twtasks.objects_with_events (stream, object)
	SELECT w.stream, w.object FROM unnest(streams, objects) w(stream, object)
$$;

/*
 * twtasks_internal.give_each(streams, objects, done)
 *
 *		Gives the events of all objects at once.  If that fails, gives those of each
 *		object alone, so that an object at fault does not stop the others.
 *
 * Returns
 *		given			number of heads
 *		failed			number of objects at fault
 *
 * Writes		as give_events() and list_again()
 */
CREATE FUNCTION twtasks_internal.give_each(
	streams text[], objects text[], done boolean[], OUT given bigint, OUT failed bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	one record;
BEGIN
	failed := 0;
	BEGIN
		given := twtasks_internal.give_events(streams, objects, done);
		RETURN;
	EXCEPTION WHEN OTHERS THEN
		given := 0;
		IF cardinality(objects) = 1 THEN
			PERFORM twtasks_internal.list_again(streams, objects, SQLERRM);
			failed := 1;
			RETURN;
		END IF;
	END;
	FOR i IN 1 .. cardinality(objects) LOOP
		one := twtasks_internal.give_each(streams[i:i], objects[i:i], done[i:i]);
		given := given + one.given;
		failed := failed + one.failed;
	END LOOP;
END $$;

/*
 * twtasks_internal.start_events(most)
 *
 *		Starts heads for listed objects that have none.  The entry of an object that
 *		somebody else has locked stays.
 *
 * Parameters
 *		most			at most this many entries of the list in one call
 *
 * Returns
 *		given			number of heads
 *		more			whether there is more to do now
 *
 * Errors
 *		25001			the transaction is not READ COMMITTED
 *
 * Writes		twtasks.objects_with_events, twtasks.event_object, twtasks.event,
 *				twtasks.task
 * Locks		rows of objects; skips those that others have locked
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.start_events(most integer DEFAULT 1000, OUT given bigint, OUT more boolean)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	listed record;
	locked record;
	ready record;
	failed bigint := 0;
BEGIN
	given := 0;
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'events can be started in READ COMMITTED only'
			USING ERRCODE = 'active_sql_transaction',
				DETAIL = 'Each statement must see what others have committed before it.';
	END IF;
	SELECT array_agg(l.entry) AS entries, array_agg(l.stream) AS streams, array_agg(l.object) AS objects
	INTO listed FROM (
		SELECT w.entry, w.stream, w.object FROM twtasks.objects_with_events w ORDER BY w.entry LIMIT most) l;
	-- Planning takes longer than these statements do.  Their plans are kept, and subqueries
	-- look up single rows, so that a plan of an empty table suits a large one.
	INSERT INTO twtasks.event_object (stream, object)
	SELECT DISTINCT l.stream, l.object FROM unnest(listed.streams, listed.objects) l(stream, object)
	WHERE (SELECT o.stream FROM twtasks.event_object o WHERE o.stream = l.stream AND o.object = l.object) IS NULL
	ORDER BY l.stream, l.object
	ON CONFLICT ON CONSTRAINT event_object_pkey DO NOTHING;
	SELECT array_agg(o.stream) AS streams, array_agg(o.object) AS objects INTO locked FROM (
		SELECT k.stream, k.object
		FROM (SELECT DISTINCT l.stream, l.object FROM unnest(listed.streams, listed.objects) l(stream, object)) d
		CROSS JOIN LATERAL (
			SELECT n.stream, n.object FROM twtasks.event_object n
			WHERE n.stream = d.stream AND n.object = d.object FOR UPDATE SKIP LOCKED) k) o;

	-- Only a later statement sees the head and the events of who had the lock before.
	SELECT coalesce(array_agg(o.stream), '{}') AS streams, array_agg(o.object) AS objects,
		   array_agg(CASE WHEN o.head IS NULL THEN false
						  ELSE (SELECT f.status FROM twtasks.finished_task f WHERE f.id = o.head LIMIT 1)
							   IS NOT DISTINCT FROM 'DONE' END) AS done
	INTO ready
	FROM unnest(locked.streams, locked.objects) l(stream, object)
	CROSS JOIN LATERAL (
		SELECT n.stream, n.object, n.head FROM twtasks.event_object n
		WHERE n.stream = l.stream AND n.object = l.object OFFSET 0) o
	WHERE (SELECT t.id FROM twtasks.task t WHERE t.id = o.head) IS NULL;
	DELETE FROM twtasks.objects_with_events w
	WHERE w.entry = ANY (ARRAY(
		SELECT l.entry FROM unnest(listed.entries, listed.streams, listed.objects) l(entry, stream, object)
		WHERE (l.stream, l.object) IN (SELECT k.stream, k.object FROM unnest(locked.streams, locked.objects) k(stream, object))));
	more := FOUND AND cardinality(listed.entries) = most;
	IF ready.streams <> '{}' THEN
		SELECT g.given, g.failed INTO given, failed
		FROM twtasks_internal.give_each(ready.streams, ready.objects, ready.done) g;
	END IF;
	-- Objects at fault are listed again; they alone are no reason to hurry.
	more := more AND (failed = 0 OR given > 0);
END $$;

/*
 * twtasks_internal.look_at_objects(most)
 *
 *		Lists objects with queued events that have no live head, in case they are not
 *		listed.  There are none, unless somebody has changed a table by hand.  A look
 *		at all objects begins once a minute, and goes on where the last call ended.
 *
 * Parameters
 *		most			at most this many objects in one call
 *
 * Writes		twtasks.objects_with_events, twtasks.event_place
 */
CREATE FUNCTION twtasks_internal.look_at_objects(most integer DEFAULT 1000)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
	moment CONSTANT timestamptz := twtasks.clock();
	here twtasks.event_place;
	seen record;
BEGIN
	SELECT p.* INTO here FROM twtasks.event_place p;
	IF here.at_stream IS NULL AND here.looked BETWEEN moment - interval '1 minute' AND moment OR here.only_row IS NULL THEN
		RETURN;
	END IF;
	-- One step from object to object, however many events each has.
	WITH RECURSIVE queued AS (
		(SELECT e.stream, e.object FROM twtasks.event e
		 WHERE (e.stream, e.object) > (coalesce(here.at_stream, ''), coalesce(here.at_object, ''))
		 ORDER BY e.stream, e.object LIMIT 1)
		UNION ALL
		SELECT n.stream, n.object FROM queued q
		CROSS JOIN LATERAL (
			SELECT e.stream, e.object FROM twtasks.event e
			WHERE (e.stream, e.object) > (q.stream, q.object)
			ORDER BY e.stream, e.object LIMIT 1) n),
	part AS (SELECT q.stream, q.object FROM queued q LIMIT most),
	listed AS (
		INSERT INTO twtasks.objects_with_events (stream, object)
		SELECT p.stream, p.object FROM part p
		WHERE (SELECT t.id FROM twtasks.event_object o JOIN twtasks.task t ON t.id = o.head
			   WHERE o.stream = p.stream AND o.object = p.object) IS NULL)
	SELECT count(*) AS objects,
		   (array_agg(p.stream ORDER BY p.stream DESC, p.object DESC))[1] AS stream,
		   (array_agg(p.object ORDER BY p.stream DESC, p.object DESC))[1] AS object
	INTO seen FROM part p;
	UPDATE twtasks.event_place p
	SET looked = CASE WHEN here.at_stream IS NULL THEN moment ELSE p.looked END,
		at_stream = CASE WHEN seen.objects = most THEN seen.stream END,
		at_object = CASE WHEN seen.objects = most THEN seen.object END;
END $$;

/*
 * twtasks_internal.duty_start_events()
 *
 *		The duty of this extension: starts events, and looks at all objects.  See
 *		run_duties().  With large batches a call takes few objects, since its time is
 *		limited.
 *
 * Returns
 *		milliseconds until the next call
 *
 * Writes		as start_events() and look_at_objects()
 */
CREATE FUNCTION twtasks_internal.duty_start_events()
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most CONSTANT integer := least(1000, 1 + 10000 / (SELECT coalesce(max(s.batch), 1) FROM twtasks.event_stream s));
BEGIN
	PERFORM twtasks_internal.look_at_objects();
	RETURN CASE WHEN (SELECT s.more FROM twtasks_internal.start_events(most) s) THEN 0 ELSE 3000 END;
END $$;
COMMENT ON FUNCTION twtasks_internal.list_again IS 'Puts objects whose heads could not be added at the end of the list, so that they do not hold up others.';
COMMENT ON FUNCTION twtasks_internal.give_each IS 'Gives the events of all objects at once.  If that fails, gives those of each object alone, so that an object at fault does not stop the others.';
COMMENT ON FUNCTION twtasks_internal.start_events IS 'Starts heads for listed objects that have none.  The entry of an object that somebody else has locked stays.';
COMMENT ON FUNCTION twtasks_internal.look_at_objects IS 'Lists objects with queued events that have no live head, in case they are not listed.  There are none, unless somebody has changed a table by hand.  A look at all objects begins once a minute, and goes on where the last call ended.';
COMMENT ON FUNCTION twtasks_internal.duty_start_events IS 'The duty of this extension: starts events, and looks at all objects.  See run_duties().  With large batches a call takes few objects, since its time is limited.';

-- extensions/events/end_events.sql
/*
 * twtasks_internal.list_ends(ended)
 *
 *		Lists the objects of heads that end, so that start_events() finds the ends in
 *		the history.
 *
 * Errors
 *		40001			another session has locked a table for long; the end is repeated
 *
 * Writes		twtasks.objects_with_events
 */
CREATE FUNCTION twtasks_internal.list_ends(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO twtasks.objects_with_events (stream, object)
	SELECT o.stream, o.object FROM unnest(ended) e JOIN twtasks.event_object o ON o.head = e.id
	WHERE e.status <> 'ERROR';
EXCEPTION WHEN lock_not_available OR query_canceled THEN
	RAISE EXCEPTION 'the objects of heads that end could not be listed'
		USING ERRCODE = 'serialization_failure', DETAIL = SQLERRM,
			HINT = 'End the tasks again.';
END $$;

/*
 * twtasks_internal.end_events(ended)
 *
 *		Notes that heads have ended, and starts the next heads of their objects, in
 *		the transaction that ends them.  on_end of all types of streams.
 *
 *		The end of a task must neither wait long nor fail, or it would need a person.
 *		So if a lock is not free soon, or if twtasks.function_timeout is over, the
 *		objects are listed, and start_events() finds the ends of their heads in the
 *		history.
 *
 *		A head in ERROR still blocks its object.  If a person fails or cancels the
 *		head, the next event says with "skipped" what may never have arrived.
 *
 * Errors
 *		40001			as list_ends()
 *
 * Writes		twtasks.event_object, twtasks.event, twtasks.task,
 *				twtasks.objects_with_events
 * Locks		rows of objects, in the order of their names
 * Wakes		after commit one sidecar per bucket
 */
CREATE FUNCTION twtasks_internal.end_events(ended twtasks.ended_task[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
SET lock_timeout = '200ms'
AS $$
DECLARE
	freed record;
BEGIN
	SELECT array_agg(o.stream) AS streams, array_agg(o.object) AS objects, array_agg(o.done) AS done
	INTO freed FROM (
		SELECT k.stream, k.object, k.done
		FROM (SELECT f.stream, f.object, e.id, e.status = 'DONE' AS done
			  FROM unnest(ended) e
			  CROSS JOIN LATERAL (
				SELECT n.stream, n.object FROM twtasks.event_object n WHERE n.head = e.id OFFSET 0) f
			  WHERE e.status <> 'ERROR' ORDER BY f.stream, f.object) k
		CROSS JOIN LATERAL (
			SELECT FROM twtasks.event_object n
			WHERE n.stream = k.stream AND n.object = k.object AND n.head = k.id FOR UPDATE) l) o;
	IF freed.streams IS NULL THEN
		RETURN;
	END IF;
	BEGIN
		PERFORM twtasks_internal.give_events(freed.streams, freed.objects, freed.done);
	EXCEPTION WHEN OTHERS THEN
		UPDATE twtasks.event_object o
		SET head = NULL, sent_id = CASE WHEN f.done THEN o.last_id ELSE o.sent_id END
		FROM unnest(freed.streams, freed.objects, freed.done) f(stream, object, done)
		WHERE o.stream = f.stream AND o.object = f.object;
		PERFORM twtasks_internal.list_again(freed.streams, freed.objects, SQLERRM);
	END;
EXCEPTION WHEN lock_not_available OR query_canceled THEN
	PERFORM twtasks_internal.list_ends(ended);
END $$;
COMMENT ON FUNCTION twtasks_internal.list_ends IS 'Lists the objects of heads that end, so that start_events() finds the ends in the history.';
COMMENT ON FUNCTION twtasks_internal.end_events IS 'Notes that heads have ended, and starts the next heads of their objects, in the transaction that ends them.  on_end of all types of streams.';

-- extensions/events/views.sql
CREATE VIEW twtasks.event_streams AS
	SELECT s.name, s.type, s.batch, s.bucket, s.priority, s.changed_at, s.changed_by
	FROM twtasks.event_stream s;
COMMENT ON VIEW twtasks.event_streams IS 'Streams of ordered events; see configure_stream()';

CREATE VIEW twtasks.event_objects AS
	SELECT coalesce(o.stream, q.stream) AS stream, coalesce(o.object, q.object) AS object,
		   coalesce(q.queued, 0) AS queued, q.oldest, o.head, t.status, coalesce(o.problem, t.error) AS problem,
		   coalesce(o.last_id, 0) AS last_id, coalesce(o.sent_id, 0) AS sent_id
	FROM twtasks.event_object o
	FULL JOIN (SELECT e.stream, e.object, count(*) AS queued, min(e.added) AS oldest
			   FROM twtasks.event e GROUP BY e.stream, e.object) q
		ON q.stream = o.stream AND q.object = o.object
	LEFT JOIN twtasks.task t ON t.id = o.head;
COMMENT ON VIEW twtasks.event_objects IS 'Objects with their queued events, their head task, and the ids of the last events given and sent';

CREATE VIEW twtasks.broken_event_objects AS
	SELECT o.stream, o.object, 'events are queued, but the object is not listed and has no live head' AS broken
	FROM twtasks.event_objects o
	WHERE o.queued > 0 AND o.status IS NULL
	  AND NOT EXISTS (SELECT FROM twtasks.objects_with_events w WHERE w.stream = o.stream AND w.object = o.object)
	UNION ALL
	SELECT o.stream, o.object, 'the head task is gone without its end' FROM twtasks.event_objects o
	WHERE o.head IS NOT NULL AND o.status IS NULL
	  AND NOT EXISTS (SELECT FROM twtasks.objects_with_events w WHERE w.stream = o.stream AND w.object = o.object)
	UNION ALL
	SELECT o.stream, o.object, 'the id of the last event is above all ids' FROM twtasks.event_object o
	WHERE o.last_id > (SELECT s.last_value FROM twtasks.event_id_seq s)
	UNION ALL
	SELECT o.stream, o.object, 'more events are sent than given' FROM twtasks.event_object o
	WHERE o.sent_id > o.last_id;
COMMENT ON VIEW twtasks.broken_event_objects IS 'Objects that break an invariant of ordered events; empty, unless tables were changed by hand';

-- extensions/events/grants.sql
/* As with twtasks itself: twtasks_owner owns all, and PUBLIC has no rights. */
DO $$
DECLARE
	member record;
BEGIN
	FOR member IN
		SELECT i.type AS kind, i.identity
		FROM pg_catalog.pg_depend d
		JOIN pg_catalog.pg_extension e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
		CROSS JOIN LATERAL pg_catalog.pg_identify_object(d.classid, d.objid, 0) i
		WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
		  AND e.extname OPERATOR(pg_catalog.=) 'twtasks_events'
		  AND d.deptype OPERATOR(pg_catalog.=) 'e'
		  AND i.type OPERATOR(pg_catalog.=) ANY (ARRAY['table', 'view', 'function'])
	LOOP
		EXECUTE pg_catalog.format('ALTER %s %s OWNER TO twtasks_owner', member.kind, member.identity);
		IF member.kind OPERATOR(pg_catalog.=) 'function' THEN
			EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', member.identity);
		END IF;
	END LOOP;
END $$;
ALTER SEQUENCE twtasks.event_id_seq OWNER TO twtasks_owner;

GRANT EXECUTE ON FUNCTION twtasks.add_event TO twtasks_producer;
GRANT EXECUTE ON FUNCTION twtasks.configure_stream TO twtasks_operator;
GRANT SELECT ON twtasks.event_streams, twtasks.event_objects, twtasks.broken_event_objects
	TO twtasks_worker, twtasks_operator, twtasks_viewer;
