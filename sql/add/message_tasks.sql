/*
 * twtasks.bytes_as_text(bytes)
 *
 *		Bytes as a text: different bytes give different texts, so that a key of
 *		bytes can be the key of a task.  The bytes of a text in UTF-8 give this text,
 *		all others \x and hexadecimal digits.  So does a text that has just this
 *		form.  The headers of a message are made in this way.
 *
 * Parameters
 *		bytes		NULL: NULL
 *
 * Returns
 *		the text
 * Example		SELECT twtasks.bytes_as_text('\xff00');
 */
CREATE FUNCTION twtasks.bytes_as_text(bytes bytea)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mark CONSTANT text := chr(92) || 'x';
	found text;
BEGIN
	found := convert_from(bytes, 'UTF8');
	IF NOT starts_with(found, mark) OR substr(found, 3) !~ '^([0-9a-f]{2})+$' THEN
		RETURN found;
	END IF;
	RETURN mark || encode(bytes, 'hex');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
	RETURN mark || encode(bytes, 'hex');
END $$;

/*
 * twtasks_internal.call_message(function, message)
 *
 *		The task that a listener's function makes of a message.  The function runs as
 *		its owner, for at most twtasks.function_timeout.
 *
 * Returns
 *		the task; NULL: the function ignores the message
 *
 * Errors
 *		42883		no function of that name has the right signature
 *		53400		the function took too long
 *		as the function raises
 */
CREATE FUNCTION twtasks_internal.call_message(function text, message twtasks.message)
RETURNS twtasks.new_task
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_call_message';

/*
 * twtasks_internal.split_key(key)
 *
 *		The prefix of a listener's keys, and where the rest of a key is.
 *
 * Parameters
 *		key			of take_messages(), as bills/{message}
 *
 * Returns
 *		{bills/,message}; NULL: the key has no prefix
 */
CREATE FUNCTION twtasks_internal.split_key(key text)
RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT regexp_match(split_key.key, '^([^{}]+)[{](message|position|header:.+|json:/.*)[}]$')
$$;

/*
 * twtasks_internal.check_rule(rule)
 *
 *		Refuses a rule that makes no tasks of messages.
 *
 * Parameters
 *		rule		type or function, value, key, headers and corrupt of take_messages()
 *
 * Errors
 *		22023		a value is not valid
 *		42883, 42501, 22023		as check_function()
 */
CREATE FUNCTION twtasks_internal.check_rule(rule jsonb)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type CONSTANT text := rule ->> 'type';
	key CONSTANT text := rule ->> 'key';
	wanted CONSTANT text := coalesce((twtasks_internal.split_key(key))[2], key);
BEGIN
	IF num_nulls(type, rule ->> 'function') <> 1 THEN
		RAISE EXCEPTION 'either type or function must be given'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF type !~ '^[A-Za-z0-9_.:|/-]{1,120}$' THEN
		RAISE EXCEPTION 'invalid type: "%"', twtasks_internal.shown(type)
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'A type has 1 to 120 letters (A to Z), digits and characters of "_.:|/-".';
	ELSIF (rule ->> 'value' IN ('json', 'bytes')) IS NOT TRUE THEN
		RAISE EXCEPTION 'value must be "json" or "bytes"' USING ERRCODE = 'invalid_parameter_value';
	ELSIF (rule ->> 'corrupt' IN ('retry', 'task')) IS NOT TRUE THEN
		RAISE EXCEPTION 'corrupt must be "retry" or "task"' USING ERRCODE = 'invalid_parameter_value';
	ELSIF wanted !~ '^(message|position|header:.+|json:/.*)$' OR wanted ~ '^json:' AND rule ->> 'value' = 'bytes' THEN
		RAISE EXCEPTION 'invalid key: "%"', twtasks_internal.shown(key)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Write "message", "position", "header:NAME", or "json:/path" if the values are JSON; '
					   'or such a word in braces behind a prefix: "bills/{message}".';
	END IF;
	PERFORM twtasks_internal.check_function('take_messages', rule ->> 'function');
END $$;

