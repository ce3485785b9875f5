/*-------------------------------------------------------------------------
 *
 * commit.h
 *		Triggers of the current transaction, from add_task() to its commit.
 *
 *		from: store.c			to: queue.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_COMMIT_H
#define TWT_COMMIT_H

#include "common/trigger.h"

/* Above this many triggers a transaction only says "bucket B has news". */
#define COMMIT_MAX_TRIGGERS 1024

/* Registers the transaction callbacks; once per process, from _PG_init(). */
extern void commit_init(void);

/*
 * Remembers a trigger until the end of this transaction.  If the transaction
 * commits, the trigger is queued and a sidecar of the bucket woken.  If the
 * transaction or the current subtransaction rolls back, the trigger is
 * forgotten.
 *
 * Attaches the bucket's queue and allocates: may raise an error.
 */
extern void commit_remember(const char *bucket, const TaskTrigger *trigger);

/*
 * The same for a stored task; adds its type to the trigger.  Ignores a bucket or
 * type that no trigger can name.
 */
extern void commit_remember_task(const char *bucket, const char *type, TaskTrigger *trigger);

/* Whether this transaction has triggers. */
extern bool commit_has_triggers(void);

#endif							/* TWT_COMMIT_H */
