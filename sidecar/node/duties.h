/*-------------------------------------------------------------------------
 *
 * duties.h
 *		Periodic work that one node does for all nodes.
 *
 *		from: node.h
 *		to: sql/queue/promote_tasks.sql, sql/schedule/run_schedules.sql,
 *			sql/cluster/recover_tasks.sql, sql/cluster/run_duties.sql,
 *			sql/base/partitions.sql, sql/watch/monitor.sql
 *
 * The leader does each duty periodically: it promotes due tasks, runs schedules,
 * recovers tasks of gone nodes, runs duties of other extensions, expires tasks,
 * cleans history and updates statistics.  Any node does one of the first four at
 * once when it has a reason.  Every statement checks version and status, so two
 * nodes that do a duty at the same time only do needless work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DUTIES_H
#define TWT_DUTIES_H

#include "base/loop.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "node/node.h"

typedef struct Duties Duties;

/* Calls on_revived(arg) when recovered tasks of a gone node run again. */
extern Duties *duties_open(Loop *loop, const Config *config, Node *node,
						   LoopFn on_revived, void *arg);

/* Counts there the tasks that it recovers. */
extern void duties_measure(Duties *duties, Metrics *metrics);
extern void duties_free(Duties *duties);

/*
 * A task or a schedule is due at unix_us, in microseconds since 1970 by the
 * database's clock.  A time that has passed asks for duties of other extensions
 * too: such triggers come from ask_duties(), and promise no task.
 */
extern void duties_due_at(Duties *duties, int64 unix_us);

/* Calls fn(arg) after each count of the leader, which judges incidents too. */
extern void duties_on_judged(Duties *duties, LoopFn fn, void *arg);

/* A node may be gone. */
extern void duties_node_gone(Duties *duties);

/* A new incarnation or leadership begins, or the clock has jumped. */
extern void duties_begin(Duties *duties);

/*
 * Takes the result of a tick: whether tasks are SUBMITTED or PROCESSING, and
 * the microseconds until the next task or schedule is due; -1: none.
 */
extern void duties_look(Duties *duties, bool has_work, int64 next_us);

/*
 * Sets the queue.  With QUEUE_NOTIFY ended sessions are not reported, so the
 * leader looks for gone nodes more often.
 */
extern void duties_set_queue(Duties *duties, QueueKind queue);

extern void duties_stop(Duties *duties);

#endif							/* TWT_DUTIES_H */
