/*-------------------------------------------------------------------------
 *
 * sweep.h
 *		Looks at the table of tasks, so that no lost trigger loses a task.
 *
 *		from: sql/queue/sweep_tasks.sql		to: table.h (table_push)
 *
 * A bucket is swept at the start, after a reconnect or lost triggers, when the
 * table has room again for a spilled type, and periodically.  A sweep changes
 * nothing in the database: a task that it finds becomes a trigger like any
 * other.
 *
 * With several nodes, each node sweeps its share, by a hash of the id, and all
 * rows every second time: another node may have no handler for tasks in its
 * share.
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

/*
 * Looks soon at one bucket, or at all; sweep_want_all() has the Sweep as its
 * argument.
 */
extern void sweep_want(Sweep *sweep, int bucket);

/*
 * Looks for the tasks of transactions that have just committed.  Such looks take
 * only a part of the time, so that a backlog does not make them expensive.
 */
extern void sweep_want_news(Sweep *sweep, int bucket);
extern void sweep_want_all(void *sweep);

/* Sends the wanted looks.  Call it at the end of each turn. */
extern void sweep_pump(Sweep *sweep);

/* Applies a new configuration. */
extern void sweep_reload(Sweep *sweep, const Config *config);

/*
 * is_idle: no task is SUBMITTED or PROCESSING, so there are no routine looks.  When
 * there is work again, all rows are looked at, since its triggers may be lost.
 */
extern void sweep_set_idle(Sweep *sweep, bool is_idle);

/* Sends no more looks. */
extern void sweep_stop(Sweep *sweep);

#endif							/* TWT_SWEEP_H */
