/*
 * twtasks_internal.lock_session(lock)
 *
 *		Takes a lock of ours, and waits for it.
 *
 * Locks		that one, until the session ends
 */
CREATE FUNCTION twtasks_internal.lock_session(lock bigint)
RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_lock_session';

/*
 * twtasks_internal.try_lock(lock, shared)
 *
 *		Takes a lock of ours unless another session has it.
 *
 * Returns
 *		whether it was taken
 *
 * Locks		that one, for the rest of the transaction; not waited for
 */
CREATE FUNCTION twtasks_internal.try_lock(lock bigint, shared boolean DEFAULT false)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_try_lock';

/*
 * twtasks_internal.session_holds(lock)
 *
 *		Whether this session holds that lock of ours: one's own lock could
 *		otherwise be taken again, which would look as if it were free.
 *
 * Returns
 *		boolean
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.session_holds(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_holds';

/*
 * twtasks_internal.session_is_idle(lock)
 *
 *		Whether the session that holds that lock of ours, which is not this one,
 *		is in no transaction: it is not at work here, but waits for its client.
 *
 * Returns
 *		boolean; true when nobody holds it
 *
 * Locks		none
 */
CREATE FUNCTION twtasks_internal.session_is_idle(lock bigint)
RETURNS boolean
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'twt_session_is_idle';

/*
 * twtasks_internal.node_lock(incarnation)
 *
 *		The number of the lock that a node's session holds.  0 is no node's: of
 *		whoever begins to lead.
 *
 * Returns
 *		bigint: 'twno' in the upper half
 */
CREATE FUNCTION twtasks_internal.node_lock(incarnation bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT (x'74776e6f'::bigint << 32) | (incarnation & x'ffffffff'::bigint) $$;

/*
 * twtasks_internal.slots_lock()
 *
 *		The number of the lock of whoever makes or drops names of limits.
 *
 * Returns
 *		bigint
 */
CREATE FUNCTION twtasks_internal.slots_lock()
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'twt_slots_lock';
