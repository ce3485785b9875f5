/*-------------------------------------------------------------------------
 *
 * policy_apply.h
 *		What the policies of its type make of a task that is added.
 *
 *		from: check.c		to: add.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_APPLY_H
#define TWT_POLICY_APPLY_H

#include "base/new_task.h"

/*
 * Lets the function of its policy change the task; what the caller has left
 * out is null then.  True: it did, and its type may be another.  Raises what
 * the function raises, and an error when it refuses the task.  Tasks that the
 * function itself adds are not intercepted.
 *
 * task->type is set; the rest is not yet checked.
 */
extern bool policy_intercept(NewTask *task);

/*
 * Fills in what add_task() was not given: bucket, priority and expires.
 * task->type is set; the rest is not yet checked.
 */
extern void policy_apply(NewTask *task);

#endif							/* TWT_POLICY_APPLY_H */
