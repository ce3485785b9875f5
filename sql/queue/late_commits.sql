/*
 * twtasks_internal.late_commits(buckets)
 *
 *		Names the buckets with a transaction that is about to commit tasks and may
 *		send no notification, since another one's is on its way.  Where twtasks is
 *		not preloaded, the caller listens, and after each notification calls this
 *		and then sweeps the table, until the bucket is not named.  From the first
 *		call until the session ends, transactions rely on that.
 *
 * Returns
 *		some of buckets; NULL: twtasks is preloaded, so every notification is sent
 *
 * Locks		the buckets, by locks for which no other session waits
 */
CREATE FUNCTION twtasks_internal.late_commits(buckets text[])
RETURNS text[]
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_late_commits';
