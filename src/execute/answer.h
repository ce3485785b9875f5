/*-------------------------------------------------------------------------
 *
 * answer.h
 *		What a SQL handler answers about its tasks.
 *
 *		from: execute_tasks.c
 *
 * A function returns nothing, which means done; or a twtasks.task_result, which
 * counts for each of its tasks.  A function that takes an array of tasks may also
 * return an array of twtasks.task_answer, which has just one for each task.  Nobody
 * knows what a function has done with a task that it does not name, so that is an
 * error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ANSWER_H
#define TWT_ANSWER_H

#include "finish/finish_call.h"

/* Whether a function with that result can be a handler, of one task or of an array. */
extern bool answer_is_type(Oid type, bool is_batch);

/*
 * Reads the answer of a function with that result into the tries of its tasks.
 * Everything is copied.
 *
 * Errors: 22023 for a result that is none, and for an array that does not have each
 * task once
 */
extern void answer_read(Oid type, NullableDatum answer, Try **tries, int n);

#endif							/* TWT_ANSWER_H */
