/*-------------------------------------------------------------------------
 *
 * worker_process.h
 *		One long-lived process of a worker handler, and its tasks in flight.
 *
 *		from: execute_worker.c		to: spawn.h, worker_protocol.h
 *
 * The process is started at once, and again whenever it is gone
 * (worker_start.h).  Its tasks are collected and written at the end of the turn;
 * its replies are taken in any order.
 *
 * A process that breaks the protocol, keeps a cancelled task longer than the
 * grace, or closes its pipes and stays, is ended.  Then and whenever it exits, its
 * tasks in flight fail, but those that it cannot have begun: they are given
 * back.  Replies that were complete before an exit count.
 * Verdicts of a process that was ended come when its whole tree is gone.
 *
 *	 state		tasks in flight		takes tasks		what ends it
 *	 down		none				no				its restart timer
 *	 running	yes					yes				exit, or a fault: ending
 *	 ending		yes					no				exit and the tree gone: down
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_PROCESS_H
#define TWT_WORKER_PROCESS_H

#include "execute/worker/worker_tasks.h"

typedef struct WorkerProcess WorkerProcess;

extern WorkerProcess *worker_process_new(WorkerSetup *setup);

/*
 * Ends the process when it has no task any more, and starts it again: it takes
 * none until then.  The number of starts so far tells when that has happened.
 */
extern void worker_process_retire(WorkerProcess *process);
extern int	worker_process_starts(const WorkerProcess *process);
extern bool worker_process_runs(const WorkerProcess *process);

/* Asks the process to go, by TERM and the end of its input. */
extern void worker_process_dismiss(WorkerProcess *process);

/*
 * Waits so long for a dismissed process to go, then kills it.  Tasks in flight
 * are the caller's again.
 */
extern void worker_process_free(WorkerProcess *process, int patience_ms);

/* May it be given a task now? */
extern bool worker_process_has_room(const WorkerProcess *process);
extern int	worker_process_load(const WorkerProcess *process);

/*
 * Takes a task that may be started under this incarnation; there must be room.
 * Sets task->run to the process.
 */
extern void worker_process_give(WorkerProcess *process, Task *task,
								int64 incarnation);

/*
 * The caller calls this before it gives tasks under an incarnation: a process
 * that still has tasks of an earlier one to be written is ended.
 */
extern void worker_process_begin(WorkerProcess *process, int64 incarnation);

/* Asks the process to stop a task in flight; ends it if it does not. */
extern void worker_process_stop(WorkerProcess *process, Task *task,
								const char *why);

/* Asks the process to stop a task in flight, which it may ignore. */
extern void worker_process_ask(WorkerProcess *process, Task *task,
							   const char *why);

/* Says hello, with the settings of now; a process that starts is greeted by itself. */
extern void worker_process_greet(WorkerProcess *process);

/* Writes what was collected; no task that may not be started now. */
extern void worker_process_flush(WorkerProcess *process);

/* Why its program could not be executed the last time; NULL: it could. */
extern const char *worker_process_trouble(const WorkerProcess *process);

/* Whether that is since its program is not there. */
extern bool worker_process_is_unfit(const WorkerProcess *process);

#endif							/* TWT_WORKER_PROCESS_H */
