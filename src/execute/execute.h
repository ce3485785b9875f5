/*-------------------------------------------------------------------------
 *
 * execute.h
 *		Calls a task's handler that is a SQL function.
 *
 *		from: execute_tasks.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_H
#define TWT_EXECUTE_H

#include "fmgr.h"

/* twtasks.find_handler(): the function of that name, checked. */
extern Datum twt_find_handler(PG_FUNCTION_ARGS);

/*
 * Calls a function that twt_find_handler() has found, as a role that the caller
 * may become, with a value of twtasks.task_input.  *isnull is true for a void
 * function, too.
 *
 * Afterwards the session is as it was: see confine.h.  Constraints are
 * immediate while it runs, unless it defers them, and then until it ends.
 *
 * Errors: 0A000 when it tries what would outlive it, 57014 when it went on after
 * statement_timeout had cancelled it, and whatever it raises.
 */
extern Datum execute_call(Oid function, NullableDatum role_name, Datum task, bool *isnull);

#endif							/* TWT_EXECUTE_H */
