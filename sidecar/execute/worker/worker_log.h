/*-------------------------------------------------------------------------
 *
 * worker_log.h
 *		Copies the stderr of a worker process to our log, line by line.
 *
 * A line is cut at 1 kB.  If a process keeps writing more than ten lines a
 * second, the rest is dropped.  The next logged line says how many.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WORKER_LOG_H
#define TWT_WORKER_LOG_H

#include "base/loop.h"

typedef struct WorkerLog WorkerLog;

/* name is the source of the lines.  The caller keeps it. */
extern WorkerLog *worker_log_new(Loop *loop, const char *name);
extern void worker_log_free(WorkerLog *log);

/* Logs each complete line of these bytes, and keeps an unfinished last line. */
extern void worker_log_add(WorkerLog *log, int pid, const char *bytes,
						   size_t len);

/* The process is gone: logs its unfinished line. */
extern void worker_log_end(WorkerLog *log, int pid);

/* The last line of the process, without an end; *len is 0 if it wrote none. */
extern const char *worker_log_last(const WorkerLog *log, int *len);

/* Another process begins. */
extern void worker_log_begin(WorkerLog *log);

#endif							/* TWT_WORKER_LOG_H */
