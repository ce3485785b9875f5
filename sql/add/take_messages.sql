/*
 * Where a consumer of a topic goes on: it moves in the transaction that stores
 * the tasks, so a message is neither lost nor taken twice.
 */
CREATE TABLE twtasks.message_offset (
	listener	text COLLATE "C" NOT NULL,	-- The consumer's name for itself; several may read one topic
	topic		text COLLATE "C" NOT NULL,	-- Name of the topic
	partition	integer NOT NULL,			-- Number of the partition
	next_offset	bigint NOT NULL,			-- The first message that was not taken
	role		text COLLATE "C" NOT NULL,	-- The role that took the first messages; its members, and members of twtasks_owner, may go on and add partitions
	moved		timestamptz NOT NULL,		-- Time of the last move
	partitions	integer,					-- How many the topic had when the listener began here; NULL: nobody told
	topic_id	text COLLATE "C",			-- The topic's id, which another topic of this name does not have; NULL: not known
	problem		text,						-- Why the listener stands still until an operator sets the offset; NULL: it does not
	problem_since	timestamptz,			-- Time at which the problem was seen
	log_first	bigint,						-- The first message that the topic has, as seen last since then; NULL: not known
	CONSTRAINT message_offset_pkey PRIMARY KEY (listener, topic, partition)
);
COMMENT ON TABLE twtasks.message_offset IS 'Progress of the consumers that call take_messages(), by partition';
SELECT pg_catalog.pg_extension_config_dump('twtasks.message_offset', '');

/*
 * twtasks_internal.check_place(listener, topic, partition)
 *
 *		Refuses names and numbers that no partition of a listener can have.
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		a name or the partition is not valid
 */
CREATE FUNCTION twtasks_internal.check_place(listener text, topic text, partition integer)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF num_nulls(listener, topic, partition) > 0 THEN
		RAISE EXCEPTION '% must not be null',
				CASE WHEN listener IS NULL THEN 'listener' WHEN topic IS NULL THEN 'topic' ELSE 'partition' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF listener !~ '^[^[:cntrl:]]+$' OR octet_length(listener) > 250 THEN
		RAISE EXCEPTION 'invalid name of a listener: "%"', twtasks_internal.shown(listener)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A name has 1 to 250 bytes and no control characters.';
	ELSIF topic !~ '^[a-zA-Z0-9._-]+$' OR octet_length(topic) > 249 THEN
		RAISE EXCEPTION 'invalid name of a topic: "%"', twtasks_internal.shown(topic)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A topic has letters, digits and . _ -, at most 249 of them.';
	ELSIF partition < 0 THEN
		RAISE EXCEPTION 'invalid partition: %', partition
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A partition is at least 0.';
	END IF;
END $$;

/*
 * twtasks_internal.check_takes()
 *
 *		Refuses messages while this database is a copy.
 *
 * Errors
 *		55000		this database is not adopted
 */
CREATE FUNCTION twtasks_internal.check_takes()
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT twtasks.is_adopted() THEN
		RAISE EXCEPTION 'this database takes no messages: it is a copy that was not adopted'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The messages are for the original.',
				HINT = 'If this database takes its place, see twtasks.adopt(environment).';
	END IF;
END $$;

/*
 * twtasks_internal.check_run(topic, partition, from_offset, to_offset, messages)
 *
 *		Refuses other parameters of take_messages() that are not valid.
 *
 * Errors
 *		22004, 22023	as take_messages()
 */
