/*
 * twtasks.begin_partition(listener, topic, partition, partitions, start, first)
 *
 *		Where a listener goes on in a partition.  A listener without an offset there
 *		begins, and its offset is stored.  It begins at start where the topic
 *		had the partition when the listener met the topic.  A partition that the topic
 *		got later begins at first, so no message there is skipped.
 *
 * Parameters
 *		listener	as take_messages()
 *		topic		as take_messages()
 *		partition	as take_messages()
 *		partitions	how many the topic has now
 *		start		where the listener begins in a topic that it meets
 *		first		offset of the first message that the topic still has
 *
 * Returns
 *		the offset to go on with
 *
 * Errors
 *		22004		a parameter is NULL
 *		22023		partitions is not above the partition
 *		as take_messages()
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition, until the end of the transaction
 * Example		SELECT twtasks.begin_partition('billing', 'invoices', 1, partitions => 2, start => 17, first => 0);
 */
CREATE FUNCTION twtasks.begin_partition(
	listener text, topic text, partition integer, partitions integer, start bigint, first bigint)
RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.begin_partition_as_owner(given record)
 *
 *		The work of begin_partition(), with its caller noted.
 */
CREATE FUNCTION twtasks_internal.begin_partition_as_owner(given record)
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	found := twtasks_internal.find_place(given.listener, given.topic, given.partition, given.partitions,
										 given.start, given.first, NULL);
	PERFORM twtasks_internal.check_problem(given.listener, given.topic, given.partition, found.problem);
	RETURN found.next_offset;
END $$;

/*
 * twtasks.place_partition(listener, topic, partition, partitions, start, first, topic_id)
 *
 *		As begin_partition(), for a consumer that asks for the problems of its
 *		partition.  A topic that was made anew stands still: its id has changed, or it
 *		has fewer partitions than a minute ago and no known id.
 *
 * Parameters
 *		listener	as begin_partition()
 *		topic		as begin_partition()
 *		partition	as begin_partition()
 *		partitions	as begin_partition()
 *		start		as begin_partition()
 *		first		as begin_partition()
 *		topic_id	of the brokers; NULL: not known
 *
 * Returns
 *		next_offset		the offset to go on with
 *		problem			why the listener stands still there; NULL: it does not
 *
 * Errors
 *		as begin_partition()
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition, until the end of the transaction; of all
 *				partitions of the topic, if it has fewer than before
 * Example		SELECT * FROM twtasks.place_partition('billing', 'invoices', 1, partitions => 2, start => 17, first => 0, topic_id => NULL);
 */
CREATE FUNCTION twtasks.place_partition(
	listener text, topic text, partition integer, partitions integer, start bigint, first bigint,
	topic_id text, OUT next_offset bigint, OUT problem text)
RETURNS record
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.place_partition_as_owner(given record)
 *
 *		The work of place_partition(), with its caller noted.
 */
CREATE FUNCTION twtasks_internal.place_partition_as_owner(
	given record, OUT next_offset bigint, OUT problem text)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	found := twtasks_internal.find_place(given.listener, given.topic, given.partition, given.partitions,
										 given.start, given.first, given.topic_id);
	next_offset := found.next_offset;
	problem := found.problem;
END $$;

/*
 * twtasks_internal.find_place(listener, topic, partition, partitions, start, first, topic_id)
 *
 *		Where a listener stands, and its problem.  A topic's partitions are numbered
 *		as they are added, so the least count that was stored tells which came later.
 *		Two consumers may begin in either order.
 */
CREATE FUNCTION twtasks_internal.find_place(
	listener text, topic text, partition integer, partitions integer, start bigint, first bigint,
	topic_id text, OUT next_offset bigint, OUT problem text)
RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT integer := (SELECT min(o.partitions) FROM twtasks.message_offset o
							   WHERE o.listener = find_place.listener AND o.topic = find_place.topic);
	begins CONSTANT bigint := CASE WHEN find_place.partition >= known THEN find_place.first
								   ELSE find_place.start END;
	stands twtasks.message_offset;
