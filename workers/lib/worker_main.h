/*-------------------------------------------------------------------------
 *
 * worker_main.h
 *		The frame of a bundled worker: lines in, lines out.
 *
 *		from: main.c of each worker			to: the worker's own part
 *
 * The worker protocol stands in docs/handlers.md.  The first line has the
 * settings; a later hello replaces them.  The sidecar judges the tasks that have
 * no reply when its pipe closes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_MAIN_H
#define TWT_WORKER_MAIN_H

#include "base/loop.h"
#include "base/task.h"
#include "workers/lib/worker_fault.h"

typedef struct WorkerProgram
{
	const char *name;
	const char *usage;

	/* Reads the settings of a hello; NULL, with the fault. */
	void	   *(*settings_new) (const char *hello, WorkerFault *fault);
	void		(*settings_free) (void *settings);

	/* The worker appends lines of reply to replies, not before a turn's end. */
	void	   *(*open) (Loop *loop, StringInfo replies);

	/* Takes settings, for tasks that start or end from now on. */
	void		(*set) (void *worker, void *settings);

	/* Takes a task, after settings; it may be started until then. */
	void		(*start) (void *worker, Task *task, int64 start_by_us);
	void		(*cancel) (void *worker, const char *id, int64 version, const char *why);

	/* Breaks off the tasks that have no reply; NULL: nothing to free. */
	void		(*close) (void *worker);
} WorkerProgram;

/*
 * Works until its input ends.  With --check it answers each hello of its input:
 * the sidecar looks at a configuration with it.  Returns the exit status.
 */
extern int	worker_main(const WorkerProgram *program, int argc, char **argv);

#endif							/* TWT_WORKER_MAIN_H */
