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
 *		Raises an error unless add_event() can take the values.
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
	-- The head task's own text, where a character of a name may take six bytes.
	room CONSTANT bigint := pg_size_bytes(current_setting('twtasks.max_payload'))
		- 300 - 6 * (least(octet_length(stream), 250) + octet_length(object));
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