BEGIN
	IF num_nulls(find_place.partitions, find_place.first, find_place.start) > 0 THEN
		RAISE EXCEPTION 'partitions, start and first must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF find_place.partitions <= find_place.partition THEN
		RAISE EXCEPTION 'invalid number of partitions: %', find_place.partitions
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The partition is %s.', find_place.partition),
				HINT = 'Partitions are numbered from 0.';
	END IF;
	PERFORM twtasks_internal.check_takes(),
			twtasks_internal.check_place(find_place.listener, find_place.topic, find_place.partition);
	IF NOT EXISTS (SELECT FROM twtasks.message_offset o
				   WHERE o.listener = find_place.listener AND o.topic = find_place.topic
					 AND o.partition = find_place.partition) THEN
		PERFORM twtasks.take_messages(find_place.listener, find_place.topic, find_place.partition,
									  begins, begins, '{}'::twtasks.new_task[]);
	END IF;
	PERFORM twtasks_internal.note_fewer(find_place.listener, find_place.topic, find_place.partitions,
										find_place.topic_id);
	SELECT o.* INTO STRICT stands FROM twtasks.message_offset o
	WHERE o.listener = find_place.listener AND o.topic = find_place.topic
	  AND o.partition = find_place.partition
	FOR NO KEY UPDATE;
	PERFORM twtasks_internal.check_keeper(find_place.listener, stands.role);
	IF stands.problem IS NULL AND stands.topic_id <> find_place.topic_id THEN
		stands.problem := 'the topic was deleted and made anew';
		stands.problem_since := clock_timestamp();
	END IF;
	UPDATE twtasks.message_offset o
	SET partitions = coalesce(stands.partitions, find_place.partitions),
		topic_id = coalesce(stands.topic_id, find_place.topic_id),
		problem = stands.problem,
		problem_since = stands.problem_since,
		log_first = CASE WHEN stands.problem IS NOT NULL THEN first END
	WHERE o.listener = find_place.listener AND o.topic = find_place.topic
	  AND o.partition = find_place.partition
	  AND (o.partitions IS NULL OR o.topic_id IS NULL AND find_place.topic_id IS NOT NULL
		   OR stands.problem IS NOT NULL AND (o.problem IS NULL OR o.log_first IS DISTINCT FROM first));
	next_offset := stands.next_offset;
	problem := stands.problem;
END $$;

/*
 * twtasks_internal.note_fewer(listener, topic, partitions, topic_id)
 *
 *		A topic never loses partitions, so one that has fewer was made anew.  A broker
 *		may not have heard yet of partitions that were added a moment ago.  A broker
 *		that is cut off from the others never hears of them; the topic has its old id
 *		there.  The new count tells which partitions the new topic gets later.
 */
CREATE FUNCTION twtasks_internal.note_fewer(listener text, topic text, partitions integer, topic_id text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM twtasks.message_offset o
				   WHERE o.listener = note_fewer.listener AND o.topic = note_fewer.topic
					 AND o.partition >= note_fewer.partitions AND o.problem IS NULL
					 AND o.moved < (SELECT clock_timestamp()) - interval '1 minute'
					 AND (o.topic_id = note_fewer.topic_id) IS NOT TRUE) THEN
		RETURN;
	END IF;
	PERFORM FROM twtasks.message_offset o
	WHERE o.listener = note_fewer.listener AND o.topic = note_fewer.topic
	ORDER BY o.partition
	FOR NO KEY UPDATE;
	UPDATE twtasks.message_offset o
	SET problem = format('the topic has %s partitions, fewer than before: it was deleted and made anew',
						 note_fewer.partitions),
		problem_since = clock_timestamp(),
		partitions = least(o.partitions, note_fewer.partitions)
	WHERE o.listener = note_fewer.listener AND o.topic = note_fewer.topic AND o.problem IS NULL;
END $$;

/*
 * twtasks.stop_partition(listener, topic, partition, from_offset, first, problem)
 *
 *		Lets a listener stand still in a partition whose log does not have its offset:
 *		messages were deleted before they were read, or the topic was made anew.  Only
 *		reset_listener() lets it go on, so no message is skipped unseen when the log
 *		grows beyond the offset.  See twtasks.listeners and twtasks.warnings.
 *
 * Parameters
 *		listener	as take_messages()
 *		topic		as take_messages()
 *		partition	as take_messages()
 *		from_offset	where the listener stood before the brokers were asked
 *		first		offset of the first message that the topic has
 *		problem		what happened
 *
 * Returns
 *		the problem that is stored, which may be an older one; NULL: the listener has
 *		moved meanwhile, so ask again
 *
 * Errors
 *		22004		a parameter is NULL
 *		as take_messages()
 *
 * Writes		twtasks.message_offset
 * Locks		row lock of the partition, until the end of the transaction
 * Example		SELECT twtasks.stop_partition('billing', 'invoices', 1, 17, first => 0, problem => 'the topic ends at offset 4');
 */
CREATE FUNCTION twtasks.stop_partition(
	listener text, topic text, partition integer, from_offset bigint, first bigint, problem text)
RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_as_owner';

/*
 * twtasks_internal.stop_partition_as_owner(given record)
 *
 *		The work of stop_partition(), with its caller noted.
 */
CREATE FUNCTION twtasks_internal.stop_partition_as_owner(given record)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	stands twtasks.message_offset;
BEGIN
	IF num_nulls(given.from_offset, given.first, given.problem) > 0 THEN
		RAISE EXCEPTION 'from_offset, first and problem must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM twtasks_internal.check_takes(),
			twtasks_internal.check_place(given.listener, given.topic, given.partition);
	SELECT o.* INTO stands FROM twtasks.message_offset o
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	PERFORM twtasks_internal.check_keeper(given.listener, stands.role);
	IF stands.problem IS NOT NULL OR stands.next_offset <> given.from_offset THEN
		RETURN stands.problem;
	END IF;
	UPDATE twtasks.message_offset o
	SET problem = twtasks_internal.cut_message(given.problem), problem_since = clock_timestamp(),
		log_first = given.first
	WHERE o.listener = given.listener AND o.topic = given.topic AND o.partition = given.partition
	RETURNING o.problem INTO stands.problem;
	RETURN stands.problem;
END $$;
