/*-------------------------------------------------------------------------
 *
 * duties.h
 *		What nodes do for all: due tasks, schedules, gone nodes, history, figures.
 *
 *		from: node.h
 *		to: sql/queue/promote_tasks.sql, sql/schedule/run_schedules.sql, sql/cluster/recover_tasks.sql,
 *			sql/base/partitions.sql, sql/watch/monitor.sql
 *
 * The leader does each of them every now and then.  Any node does the first
 * three at once when it learns of a reason to; since every statement is guarded
 * by version and status, two nodes at the same time cost work and no more.
 * What reads much goes over a connection that is open only for that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DUTIES_H
#define TWT_DUTIES_H

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Duties Duties;

/* on_revived(arg): tasks run again that a gone node, or their deadline, left. */
extern Duties *duties_open(Loop *loop, const Config *config, Node *node,
						   LoopFn on_revived, void *arg);
extern void duties_free(Duties *duties);

/* A task or a schedule is due at that time (microseconds since 1970, by the database). */
extern void duties_due_at(Duties *duties, int64 unix_us);

/* A node may be gone. */
extern void duties_node_gone(Duties *duties);

/* This node leads, or no longer; or begins an incarnation. */
extern void duties_begin(Duties *duties);

/*
 * What a look at the database has shown: whether tasks are SUBMITTED or
 * PROCESSING, and when the next thing is due, in microseconds; -1: nothing.
 */
extern void duties_look(Duties *duties, bool has_work, int64 next_us);

/* Without word of ended sessions, gone nodes have to be looked for. */
extern void duties_set_watchful(Duties *duties, bool watchful);

extern void duties_stop(Duties *duties);

#endif							/* TWT_DUTIES_H */
