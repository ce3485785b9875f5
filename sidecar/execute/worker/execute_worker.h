/*-------------------------------------------------------------------------
 *
 * execute_worker.h
 *		Runners with long-lived processes, for the kinds of handlers that use them.
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
extern const char *worker_trouble(const Runner *runner);
extern const char *worker_crashes(const Runner *runner);
extern void worker_give_back(Runner *runner);
extern void worker_close(Runner *runner);

/* The reload function for processes that accept settings while they run. */
extern void worker_greet(Runner *runner, const HandlerConfig *config);

#endif							/* TWT_EXECUTE_WORKER_H */
