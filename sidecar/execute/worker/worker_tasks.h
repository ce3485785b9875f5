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

#include "execute/process/spawn.h"
#include "execute/worker/flights.h"
#include "execute/worker/worker_input.h"
#include "protocol/worker_protocol.h"

/* The processes of one handler share it; it outlives them. */
typedef struct WorkerSetup
{
	Loop	   *loop;
	const HandlerConfig *config;
	const RunnerGate *gate;
	RunnerDone	done;
	void	   *done_arg;
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
 * Whether a task can be given now: fewer than config->prefetch are in flight,
 * and not too many bytes wait to be written.
 */
extern bool worker_tasks_have_room(const WorkerTasks *tasks);
extern int	worker_tasks_count(const WorkerTasks *tasks);

/* Adds the line of the task, which worker_input_flush() writes. */
extern void worker_tasks_give(WorkerTasks *tasks, Task *task, int64 incarnation);

/*
 * Ask the process to stop a task.  worker_tasks_stop() also notes by when it
 * must have stopped; false: it was already asked.
 */
extern void worker_tasks_ask(WorkerTasks *tasks, const Task *task, const char *why);
extern bool worker_tasks_stop(WorkerTasks *tasks, Task *task, const char *why);

typedef enum WorkerTasksReply
{
	WORKER_REPLY_STRAY,			/* names no task in flight */
	WORKER_REPLY_BEGUN,
	WORKER_REPLY_FINISHED		/* the verdict of the task was reported */
} WorkerTasksReply;

extern WorkerTasksReply worker_tasks_reply(WorkerTasks *tasks, const WorkerReply *reply);

/* The process is being ended: only its reports of tasks taken up still count. */
extern void worker_tasks_last_reply(WorkerTasks *tasks, const WorkerReply *reply);

/*
 * No more replies will come.  A task that was asked to stop fails with the
 * reason of the stop, also if the process left it in the pipe until then.  Other
 * tasks fail with the message, whose first nlogged bytes may be logged.  Tasks that
 * have not run are given back; returns their number.
 */
extern int	worker_tasks_fail(WorkerTasks *tasks, const char *message, int nlogged);

/* Gives back the tasks that the process cannot have seen, and keeps the others. */
extern void worker_tasks_give_back(WorkerTasks *tasks);

#endif							/* TWT_WORKER_TASKS_H */
