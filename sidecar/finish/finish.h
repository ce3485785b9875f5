/*-------------------------------------------------------------------------
 *
 * finish.h
 *		Reports to the database what became of tasks.
 *
 *		from: execute.h			to: sql/run/finish_tasks.sql
 *
 * Outcomes are collected while the connection is busy and go in one
 * statement.  They survive a lost connection: they are sent again, and a
 * token tells whether the first call had been executed.  A finish that is
 * refused came too late; it is logged and counted, and changes nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_H
#define TWT_FINISH_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"
#include "node/node.h"

typedef struct Finish Finish;

extern Finish *finish_open(Loop *loop, const Config *config, Node *node);
extern void finish_free(Finish *finish);

/*
 * delay_us counts for TASK_RETRY and TASK_REPEAT.  Copies what it needs of
 * the task, and takes over the shared part of its slot.  result is any but
 * TASK_FAILURE.
 */
extern void finish_add(Finish *finish, const Task *task, TaskResult result,
					   int64 delay_us, const char *message);

/* An outcome will come: opens the session, which nobody has to wait for then. */
extern void finish_expect(Finish *finish);

/* Sends what has come together; at the end of each turn. */
extern void finish_pump(Finish *finish);

/* Outcomes not yet known to be stored. */
extern int	finish_pending(const Finish *finish);

/* The incarnation is gone: nothing of this is ours to report. */
extern void finish_forget(Finish *finish);

typedef struct FinishStats
{
	uint64		accepted;
	uint64		refused;
	uint64		statements;
} FinishStats;

extern void finish_stats(const Finish *finish, FinishStats *stats);

#endif							/* TWT_FINISH_H */
