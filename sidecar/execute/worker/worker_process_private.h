/*-------------------------------------------------------------------------
 *
 * worker_process_private.h
 *		The struct of a process, for the two files that work on it.
 *
 * Private to worker_process.c and worker_replies.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_PROCESS_PRIVATE_H
#define TWT_WORKER_PROCESS_PRIVATE_H

#include "helper/helper_output.h"
#include "helper/helper_start.h"
#include "execute/worker/worker_tasks.h"

/* A leaving process has closed a pipe: it gets no more tasks and should exit. */
typedef enum WorkerState
{
	WORKER_DOWN,
	WORKER_STARTING,			/* has not read its hello */
	WORKER_RUNNING,
	WORKER_LEAVING,
	WORKER_ENDING
} WorkerState;

struct WorkerProcess
{
	WorkerSetup *setup;
	WorkerState state;
	Child	   *child;			/* NULL when down */
	SpawnPipes	pipes;
	bool		is_ready;		/* the process accepted its hello */
	bool		has_replied;	/* with a word on a task: it works */
	bool		is_retiring;	/* gets no more tasks, and ends when idle */
	bool		has_ignored;	/* a line, and logged it */
	bool		has_refused;	/* its hello */
	char	   *reason;			/* why we end the process; NULL: it exits by
								 * itself */
	char	   *quote;			/* its faulty line, for the tasks only; or
								 * NULL */
	HelperStart start;
	WorkerTasks tasks;
	HelperOutput output;
	LoopTimer  *timer;			/* down: the restart; starting: the next look
								 * at its input; running: the first task that
								 * must have stopped; leaving: the time limit
								 * for its exit */
};

/* ---- worker_process.c ---- */

/* The process works, as far as we can tell: it may have tasks. */
extern void worker_process_begin_tasks(struct WorkerProcess *process);

/* Ends the process, which begins no further task.  The reason is for its tasks. */
extern void worker_process_end(struct WorkerProcess *process, const char *reason);

/* A task has ended: ends a process that is being replaced, or sets its timer. */
extern void worker_process_retire_idle(struct WorkerProcess *process);
extern void worker_process_watch_stops(struct WorkerProcess *process);

/* The process closed a pipe, so it should exit; the timer ends it otherwise. */
extern void worker_process_expect_exit(void *process);

/* ---- worker_replies.c ---- */

/* Their argument is the process. */
extern const HelperOutputEvents worker_replies;

#endif							/* TWT_WORKER_PROCESS_PRIVATE_H */
