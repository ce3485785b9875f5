/*-------------------------------------------------------------------------
 *
 * execute.h
 *		Runs the handlers of grabbed tasks.
 *
 *		from: grab.h (execute_task)			to: finish.h
 *
 * A task is started on its handler's runner and ends with one verdict; its
 * slot is freed then, once.  One whose deadline passes is ended, with all
 * that its handler has started.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_H
#define TWT_EXECUTE_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"
#include "execute/handler.h"
#include "execute/runner.h"
#include "finish/finish.h"

typedef struct Execute Execute;

/*
 * The gate is asked by runners in which tasks wait; it outlives all.  Each
 * handler gets a runner, but those in SQL, which have their own.
 */
extern Execute *execute_open(Loop *loop, const RunnerGate *gate,
							 Finish *finish);
extern void execute_add_handler(Execute *execute, Handler *handler);

/* After handler_reload(). */
extern void execute_reload(Handler *handler);
extern void execute_free(Execute *execute);

/* Lets workers run the code that there is now, one process after the other. */
extern void execute_replace_workers(Execute *execute);

/* Takes the task and its slot. */
extern void execute_task(Execute *execute, Task *task);

/* The server may have lost the grabs of what runs: a task that is grabbed
 * again runs on, and is not started a second time. */
extern void execute_doubt_all(Execute *execute);

/* Tasks whose verdict is not there yet. */
extern int	execute_running(const Execute *execute);

/*
 * An operator wants the task to end.  Unless its handler reports it done it
 * ends as cancelled.  False: it is not running.
 */
extern bool execute_cancel(Execute *execute, const uint8 *id, int64 version,
						   const char *why);

/* Ends everything that runs; verdicts still come. */
extern void execute_stop_all(Execute *execute, const char *why);

#endif							/* TWT_EXECUTE_H */
