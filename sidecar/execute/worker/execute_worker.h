/*-------------------------------------------------------------------------
 *
 * execute_worker.h
 *		Long-lived processes as runners, for the kinds of handlers that use them.
 *
 *		from: execute_bundled.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_WORKER_H
#define TWT_EXECUTE_WORKER_H

#include "execute/runner.h"

extern Runner *worker_open(const RunnerParts *parts, const HandlerConfig *config,
						   RunnerDone done, void *done_arg);
extern void worker_start(Runner *runner, Task *task);
extern void worker_stop_task(Runner *runner, Task *task, const char *why);
extern void worker_cancel_task(Runner *runner, Task *task, const char *why);
extern void worker_close(Runner *runner);

/* A reload for processes that take settings while they work. */
extern void worker_greet(Runner *runner, const HandlerConfig *config);

#endif							/* TWT_EXECUTE_WORKER_H */
