/*-------------------------------------------------------------------------
 *
 * worker_tasks.h
 *		The tasks of one worker process, from their line to their verdict.
 *
 *		from: worker_process.h		to: worker_input.h, flights.h, execute.h (done)
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_TASKS_H
#define TWT_WORKER_TASKS_H

#include "execute/process/leftovers.h"
#include "execute/worker/flights.h"
#include "execute/worker/worker_input.h"
#include "execute/worker/worker_protocol.h"

/* Shared by the processes of one handler; outlives them. */
typedef struct WorkerSetup
{
	Loop	   *loop;
	const HandlerConfig *config;
	const RunnerGate *gate;
	Leftovers  *leftovers;
	RunnerDone	done;
	void	   *done_arg;
	char	   *said;			/* the last failure to start that was logged */
} WorkerSetup;

typedef struct WorkerTasks
{
	const WorkerSetup *setup;
	Flights    *flights;
	WorkerInput input;
} WorkerTasks;

/* The caller opens and closes the pipe. */
extern void worker_tasks_init(WorkerTasks *tasks, const WorkerSetup *setup, SpawnPipe *pipe);
extern void worker_tasks_clear(WorkerTasks *tasks);

/*
 * May a task be given now?  No more than config->prefetch are in flight, and
 * none is added while too much waits to be written.
 */
extern bool worker_tasks_have_room(const WorkerTasks *tasks);
extern int	worker_tasks_count(const WorkerTasks *tasks);

/* The line of the task waits for worker_input_flush(). */
extern void worker_tasks_give(WorkerTasks *tasks, Task *task, int64 incarnation);

/*
 * Asks the process to stop a task.  worker_tasks_stop() also notes when
 * patience ends; false: it did so before.
 */
extern void worker_tasks_ask(WorkerTasks *tasks, const Task *task, const char *why);
extern bool worker_tasks_stop(WorkerTasks *tasks, Task *task, const char *why);

typedef enum WorkerTasksReply
{
	WORKER_REPLY_STRAY,			/* for no task in flight */
	WORKER_REPLY_BEGUN,
	WORKER_REPLY_FINISHED		/* its verdict was reported */
} WorkerTasksReply;

extern WorkerTasksReply worker_tasks_reply(WorkerTasks *tasks, const WorkerReply *reply);

/* The process is to end: only what it still took up counts. */
extern void worker_tasks_last_reply(WorkerTasks *tasks, const WorkerReply *reply);

/*
 * No reply will come.  A task that was asked to stop fails with that reason, the
 * others with the message, of which the first nlogged bytes may be in the log.
 * A task that has not run is given back; returns how many.
 */
extern int	worker_tasks_fail(WorkerTasks *tasks, const char *message, int nlogged);

/* The same when the process has run none: all are given back. */
extern int	worker_tasks_give_back(WorkerTasks *tasks);

#endif							/* TWT_WORKER_TASKS_H */
