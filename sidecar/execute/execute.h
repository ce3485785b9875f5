/*-------------------------------------------------------------------------
 *
 * execute.h
 *		Runs the handlers of grabbed tasks.
 *
 *		from: grab.h (execute_task)			to: finish.h
 *
 * Each handler has a runner of its kind.  A task starts on its handler's
 * runner and ends with exactly one verdict, which frees its slot.  When its
 * deadline passes, the runner ends the task and all processes that it has
 * started.
 *
 * The runners of some kinds grab their tasks themselves: see execute_take().
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_H
#define TWT_EXECUTE_H

#include <jansson.h>

#include "execute/handler.h"
#include "execute/runner.h"

typedef struct Execute Execute;

/* Copies the parts, and sets their gate. */
extern Execute *execute_open(const RunnerParts *parts);
extern void execute_add_handler(Execute *execute, Handler *handler);

/*
 * Tells the runners of new settings.  Call handler_reload() for all handlers
 * first.
 */
extern void execute_reload(Execute *execute);

/*
 * If the handler's runner grabs its tasks itself, passes it the trigger with
 * its booked slot.  False: the caller has to grab the task.
 */
extern bool execute_take(Table *table, TableEntry *entry) MUSTCHECK;

/*
 * Takes over a grabbed task and its slot.  If the server lost the grab of a running
 * task and gives the task again, the run goes on and no second one starts.
 */
extern void execute_task(Execute *execute, Task *task);

/*
 * Lets runners send what they have collected.  Call it at the end of each
 * turn.
 */
extern void execute_pump(Execute *execute);

/* The number of tasks without a known outcome. */
extern int	execute_running(const Execute *execute);

/*
 * A CancelFn whose argument is an Execute.  The task ends as cancelled unless
 * its handler reports it done.
 */
extern bool execute_cancel(void *execute, const CancelRequest *request);

/* The incarnation is gone: ends all running tasks.  Their verdicts still come. */
extern void execute_gone(Execute *execute);

/* A drain begins: gives back tasks that wait. */
extern void execute_drain(Execute *execute);

/*
 * Why the program of that handler cannot be started now; NULL: no such trouble.
 * The argument is an Execute.
 */
extern const char *execute_trouble(void *execute, int handler);

/* Adds a text for each handler whose processes crash again and again: a FaultsAdd. */
extern void execute_add_crashes(void *execute, json_t *list);

/*
 * The drain took too long: ends all running tasks without verdicts, so their stuck
 * rule applies.  Tasks that cannot have begun are released, also those that still
 * arrive.
 */
extern void execute_end(Execute *execute);
extern void execute_free(Execute *execute);

#endif							/* TWT_EXECUTE_H */
