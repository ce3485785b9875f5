/*-------------------------------------------------------------------------
 *
 * judge.h
 *		What must hold in every run, whatever fails.
 *
 *	- a version of a task starts once, and again only if a crash of the server has
 *	  undone its grab, which only a task with the stuck rule "retry" allows;
 *	- no process runs a version twice at once;
 *	- no task is let start after its incarnation was declared gone, unless a clock was
 *	  set.  A task in the pipe of a worker may start later, until the lease is over;
 *	- no node runs more tasks than its configuration, its handlers and its limits allow;
 *	- no more tasks run in the cluster than a limit of it allows, of those that were
 *	  grabbed under this limit and not taken over;
 *	- the database accepts one outcome for a version, and one that its handler said;
 *	- a handler that ends its task in time decides its outcome, unless the faults are heavy;
 *	- no task is handed to a worker after the incarnation that grabbed it has ended, unless
 *	  a clock was set;
 *	- a node that lives starts what it has grabbed, unless the faults are heavy;
 *	- no task is lost: in the end each one has ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include "base/task.h"
#include "model.h"
#include "process.h"

extern void judge_begin(void);

/* From now on a task may start late, since a clock was set. */
extern void judge_excuse_late(void);

/* From now on the faults are light: each task that is grabbed starts before its deadline. */
extern void judge_expect_starts(void);

/* ---- handlers ---- */

/* given_us: when the sidecar let it start, by the world's clock. */
extern void judge_start(Process *process, const Row *row, int64 version, int64 given_us);
extern void judge_result(const Row *row, int64 version, TaskResult result);

/* It has said so as its protocol asks for, so the sidecar must hear it. */
extern void judge_expect(const Row *row, int64 version);

/* The sidecar has written the task for a worker, at that time of the world's clock. */
extern void judge_hand(const Process *process, const Row *row, int64 version, int64 given_us);

/* The sidecar ends the process of a worker that has the task, without a reason to be seen. */
extern void judge_end_worker(const Process *process, const Row *row, int64 version);

/* A function has run for the row, which its transaction has grabbed. */
extern void judge_effect(const Row *row, TaskResult result);

/* The handler has ended, or was ended. */
extern void judge_stop(Process *process, const Row *row, int64 version);

/* The process asks for a task, which will have that version. */
extern void judge_ask(const Process *process, const Row *row, int64 version);

/* ---- the database ---- */

extern void judge_accept(const Row *row, const char *result);

extern void judge_grab(const Row *row);

/* The deadline of the row has passed, and its node lives. */
extern void judge_overdue(const Row *row);

/* The incarnation has ended: no task of it may start from now on. */
extern void judge_gone(int64 incarnation);

/* Another one may start the task, while the node that had it may go on. */
extern void judge_take_over(const Row *row);

/* A crash undoes the grab of the row. */
extern void judge_undo(const Row *row);

#endif							/* SIM_JUDGE_H */
