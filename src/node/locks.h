/*-------------------------------------------------------------------------
 *
 * locks.h
 *		Locks between sessions, by a number.
 *
 *		from: slots.c, sql/cluster/nodes.sql, sql/cluster/recover_tasks.sql
 *
 * As advisory locks: one of a session stays when a transaction fails, and goes
 * with the session or with pg_advisory_unlock_all() in it.  But they are of a
 * kind that no function of PostgreSQL takes, so that others, whom nobody can
 * forbid advisory locks, keep none of ours.  In pg_locks their objsubid is
 * LOCKS_KIND.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LOCKS_H
#define TWT_LOCKS_H

#include "storage/lockdefs.h"

#define LOCKS_KIND 29815		/* 'tw'; PostgreSQL's own are 1 and 2 */

/* Whoever makes or drops names of limits: 'twsl' in the upper half. */
#define LOCKS_SLOTS (INT64CONST(0x7477736c) << 32)

/*
 * Takes it for the rest of the transaction.  False: another session has it,
 * which is not waited for.
 */
extern bool locks_try(int64 number, LOCKMODE mode);

/*
 * The lock that this session took last for as long as it lives, as that of its
 * node: whether it is there, and taking it again, unless another session has it
 * by now.
 */
extern bool locks_own_held(void);
extern void locks_own_restore(void);

#endif							/* TWT_LOCKS_H */