/*
 * twtasks_internal.missing_key(wanted)
 *
 *		Fails, where an expression finds no key.
 *
 * Parameters
 *		wanted		key of take_messages()
 *
 * Errors
 *		22004		always
 */
CREATE FUNCTION twtasks_internal.missing_key(wanted text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RAISE EXCEPTION 'message has no key at "%"', wanted
		USING ERRCODE = 'null_value_not_allowed';
END $$;

/*
 * twtasks_internal.message_tasks(messages, rule)
 *
 *		The tasks that messages of one partition give, in the order of the messages.
 *		Headers that trace a request go to the context always.
 *
 * Parameters
 *		rule		as check_rule(), with the listener
 *
 * Errors
 *		22xxx		a value is no UTF-8 or no JSON, or a message has no key
 *		as call_message()
 */
CREATE FUNCTION twtasks_internal.message_tasks(messages twtasks.message[], rule jsonb)
RETURNS twtasks.new_task[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type CONSTANT text := rule ->> 'type';
	is_json CONSTANT boolean := rule ->> 'value' = 'json';
	names CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(nullif(rule -> 'headers', 'null')))
		|| '{traceparent,tracestate}'::text[];
	wants_all CONSTANT boolean := '*' = ANY (names);
	parts CONSTANT text[] := twtasks_internal.split_key(rule ->> 'key');
	wanted CONSTANT text := coalesce(parts[2], rule ->> 'key');
	prefix CONSTANT text := coalesce(parts[1], '');
	place CONSTANT text := concat_ws('/', rule ->> 'listener', messages[1].topic, messages[1].partition, '');
	header CONSTANT text := substring(wanted FROM '^header:(.*)$');
	pointer CONSTANT text[] := (ARRAY(SELECT replace(replace(p, '~1', '/'), '~0', '~')
									  FROM string_to_table(substring(wanted FROM '^json:(.*)$'), '/') p))[2:];
BEGIN
	IF rule ->> 'function' IS NOT NULL THEN
		RETURN ARRAY(SELECT c.task
					 FROM (SELECT twtasks_internal.call_message(rule ->> 'function', m) AS task
						   FROM unnest(messages) m) c
					 WHERE NOT c.task IS NULL);
	END IF;
	RETURN ARRAY(
		SELECT twtasks.new_task(type, v.data,
			key => CASE WHEN wanted IS NOT NULL THEN prefix || coalesce(
						CASE WHEN wanted = 'position' THEN place || m."offset"
							 WHEN wanted = 'message' THEN twtasks.bytes_as_text(m.key)
							 WHEN header IS NOT NULL THEN m.headers ->> header
							 WHEN jsonb_typeof(v.data #> pointer) NOT IN ('object', 'array') THEN v.data #>> pointer
						END, twtasks_internal.missing_key(wanted)) END,
			context => CASE WHEN wants_all THEN nullif(m.headers, '{}')
							WHEN m.headers ?| names THEN (SELECT jsonb_object_agg(n, m.headers -> n)
														  FROM unnest(names) n WHERE m.headers ? n) END,
			payload => CASE WHEN NOT is_json THEN m.value END)
		FROM unnest(messages) m
		-- OFFSET 0: parsed once
		CROSS JOIN LATERAL (SELECT CASE WHEN is_json THEN convert_from(m.value, 'UTF8')::jsonb END AS data OFFSET 0) v);
END $$;

/*
 * twtasks_internal.add_corrupted(message, rule, state, error)
 *
 *		Adds a task of type CORRUPTED_KAFKA_MESSAGE in place of the task that a
 *		message should have given.  Its payload is the message's value, and its
 *		context says where the message is from and why it is corrupt.  A task that
 *		would be too large is added without value, key and headers.
 *
 * Errors
 *		23505			an intercept function gave the task another's key; others as
 *						add_task()
 *
 * Writes		twtasks.task
 * Wakes		as add_task()
 */
CREATE FUNCTION twtasks_internal.add_corrupted(message twtasks.message, rule jsonb, state text, error text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	added twtasks.added_task;
	origin CONSTANT jsonb := jsonb_build_object(
		'listener', rule -> 'listener', 'topic', message.topic, 'partition', message.partition,
		'offset', message."offset", 'time', message."time", 'bytes', octet_length(message.value),
		'sqlstate', state, 'error', twtasks_internal.cut_message(error));
BEGIN
	BEGIN
		SELECT t.* INTO added FROM twtasks.add_task('CORRUPTED_KAFKA_MESSAGE', payload => message.value,
			context => origin || jsonb_build_object('key', chr(92) || 'x' || encode(message.key, 'hex'),
													'headers', message.headers)) t;
	EXCEPTION WHEN program_limit_exceeded THEN
		SELECT t.* INTO added FROM twtasks.add_task('CORRUPTED_KAFKA_MESSAGE', context => origin) t;
	END;
	IF added.result <> 'added' THEN
		RAISE EXCEPTION 'another task has its key' USING ERRCODE = 'unique_violation',
			DETAIL = format('The other task is "%s".', added.task_id);
	END IF;
END $$;

/*
 * twtasks_internal.take_all(messages, rule)
 *
 *		Adds the tasks that messages give.
 *
 * Errors, writes, wakes: as message_tasks() and add_tasks()
 */
CREATE FUNCTION twtasks_internal.take_all(messages twtasks.message[], rule jsonb)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM twtasks_internal.add_given_tasks(twtasks_internal.message_tasks(messages, rule));
END $$;

/*
 * twtasks_internal.take_singly(messages, rule)
 *
 *		Adds the tasks of each message in a subtransaction of its own, after one of
 *		the messages failed.  With corrupt = 'task' a message whose error is about
 *		its content becomes a task of its own.
 *
 * Returns
 *		the offset of the message that failed, if messages before it were taken; NULL:
 *		all were taken
 *
 * Errors
 *		the error of the first message.  The detail has its place, and why it could
 *		not become a task of its own
 *
 * Writes		as add_tasks()
 */
CREATE FUNCTION twtasks_internal.take_singly(messages twtasks.message[], rule jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	message twtasks.message;
	taken record;
	kept record;
	refusal text;
BEGIN
	FOREACH message IN ARRAY messages LOOP
		taken := twtasks_internal.try_call_without_limit('twtasks_internal.take_all', ARRAY[message], rule);
		CONTINUE WHEN taken.state IS NULL;
		refusal := NULL;
		-- the classes of data, of constraints, of limits, and of RAISE
		IF rule ->> 'corrupt' = 'task' AND taken.state ~ '^(22|23|54|P0)' THEN
			kept := twtasks_internal.try_call_without_limit('twtasks_internal.add_corrupted', message, rule, taken.state, taken.error);
			CONTINUE WHEN kept.state IS NULL;
			refusal := kept.error;
		END IF;
		IF message."offset" > messages[1]."offset" THEN
			RETURN message."offset";
		END IF;
		-- A trigger of a user that raises a cancel ends no session.
		RAISE EXCEPTION USING ERRCODE = CASE taken.state WHEN '57014' THEN '38000' ELSE taken.state END, MESSAGE = taken.error,
			DETAIL = concat_ws(' ', format('The message is at offset %s of partition %s of topic "%s".',
										   message."offset", message.partition, message.topic),
							   taken.detail, taken.hint,
							   'A task CORRUPTED_KAFKA_MESSAGE cannot be added: ' || refusal || '.');
	END LOOP;
	RETURN NULL;
END $$;

/*
 * twtasks_internal.take_run(messages, rule)
 *
 *		Adds the tasks that messages give, all at once if none of them fails.
 *
 * Returns, errors, writes: as take_singly()
 */
CREATE FUNCTION twtasks_internal.take_run(messages twtasks.message[], rule jsonb)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	taken CONSTANT record := twtasks_internal.try_call_without_limit('twtasks_internal.take_all', messages, rule);
BEGIN
	RETURN CASE WHEN taken.state IS NOT NULL THEN twtasks_internal.take_singly(messages, rule) END;
END $$;
