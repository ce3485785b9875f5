/*-------------------------------------------------------------------------
 *
 * worker_main.h
 *		The frame of a bundled worker: lines in, lines out.
 *
 *		from: main.c of each worker			to: the worker's own part
 *
 * docs/handlers.md describes the worker protocol.  The first line has the
 * settings; a later hello replaces them.  When the pipe of a worker closes,
 * the sidecar judges the tasks that have no reply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_MAIN_H
#define TWT_WORKER_MAIN_H

#include "base/loop.h"
#include "base/task.h"
#include "workers/lib/worker_hello.h"

typedef struct WorkerProgram
{
	HelloProgram hello;

	/*
	 * The worker appends its replies to replies, not before the end of a
	 * turn.
	 */
	void	   *(*open) (Loop *loop, StringInfo replies);

	/* Takes settings, for tasks that start or end from now on. */
	void		(*set) (void *worker, void *settings);

	/* Takes a task, after settings; it may be started until start_by_us. */
	void		(*start) (void *worker, Task *task, int64 start_by_us);
	void		(*cancel) (void *worker, const char *id, int64 version, const char *why);

	/* Aborts the tasks that have no reply; NULL: nothing to free. */
	void		(*close) (void *worker);
} WorkerProgram;

/* Works until its input ends, or as its arguments say.  Returns the exit status. */
extern int	worker_main(const WorkerProgram *program, int argc, char **argv);

#endif							/* TWT_WORKER_MAIN_H */
