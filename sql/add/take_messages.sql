/*
 * Where a consumer of a topic goes on: it moves in the transaction that stores
 * the tasks, so a message is neither lost nor taken twice.
 */
CREATE TABLE twtasks.message_offset (
	listener	text COLLATE "C" NOT NULL,	-- The consumer's name for itself; several may read one topic
	topic		text COLLATE "C" NOT NULL,	-- Name of the topic
	partition	integer NOT NULL,			-- Number of the partition
	next_offset	bigint NOT NULL,			-- The first message that was not taken
	role		text COLLATE "C" NOT NULL,	-- The role that took the first messages; its members may go on
	moved		timestamptz NOT NULL,		-- Time of the last move
	CONSTRAINT message_offset_pkey PRIMARY KEY (listener, topic, partition)
);
COMMENT ON TABLE twtasks.message_offset IS 'Progress of the consumers that call take_messages(), by partition';
SELECT pg_catalog.pg_extension_config_dump('twtasks.message_offset', '');

/*
 * twtasks_internal.check_messages(given)
 *
 *		Refuses parameters of take_messages() that are not valid.
 *
 * Errors
 *		22004, 22023	as take_messages()
 */
CREATE FUNCTION twtasks_internal.check_messages(given record)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing CONSTANT text := (SELECT o.key FROM jsonb_each_text(to_jsonb(given)) o WHERE o.value IS NULL ORDER BY 1 LIMIT 1);
BEGIN
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION '% must not be null', missing USING ERRCODE = 'null_value_not_allowed';
	ELSIF given.listener !~ '^[^[:cntrl:]]+$' OR octet_length(given.listener) > 250 THEN
		RAISE EXCEPTION 'invalid name of a listener: "%"', twtasks_internal.shown(given.listener)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A name has 1 to 250 bytes and no control characters.';
	ELSIF given.topic !~ '^[a-zA-Z0-9._-]+$' OR octet_length(given.topic) > 249 THEN
		RAISE EXCEPTION 'invalid name of a topic: "%"', twtasks_internal.shown(given.topic)
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A topic has letters, digits and . _ -, at most 249 of them.';
	ELSIF given.partition < 0 OR given.from_offset < 0 OR given.to_offset < given.from_offset THEN
		RAISE EXCEPTION 'invalid range of messages: partition %, offsets % to %',
				given.partition, given.from_offset, given.to_offset
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A partition is at least 0, and to_offset is not below from_offset.';
	END IF;
END $$;

/*
 * twtasks_internal.move_offset(given)
 *
 *		Moves the offset that take_messages() names, unless it stands elsewhere.
 *
 * Returns
 *		is_moved, and where the offset stands now
 *
 * Errors
 *		42501		the listener belongs to another role
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition
 */
CREATE FUNCTION twtasks_internal.move_offset(given record, OUT is_moved boolean, OUT next_offset bigint)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	caller CONSTANT oid := twtasks_internal.caller();
	keeper text;
BEGIN
	INSERT INTO twtasks.message_offset (listener, topic, partition, next_offset, role, moved)
	VALUES (given.listener, given.topic, given.partition, given.to_offset,
			pg_get_userbyid(caller), clock_timestamp())
	ON CONFLICT DO NOTHING;
	IF FOUND THEN
		is_moved := true;
		next_offset := given.to_offset;
		RETURN;
	END IF;
	SELECT o.role INTO STRICT keeper FROM twtasks.message_offset o
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition;
	IF pg_has_role(caller, to_regrole(quote_ident(keeper)), 'MEMBER') IS NOT TRUE THEN
		RAISE EXCEPTION 'listener "%" belongs to role "%"', given.listener, keeper
			USING ERRCODE = 'insufficient_privilege';
	END IF;
	UPDATE twtasks.message_offset o SET next_offset = given.to_offset, moved = clock_timestamp()
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	  AND o.next_offset = given.from_offset;
	is_moved := FOUND;
	SELECT o.next_offset INTO next_offset FROM twtasks.message_offset o
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition;
END $$;

/*
 * twtasks.take_messages(listener, topic, partition, from_offset, to_offset, tasks)
 *
 *		Stores the tasks of a run of messages and moves the listener's offset
 *		past them, both or neither.  Two consumers that believe that they own
 *		the same partition do no harm: one of them finds the offset elsewhere,
 *		and stores nothing.
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
 *
 * Returns
 *		where the listener must go on: to_offset.  Another offset: the partition
 *		did not stand at from_offset, and this call did nothing
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		a name, the partition or an offset is not valid
 *		42501		the listener belongs to another role
 *		as add_tasks(); nothing is stored then, and the offset stays
 *
 * Writes		twtasks.message_offset, twtasks.task, twtasks.unique_key
 * Locks		row lock of the partition, until the end of the transaction
 * Wakes		as add_tasks(twtasks.new_task[])
 * Example		SELECT twtasks.take_messages('billing', 'invoices', 0, 17, 18, ARRAY[ROW('BILL', '{"no": 4}', NULL, 'invoices-0-17', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::twtasks.new_task]);
 */
CREATE FUNCTION twtasks.take_messages(
	listener text,
	topic text,
	partition integer,
	from_offset bigint,
	to_offset bigint,
	tasks twtasks.new_task[])
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.take_messages_as_owner(given)
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
	moved record;
BEGIN
	PERFORM twtasks_internal.check_messages(given);
	moved := twtasks_internal.move_offset(given);
	IF moved.is_moved AND cardinality(given.tasks) > 0 THEN
		PERFORM twtasks.add_tasks(given.tasks);
	END IF;
	RETURN moved.next_offset;
END $$;
