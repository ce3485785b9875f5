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

/*
 * twtasks_internal.find_handler(): checks the function of that name and returns it.  A
 * name that ends in "(twtasks.task_input[])" is a function that takes an array of tasks.
 */
extern Datum twt_find_handler(PG_FUNCTION_ARGS) TWT_CHECKED(twt_find_handler);

/* Whether a function that twt_find_handler() has found takes an array of tasks. */
extern bool execute_takes_batch(Oid function);

/*
 * Calls a function that twt_find_handler() has found, as a role that the
 * caller may become, with a value of twtasks.task_input, or an array of them if
 * is_batch.  Tasks that the function adds get the context of its task, and none for an
 * array.  The answer is null for a void function, too.
 *
 * Afterwards the session is as it was: see confine.h.  Constraints are
 * immediate while the function runs, unless the function defers them; then
 * they are deferred until it ends.
 *
 * Errors: 0A000 for a statement whose effect would outlive the function, 57014
 * when the function went on after statement_timeout had cancelled it, and the
 * function's own.
 */
extern NullableDatum execute_call(Oid function, NullableDatum role_name, Datum tasks, bool is_batch);

#endif							/* TWT_EXECUTE_H */
