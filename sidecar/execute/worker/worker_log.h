/*-------------------------------------------------------------------------
 *
 * worker_log.h
 *		What a worker process writes to stderr, line by line in our log.
 *
 * Bounded in both directions: a line is cut at 1 kB, and a process that
 * writes more than ten lines a second for long loses the rest; how many is
 * said with the next line that is let through.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_LOG_H
#define TWT_WORKER_LOG_H

#include "base/loop.h"

typedef struct WorkerLog WorkerLog;

/* name is who the lines are from, and stays the caller's. */
extern WorkerLog *worker_log_new(Loop *loop, const char *name);
extern void worker_log_free(WorkerLog *log);

/* Logs each line of these bytes; the unfinished last one waits. */
extern void worker_log_add(WorkerLog *log, int pid, const char *bytes,
						   size_t len);

/* The process is gone: its unfinished line is one. */
extern void worker_log_end(WorkerLog *log, int pid);

#endif							/* TWT_WORKER_LOG_H */
