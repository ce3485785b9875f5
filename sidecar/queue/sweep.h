/*-------------------------------------------------------------------------
 *
 * sweep.h
 *		Looks at the table of tasks itself: the guarantee behind the triggers.
 *
 *		from: sql/queue/sweep_tasks.sql			to: table.h (table_push)
 *
 * We sweep a bucket when somebody asks for it (start, reconnect, lost
 * triggers), when a spilled type of it has come down, and every now and then.
 * A sweep changes nothing in the database: a task that it finds is a trigger
 * like any other.
 *
 * Each of several nodes sweeps a part, by a hash of the id, and the whole
 * every other time, since another node may have no handler for the tasks in
 * its part.
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

/* whole: not only this node's part. */
extern void sweep_want(Sweep *sweep, int bucket, bool whole);
extern void sweep_want_all(Sweep *sweep, bool whole);

/* Sends the looks that are wanted; call it at the end of each turn. */
extern void sweep_pump(Sweep *sweep);

/* A reload changed the figures. */
extern void sweep_reload(Sweep *sweep, const Config *config);

/* While no task is SUBMITTED or PROCESSING, we look only for a reason. */
extern void sweep_set_idle(Sweep *sweep, bool is_idle);

/* Ends all looks. */
extern void sweep_stop(Sweep *sweep);

#endif							/* TWT_SWEEP_H */
