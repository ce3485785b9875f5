/*-------------------------------------------------------------------------
 *
 * execute.h
 *		Runs the handlers of grabbed tasks.
 *
 *		from: grab.h (execute_task)			to: finish.h
 *
 * Each handler has a runner of its kind.  A task is started on its handler's
 * runner and ends with one verdict; its slot is freed then, once.  A task whose
 * deadline passes is ended, with all that its handler has started.
 *
 * The runners of some kinds grab tasks themselves: execute_take() decides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_H
#define TWT_EXECUTE_H

#include "execute/handler.h"
#include "execute/runner.h"

typedef struct Execute Execute;

/* Copies the parts, and makes their gate. */
extern Execute *execute_open(const RunnerParts *parts);
extern void execute_add_handler(Execute *execute, Handler *handler);

/* After handler_reload() of all handlers. */
extern void execute_reload(Execute *execute);

/*
 * Hands the trigger and its booked slot to the handler's runner, if that grabs
 * its tasks itself.  False: the caller grabs the task.
 */
extern bool execute_take(Table *table, TableEntry *entry) MUSTCHECK;

/* Takes a grabbed task and its slot. */
extern void execute_task(Execute *execute, Task *task);

/* Lets runners send what they have collected; at the end of each turn. */
extern void execute_pump(Execute *execute);

/*
 * The server may have lost the grabs of what runs: a task that is grabbed again
 * runs on, and is not started a second time.
 */
extern void execute_doubt_all(Execute *execute);

/* Tasks whose outcome is not known yet. */
extern int	execute_running(const Execute *execute);

/*
 * A CancelFn, for an Execute.  Unless its handler reports it done the task ends
 * as cancelled.
 */
extern bool execute_cancel(void *execute, const CancelWish *wish);

/* The incarnation is gone: ends everything that runs; verdicts still come. */
extern void execute_gone(Execute *execute);

/* A drain begins: gives back what has not begun. */
extern void execute_drain(Execute *execute);

/*
 * The drain took too long: ends everything that runs, without verdicts, and
 * drops tasks that still come; their stuck rule applies.
 */
extern void execute_end(Execute *execute);
extern void execute_free(Execute *execute);

#endif							/* TWT_EXECUTE_H */
