/*
 * twtasks_internal.lock_session(lock)
 *
 *		Takes one of our locks, and waits for it.
 *
 * Locks		the named one, until the session ends
 */
CREATE FUNCTION twtasks_internal.lock_session(lock bigint)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_lock_session';

/*
 * twtasks_internal.try_lock(lock, shared)
 *
 *		Takes one of our locks, unless another session has it.
 *
 * Returns
 *		whether it was taken
 *
 * Locks		the named one, for the rest of the transaction; does not wait
 */
CREATE FUNCTION twtasks_internal.try_lock(lock bigint, shared boolean DEFAULT false)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_try_lock';

/*
 * twtasks_internal.session_holds(lock)
 *
 *		Whether this session holds the lock. try_lock() would take a session's
 *		own lock again, as if it were free.
 */
CREATE FUNCTION twtasks_internal.session_holds(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_holds';

/*
 * twtasks_internal.session_is_idle(lock)
 *
 *		Whether the session that holds the lock is in no transaction, and so
 *		waits for its client.  The lock must not be our own.
 *
 * Returns
 *		boolean; true when nobody holds it
 */
CREATE FUNCTION twtasks_internal.session_is_idle(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_is_idle';

/*
 * twtasks_internal.node_lock(incarnation)
 *
 *		The number of the lock that a node's session holds. 0, which is no node,
 *		stands for the lock of a session that becomes the leader.
 *
 * Returns
 *		bigint: 'twno' in the upper half
 */
CREATE FUNCTION twtasks_internal.node_lock(incarnation bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
-- Without a search_path, so that the planner inlines it.
AS $$
	SELECT (x'74776e6f'::bigint OPERATOR(pg_catalog.<<) 32) OPERATOR(pg_catalog.|) (incarnation OPERATOR(pg_catalog.&) x'ffffffff'::bigint)
$$;

/*
 * twtasks_internal.slots_lock()
 *
 *		The number of the lock that a session holds while it makes or drops
 *		names of limits.
 */
CREATE FUNCTION twtasks_internal.slots_lock()
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_slots_lock';
