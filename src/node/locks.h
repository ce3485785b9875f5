/*-------------------------------------------------------------------------
 *
 * locks.h
 *		Locks between sessions, by a number.
 *
 *		from: slots.c, sql/cluster/nodes.sql, sql/cluster/recover_tasks.sql
 *
 * They behave like advisory locks: a session's lock survives a failed
 * transaction, and goes with the session or with pg_advisory_unlock_all() in
 * it.  Any user may take advisory locks, but no function of PostgreSQL takes
 * locks of this kind.  So no other user can hold such a lock.  In pg_locks
 * their objsubid is LOCKS_KIND.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOCKS_H
#define TWT_LOCKS_H

#include "storage/lockdefs.h"

#define LOCKS_KIND 29815		/* 'tw'; PostgreSQL's own kinds are 1 and 2 */

/* Held while names of limits are made or dropped: 'twsl' in the upper half. */
#define LOCKS_SLOTS (INT64CONST(0x7477736c) << 32)

/* Held by the session of a node: see node_lock() in sql/base/locks.sql. */
#define LOCKS_NODE(incarnation) \
	((INT64CONST(0x74776e6f) << 32) | ((incarnation) & INT64CONST(0xffffffff)))

/* Whether some session has the lock for itself at this moment. */
extern bool locks_held(int64 number);

/*
 * Takes the lock for the rest of the transaction.  False: another session has
 * it; we do not wait.
 */
extern bool locks_try(int64 number, LOCKMODE mode);

/*
 * These functions are about the lock that this session last took for its whole
 * life, such as its node's lock.  locks_own_held() says whether the session
 * still has that lock.  locks_own_restore() takes it again, unless another
 * session has it by now.
 */
extern bool locks_own_held(void);
extern void locks_own_restore(void);

#endif							/* TWT_LOCKS_H */
