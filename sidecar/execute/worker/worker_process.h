/*-------------------------------------------------------------------------
 *
 * worker_process.h
 *		One long-lived process of a worker handler, and its tasks in flight.
 *
 *		from: execute_worker.c		to: resident.h, flights.h, given_line.h, conduct.h, worker_input.h, worker_protocol.h
 *
 * The process is a resident: resident.h has its states, its start and its end.  It
 * gets its hello alone.  Tasks follow when it runs, so a program that is missing or
 * ends at once never has a task.  Tasks are collected and written at the end of the
 * turn.  Replies may come in any order.
 *
 * A task may start when its line is written.  No task line is written while the gate
 * is closed, or under a later incarnation than the task was given under.  While the
 * gate is shut, a process that has nothing but such lines is ended.
 *
 * We end a process that breaks the protocol, keeps a stopped task longer than
 * the grace, or closes a pipe and does not exit.  When a process is gone, its
 * tasks in flight fail; tasks that it cannot have begun are given back.  Complete
 * replies that came before an exit count.  Tasks that may have begun keep the end of
 * what the process has written to stderr since it had none in flight.  If we ended the process, its
 * verdicts come when its whole tree is gone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_PROCESS_H
#define TWT_WORKER_PROCESS_H

#include "execute/worker/worker_setup.h"

typedef struct WorkerProcess WorkerProcess;

extern WorkerProcess *worker_process_new(WorkerSetup *setup);

/*
 * Ends the process when its last task has ended, and starts it again.  Until
 * then it gets no task.  worker_process_starts() tells when it has started
 * again.
 */
extern void worker_process_retire(WorkerProcess *process);
extern int	worker_process_starts(const WorkerProcess *process);

/* Whether the process can take input. */
extern bool worker_process_is_up(const WorkerProcess *process);

/*
 * Asks the process to exit, by TERM and the end of its input.  Gives back the tasks
 * that it has not read.
 */
extern void worker_process_dismiss(WorkerProcess *process);

/*
 * Waits up to patience_ms for a dismissed process to exit, then kills it.
 * Tasks in flight go back to the caller.
 */
extern void worker_process_free(WorkerProcess *process, int patience_ms);

/*
 * Whether a line can be given now: fewer than config->prefetch have tasks in flight, and
 * not too many bytes wait to be written.
 */
extern bool worker_process_has_room(const WorkerProcess *process);
extern int	worker_process_load(const WorkerProcess *process);

/*
 * Gives the process a line of waiting tasks, which may start under this incarnation;
 * there must be room, and a task.  Takes them from the list, and sets task->run to the
 * process.
 */
extern void worker_process_give(WorkerProcess *process, dlist_head *waiting,
								int64 incarnation);

/*
 * Call it before giving tasks under an incarnation.  It ends a process that
 * has unwritten tasks of an earlier incarnation.
 */
extern void worker_process_begin(WorkerProcess *process, int64 incarnation);

/* Asks the process to stop a task in flight; ends the process if it does not. */
extern void worker_process_stop(WorkerProcess *process, Task *task,
								const char *why);

/* Asks the process to stop a task in flight; the process may ignore it. */
extern void worker_process_ask(WorkerProcess *process, Task *task,
							   const char *why);

/*
 * Sends the hello with the current settings.  Each new process gets it
 * automatically.
 */
extern void worker_process_greet(WorkerProcess *process);

/* Writes the collected lines, unless they have tasks that may not start now: see above. */
extern void worker_process_flush(WorkerProcess *process);

/*
 * Why the program cannot be started; NULL: it can.  is_unfit: unless that is for a
 * shortage.
 */
extern const char *worker_process_trouble(const WorkerProcess *process, bool is_unfit);

#endif							/* TWT_WORKER_PROCESS_H */
