/*-------------------------------------------------------------------------
 *
 * commit.h
 *		Triggers of the current transaction, from a change of its tasks to its commit.
 *
 *		from: src/add/store.c, src/finish/live.c, SQL			to: queue.h
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
 * Adds the type of a stored task to its trigger, and remembers that until the end
 * of this transaction.  If the transaction commits, the trigger is queued and a
 * sidecar of the bucket woken.  If the transaction or the current subtransaction
 * rolls back, the trigger is forgotten.  Ignores a bucket or type that no trigger
 * can name.
 *
 * Attaches the bucket's queue and allocates: may raise an error.
 */
extern void commit_remember_task(const char *bucket, const char *type, TaskTrigger *trigger);

/* Whether this transaction has triggers. */
extern bool commit_has_triggers(void);

#endif							/* TWT_COMMIT_H */
