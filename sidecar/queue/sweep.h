/*-------------------------------------------------------------------------
 *
 * sweep.h
 *		Looks at the table of tasks itself: the guarantee behind the triggers.
 *
 *		from: sql/queue/sweep_tasks.sql		to: table.h (table_push)
 *
 * We sweep a bucket when somebody asks for it (start, reconnect, lost
 * triggers), when a spilled type of it has come down, and periodically.  A
 * sweep changes nothing in the database: a task that it finds is a trigger
 * like any other.
 *
 * Each of several nodes sweeps a part, by a hash of the id, and the whole
 * every other time.  Another node may have no handler for the tasks in its
 * part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SWEEP_H
#define TWT_SWEEP_H

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"
#include "node/policies.h"
#include "table/table.h"

typedef struct Sweep Sweep;

/* tables: one per bucket of the configuration. */
extern Sweep *sweep_open(Loop *loop, const Config *config, Node *node,
						 Policies *policies, Table **tables);
extern void sweep_free(Sweep *sweep);

/* Looks at the whole bucket soon, or at all buckets; the latter takes the Sweep. */
extern void sweep_want(Sweep *sweep, int bucket);
extern void sweep_want_all(void *sweep);

/* Sends the looks that are wanted; call it at the end of each turn. */
extern void sweep_pump(Sweep *sweep);

/* A reload changed the figures. */
extern void sweep_reload(Sweep *sweep, const Config *config);

/* While no task is SUBMITTED or PROCESSING, there are no routine looks. */
extern void sweep_set_idle(Sweep *sweep, bool is_idle);

/* Ends all looks. */
extern void sweep_stop(Sweep *sweep);

#endif							/* TWT_SWEEP_H */