CREATE FUNCTION twtasks_internal.check_run(
	topic text, partition integer, from_offset bigint, to_offset bigint, messages twtasks.message[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stray bigint;
BEGIN
	IF from_offset IS NULL OR to_offset IS NULL THEN
		RAISE EXCEPTION 'from_offset and to_offset must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF from_offset < 0 OR to_offset < from_offset THEN
		RAISE EXCEPTION 'invalid range of messages: offsets % to %', from_offset, to_offset
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Offsets begin at 0, and to_offset is not below from_offset.';
	END IF;
	SELECT min(m.n) INTO stray
	FROM (SELECT row_number() OVER () AS n, u.topic, u.partition, u."offset",
				 lag(u."offset", 1, from_offset - 1) OVER () AS before
		  FROM unnest(messages) u) m
	WHERE (m.topic = check_run.topic AND m.partition = check_run.partition
		   AND m."offset" > m.before AND m."offset" < to_offset) IS NOT TRUE;
	IF stray IS NOT NULL THEN
		RAISE EXCEPTION 'message % is not of this run of messages', stray
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Its topic, partition and offset are %s, %s and %s.',
								coalesce(messages[stray].topic, 'null'),
								coalesce(messages[stray].partition::text, 'null'),
								coalesce(messages[stray]."offset"::text, 'null')),
				HINT = 'Offsets ascend from from_offset and stay below to_offset.';
	END IF;
END $$;

/*
 * twtasks_internal.check_keeper(listener, keeper)
 *
 *		Refuses a caller that is no member of the listener's role.  Superusers and
 *		members of twtasks_owner may go on even if that role was dropped.
 *
 * Errors
 *		42501		the listener belongs to another role
 */
CREATE FUNCTION twtasks_internal.check_keeper(listener text, keeper text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	owner CONSTANT oid := to_regrole(quote_ident(keeper));
BEGIN
	IF pg_has_role(caller, owner, 'MEMBER') IS NOT TRUE
		AND NOT pg_has_role(caller, twtasks_internal.owner(), 'MEMBER') THEN
		RAISE EXCEPTION 'listener "%" belongs to role "%"%', listener, keeper,
				CASE WHEN owner IS NULL THEN ', which no longer exists' ELSE '' END
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'An operator may give it to another role: twtasks.reset_listener().';
	END IF;
END $$;

/*
 * twtasks_internal.check_newcomer(listener, topic, partition)
 *
 *		Refuses a caller that would add a partition to the listener of another role.
 *		A listener whose partitions belong to several roles is a listener of each.
 *
 * Errors
 *		42501		as check_keeper()
 *
 * Locks		twtasks.message_offset against other new listeners if the listener is new,
 *				until the end of the transaction: two roles do not both come first
 */
CREATE FUNCTION twtasks_internal.check_newcomer(listener text, topic text, partition integer)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	keeper text;
BEGIN
	IF EXISTS (SELECT FROM twtasks.message_offset o
			   WHERE o.listener = check_newcomer.listener AND o.topic = check_newcomer.topic
				 AND o.partition = check_newcomer.partition) THEN
		RETURN;
	END IF;
	IF NOT EXISTS (SELECT FROM twtasks.message_offset o WHERE o.listener = check_newcomer.listener) THEN
		LOCK TABLE twtasks.message_offset IN SHARE UPDATE EXCLUSIVE MODE;
	END IF;
	SELECT o.role INTO keeper FROM twtasks.message_offset o
	WHERE o.listener = check_newcomer.listener
	ORDER BY pg_has_role(caller, to_regrole(quote_ident(o.role)), 'MEMBER') IS TRUE DESC
	LIMIT 1;
	IF FOUND THEN
		PERFORM twtasks_internal.check_keeper(listener, keeper);
	END IF;
END $$;

/*
 * twtasks_internal.check_problem(listener, topic, partition, problem)
 *
 *		Refuses to move a listener that stands still.
 *
 * Errors
 *		55000		there is a problem
 */
CREATE FUNCTION twtasks_internal.check_problem(listener text, topic text, partition integer, problem text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION 'listener "%" stands still in partition % of topic "%"', listener, partition, topic
			USING ERRCODE = 'object_not_in_prerequisite_state', DETAIL = problem,
				HINT = 'An operator sets the offset: twtasks.reset_listener().';
	END IF;
END $$;

/*
 * twtasks_internal.move_offset(listener, topic, partition, from_offset, to_offset)
 *
 *		Moves the offset that take_messages() names, unless it stands elsewhere.
 *
 * Returns
 *		is_moved, and where the offset stands now
 *
 * Errors
 *		42501		the listener belongs to another role
 *		55000		the listener stands still
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition; as check_newcomer()
 */
CREATE FUNCTION twtasks_internal.move_offset(
	listener text, topic text, partition integer, from_offset bigint, to_offset bigint,
	OUT is_moved boolean, OUT next_offset bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keeper text;
	problem text;
BEGIN
	PERFORM twtasks_internal.check_newcomer(move_offset.listener, move_offset.topic, move_offset.partition);
	INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved)
	VALUES (move_offset.listener, move_offset.topic, move_offset.partition, to_offset,
			pg_get_userbyid(twtasks_internal.caller()), clock_timestamp())
	ON CONFLICT DO NOTHING;
	IF FOUND THEN
		is_moved := true;
		next_offset := to_offset;
		RETURN;
	END IF;
	SELECT o.role INTO STRICT keeper FROM twtasks.message_offset o
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition;
	PERFORM twtasks_internal.check_keeper(move_offset.listener, keeper);
	UPDATE twtasks.message_offset o SET next_offset = to_offset, moved = clock_timestamp()
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition AND o.next_offset = from_offset AND o.problem IS NULL;
	is_moved := FOUND;
	SELECT o.next_offset, o.problem INTO next_offset, problem FROM twtasks.message_offset o
	WHERE o.listener = move_offset.listener AND o.topic = move_offset.topic
	  AND o.partition = move_offset.partition;
	PERFORM twtasks_internal.check_problem(move_offset.listener, move_offset.topic, move_offset.partition, problem);
END $$;

/*
 * twtasks.take_messages(listener, topic, partition, from_offset, to_offset, tasks, ...)
 *
 *		Stores the tasks of a run of messages and moves the listener's offset
 *		past them, both or neither.  Two consumers that believe that they own
 *		the same partition do no harm: one of them finds the offset elsewhere,
 *		and stores nothing.
 *
 *		The caller gives tasks, or messages and a rule that makes tasks of them: a
 *		type, or a function (twtasks.message) returns twtasks.new_task.  The function
 *		runs with the rights of its owner and must fix its search_path.  The changes
 *		that the function makes in the database happen once for each message, as the
 *		tasks do.
 *
 * Parameters
 *		listener	name of the consumer, 1 to 250 bytes
 *		topic		1 to 249 bytes
 *		partition	from 0
 *		from_offset	of the first message.  The first call for a partition may name
 *					any offset
 *		to_offset	of the last message, plus 1; not below from_offset
 *		tasks		rows with the parameters of add_task(), in the order of the
 *					messages; a message may give none or several, and an empty array
 *					only moves the offset
 *		messages	in place of tasks, in the order of their offsets
 *		type		each message gives a task of this type
 *		function	in place of type, with its schema in the name: returns the task of
 *					a message, or NULL to ignore the message.  It has
 *					twtasks.function_timeout for each message
 *		value		with type: json, the value is the task's data; bytes, its payload
 *		key			with type: the task's key is in the header, header:NAME; or in
 *					the value, json:/path (a JSON pointer); or the message's own, message;
 *					or position, the listener, topic, partition and offset with slashes
 *					between them.  A prefix may stand before it, as bills/{message}.
 *					NULL: the task has no key
 *		headers		with type: names of headers that go to the task's context, besides
 *					traceparent and tracestate; *: all
 *		corrupt		when a message gives no task because of its content (SQLSTATE 22xxx,
 *					23xxx, 54xxx or P0xxx): retry, as after any other error; task, it
 *					becomes a task CORRUPTED_KAFKA_MESSAGE, whose payload is the value,
 *					and whose context says where it is from and what the error was
 *
 * Returns
 *		where the listener must go on: to_offset.  An offset between: the message
 *		there failed, and the ones before it were taken.  Any other offset: the partition
 *		did not stand at from_offset, and this call did nothing
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		a name, the partition, an offset, a message or the rule is not
 *					valid
 *		42501		the listener belongs to another role, or the caller may not execute
 *					the function
 *		42883		there is no such function
 *		55000		this database is a copy and not adopted; or the listener stands still in
 *					the partition until an operator sets its offset
 *		as add_tasks() and the function, with the message in the detail; nothing is
 *		stored then, and the offset stays
 *
 * Writes		twtasks.message_offset, twtasks.task, twtasks.unique_key
 * Locks		row lock of the partition, until the end of the transaction; for a new
 *				listener, twtasks.message_offset against other new listeners too
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT twtasks.take_messages('billing', 'invoices', 0, 17, 18, ARRAY[twtasks.new_task('BILL', '{"no": 4}', key => 'invoices-0-17')]);
 */
CREATE FUNCTION twtasks.take_messages(
	listener text,
	topic text,
	partition integer,
	from_offset bigint,
	to_offset bigint,
	tasks twtasks.new_task[] DEFAULT NULL,
	messages twtasks.message[] DEFAULT NULL,
	type text DEFAULT NULL,
	function text DEFAULT NULL,
	value text DEFAULT 'json',
	key text DEFAULT NULL,
	headers text[] DEFAULT NULL,
	corrupt text DEFAULT 'retry')
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.take_messages_as_owner(given record)
 *
 *		The work of take_messages(), with its caller noted.  The row has a column
 *		for each parameter.
 *
 * Returns, errors, writes: as take_messages()
 */
CREATE FUNCTION twtasks_internal.take_messages_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rule CONSTANT jsonb := jsonb_build_object('listener', given.listener, 'type', given.type,
		'function', given.function, 'value', given.value, 'key', given.key,
		'headers', given.headers, 'corrupt', given.corrupt);
	moved record;
	failed bigint;
BEGIN
	PERFORM twtasks_internal.check_takes();
	IF num_nulls(given.tasks, given.messages) <> 1 THEN
		RAISE EXCEPTION 'either tasks or messages must be given'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_place(given.listener, given.topic, given.partition),
			twtasks_internal.check_run(given.topic, given.partition, given.from_offset, given.to_offset, given.messages);
	IF given.messages IS NOT NULL THEN
		PERFORM twtasks_internal.check_rule(rule);
	END IF;
	moved := twtasks_internal.move_offset(given.listener, given.topic, given.partition, given.from_offset, given.to_offset);
	IF NOT moved.is_moved THEN
		RETURN moved.next_offset;
	ELSIF given.messages IS NULL THEN
		PERFORM twtasks_internal.add_given_tasks(given.tasks);
		RETURN given.to_offset;
	END IF;
	failed := twtasks_internal.take_run(given.messages, rule);
	UPDATE twtasks.message_offset o SET next_offset = failed
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	  AND failed IS NOT NULL;
	RETURN coalesce(failed, given.to_offset);
END $$;

/*
 * twtasks.take_corrupted(listener, topic, partition, message, state, error)
 *
 *		Takes a message without the task that it should give, and adds a task
 *		CORRUPTED_KAFKA_MESSAGE in its place, as take_messages() does with corrupt.
 *		Call it for a message whose take_messages() was refused only when the
 *		transaction ended, as by a deferred constraint.
 *
 * Parameters
 *		listener	as take_messages()
 *		topic		as take_messages()
 *		partition	as take_messages()
 *		message		the listener must stand at its offset
 *		state		SQLSTATE of the refusal
 *		error		its message
 *
 * Returns
 *		where the listener must go on: behind the message.  Any other offset: the
 *		partition did not stand at the message, and this call did nothing
 *
 * Errors
 *		22004		a parameter is NULL
 *		as take_messages()
 *
 * Writes		twtasks.message_offset, twtasks.task
 * Locks		as take_messages()
 * Wakes		as add_task()
 * Example		SELECT twtasks.take_corrupted('billing', 'invoices', 0, twtasks.message('invoices', 0, 17, value => '{}'), '23514', 'no account');
 */
CREATE FUNCTION twtasks.take_corrupted(
	listener text, topic text, partition integer, message twtasks.message, state text, error text)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.take_corrupted_as_owner(given record)
 *
 *		The work of take_corrupted(), with its caller noted.
 */
CREATE FUNCTION twtasks_internal.take_corrupted_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	at CONSTANT bigint := (given.message)."offset";
	moved record;
BEGIN
	IF num_nulls(at, given.state, given.error) > 0 THEN
		RAISE EXCEPTION 'message, state and error must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_takes(),
			twtasks_internal.check_place(given.listener, given.topic, given.partition),
			twtasks_internal.check_run(given.topic, given.partition, at, at + 1, ARRAY[given.message]);
	moved := twtasks_internal.move_offset(given.listener, given.topic, given.partition, at, at + 1);
	IF moved.is_moved THEN
		PERFORM twtasks_internal.add_corrupted(given.message, jsonb_build_object('listener', given.listener),
											   given.state, given.error);
	END IF;
	RETURN moved.next_offset;
END $$;
