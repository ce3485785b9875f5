/*
 * twtasks_internal.take_types(types)
 *
 *		From now on next_triggers() returns triggers of these types in this
 *		session.  Triggers of other types go to sessions that handle them, and
 *		if none does, to any session.  By default a session handles all types.
 *
 * Parameters
 *		types			types, or beginnings of types and a *
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.take_types(types text[])
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_take_types';

/*
 * twtasks_internal.lacks_queue(bucket)
 *
 *		Whether the bucket has no queue in shared memory, since other buckets
 *		use all twtasks.queues.
 */
CREATE FUNCTION twtasks_internal.lacks_queue(bucket text)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_lacks_queue';

/*
 * twtasks_internal.next_triggers(buckets, max_triggers, wait_ms, ...)
 *
 *		Takes triggers from the shared-memory queues, and waits for the first
 *		one.  The call holds no snapshot while it waits, so it never holds back
 *		vacuum.
 *
 * Parameters
 *		buckets			buckets to take from.  A bucket without a queue, since all
 *						twtasks.queues are in use, is skipped: LISTEN twtasks
 *						brings its triggers
 *		max_triggers	at most this many, 1 to 10000
 *		wait_ms			longest wait for the first, 0 to 600000
 *
 * Returns
 *		ids, versions, types, priorities, sizes, bucket_numbers
 *						one element per trigger; bucket_numbers has positions in
 *						buckets, from 1
 *		due				the earliest time to run among WAITING tasks added since the
 *						last call; NULL: none
 *		sweep			buckets whose queue lost triggers: sweep the table
 *		node_gone		the session of some node ended: call recover_tasks()
 *
 * Errors
 *		22004, 22023	a parameter is NULL or out of range
 *		25001			the call is inside a transaction block
 *		55000			twtasks was not preloaded: LISTEN twtasks instead
 *
 * Locks		none while waiting
 * Example		CALL twtasks_internal.next_triggers('{default}', 100, 30000,
 *					NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
 */
CREATE PROCEDURE twtasks_internal.next_triggers(
	buckets text[],
	max_triggers integer,
	wait_ms integer,
	OUT ids uuid[],
	OUT versions bigint[],
	OUT types text[],
	OUT priorities smallint[],
	OUT sizes integer[],
	OUT bucket_numbers integer[],
	OUT due timestamptz,
	OUT sweep text[],
	OUT node_gone boolean)
LANGUAGE c
AS 'MODULE_PATHNAME', 'twt_next_triggers';
