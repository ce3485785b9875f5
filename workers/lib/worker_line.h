/*-------------------------------------------------------------------------
 *
 * worker_line.h
 *		The lines of a sidecar to a bundled worker, behind the hello.
 *
 *		from: main.c of each worker			to: the worker's own part
 *
 * docs/handlers.md describes the worker protocol.  When the pipe of a worker
 * closes, the sidecar judges the tasks that have no reply.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_LINE_H
#define TWT_WORKER_LINE_H

#include "base/task.h"

/* Replies go to helper_main_out(), not before the end of a turn. */
typedef struct WorkerActions
{
	/* Takes a task, which may be started until start_by_us. */
	void		(*start) (void *worker, Task *task, int64 start_by_us);
	void		(*cancel) (void *worker, const char *id, int64 version, const char *why);
} WorkerActions;

/* Ignores lines of unknown kinds, which a newer sidecar may send. */
extern void worker_line_take(const WorkerActions *actions, void *worker, const char *line);

#endif							/* TWT_WORKER_LINE_H */
