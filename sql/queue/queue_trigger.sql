/*
 * twtasks_internal.queue_trigger(id, version, bucket, type, priority, size, due)
 *
 *		Remembers a trigger and queues it when the current transaction commits.
 *		For functions of this extension; a trigger is only a hint.
 *
 * Parameters
 *		due			its time to run; NULL: now
 *
 * Wakes		after commit one sidecar of the bucket
 */
CREATE FUNCTION twtasks_internal.queue_trigger(
	id uuid, version bigint, bucket text, type text,
	priority smallint, size integer, due timestamptz)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_queue_trigger';
