/*
 * twtasks.kafka_message(key text, value text, headers jsonb)
 *
 *		Makes a message of texts, in UTF-8.
 *
 * Parameters
 *		key			messages with equal keys go to one partition; NULL: to any
 *		value		NULL: a tombstone
 *		headers		an object of texts; NULL: none
 *
 * Returns
 *		the message
 * Example		SELECT twtasks.kafka_message('account-7', '{"balance": 12}');
 */
CREATE FUNCTION twtasks.kafka_message(key text, value text, headers jsonb DEFAULT NULL)
RETURNS twtasks.kafka_message
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made twtasks.kafka_message;
BEGIN
	made.key := convert_to(key, 'UTF8');
	made.value := convert_to(value, 'UTF8');
	made.headers := headers;
	RETURN made;
END $$;

/*
 * twtasks.send_to_kafka(topic text, messages twtasks.kafka_message[])
 *
 *		Adds tasks that send the messages to Kafka after the caller's commit; a
 *		rollback sends nothing.  Each message arrives at least once, with a header
 *		twtasks-id that is the same each time it arrives.
 *
 *		A task has as many messages as fit into 8,000,000 bytes, a longer message has
 *		a task of its own.  Messages of one task keep their order.  The tasks are of
 *		the type SendToKafka, with the topic as their sub_type; a sidecar needs a
 *		handler of the kind kafka for them.
 *
 * Parameters
 *		topic		the name: 1 to 249 letters, digits or . _ -
 *		messages	none: nothing is added
 *
 * Returns
 *		one row per task, as add_task() does
 *
 * Errors
 *		22004		topic, messages or one of them is NULL
 *		22023		topic is not valid, or headers of a message are no object
 *		54000		a message exceeds twtasks.max_payload
 *					otherwise as add_task(); nothing is stored then
 *
 * Writes		twtasks.task
 * Locks		row locks only
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT twtasks.send_to_kafka('payments', ARRAY[twtasks.kafka_message('k', 'v')]);
 */
CREATE FUNCTION twtasks.send_to_kafka(topic text, messages twtasks.kafka_message[])
RETURNS SETOF twtasks.added_task
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	most constant integer := 8000000;
	part bytea;
	parts bytea[] := '{}';
	size bigint := 0;
BEGIN
	IF topic IS NULL OR messages IS NULL OR array_position(messages, NULL) IS NOT NULL THEN
		RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
			MESSAGE = 'topic and messages must not be null';
	ELSIF topic !~ '^[A-Za-z0-9._-]{1,249}$' OR topic IN ('.', '..') THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = format('invalid topic "%s"', left(topic, 64)),
			DETAIL = 'A topic has 1 to 249 letters, digits or . _ - characters.';
	ELSIF EXISTS (SELECT FROM unnest(messages) m WHERE jsonb_typeof(m.headers) <> 'object') THEN
		RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
			MESSAGE = 'headers of a message must be an object';
	END IF;

	-- Its format stands in workers/kafka/kafka_batch.h.
	FOR part IN
		SELECT int4send(coalesce(octet_length(m.key), -1)) || coalesce(m.key, '') ||
			int4send(coalesce(octet_length(m.value), -1)) || coalesce(m.value, '') ||
			coalesce(h.bytes, int4send(0))
		FROM unnest(messages) WITH ORDINALITY m
		CROSS JOIN LATERAL (
			SELECT int4send(count(*)::integer) || string_agg(
				int4send(octet_length(b.name)) || b.name ||
				int4send(coalesce(octet_length(b.value), -1)) || coalesce(b.value, ''), '') AS bytes
			FROM jsonb_each_text(m.headers) e,
				LATERAL (SELECT convert_to(e.key, 'UTF8') AS name, convert_to(e.value, 'UTF8') AS value) b
		) h
		ORDER BY m.ordinality
	LOOP
		IF size > 0 AND size + octet_length(part) > most THEN
			RETURN NEXT twtasks.add_task('SendToKafka', sub_type => topic,
				payload => (SELECT string_agg(p.part, '' ORDER BY p.n)
							FROM unnest(parts) WITH ORDINALITY p (part, n)));
			parts := '{}';
			size := 0;
		END IF;
		parts := parts || part;
		size := size + octet_length(part);
	END LOOP;
	IF size > 0 THEN
		RETURN NEXT twtasks.add_task('SendToKafka', sub_type => topic,
			payload => (SELECT string_agg(p.part, '' ORDER BY p.n)
						FROM unnest(parts) WITH ORDINALITY p (part, n)));
	END IF;
END $$;

