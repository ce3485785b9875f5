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

#include "base/contract.h"

/* twtasks_internal.find_handler(): checks the function of that name and returns it. */
extern Datum twt_find_handler(PG_FUNCTION_ARGS) TWT_CHECKED(twt_find_handler);

/*
 * Calls a function that twt_find_handler() has found, as a role that the
 * caller may become, with a value of twtasks.task_input.  *isnull is true for
 * a void function, too.
 *
 * Afterwards the session is as it was: see confine.h.  Constraints are
 * immediate while the function runs, unless the function defers them; then
 * they are deferred until it ends.
 *
 * Errors: 0A000 for a statement whose effect would outlive the function, 57014
 * when the function went on after statement_timeout had cancelled it, and the
 * function's own.
 */
extern Datum execute_call(Oid function, NullableDatum role_name, Datum task, bool *isnull);

#endif							/* TWT_EXECUTE_H */
