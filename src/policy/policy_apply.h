/*-------------------------------------------------------------------------
 *
 * policy_apply.h
 *		Applies the policies of its type to a task that is added.
 *
 *		from: check.c		to: add.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POLICY_APPLY_H
#define TWT_POLICY_APPLY_H

#include "base/new_task.h"

/*
 * Lets the intercept function of the policy change the task.  Returns true if
 * there is one; then the task may have another type.  Fields that the caller
 * left out are null.  Raises the function's errors, and an error when the
 * function refuses the task, or changes a task of an extension in a way that
 * would mislead the extension.  Tasks that the function itself adds are not
 * intercepted.
 *
 * task->type must be set; the other fields need not be checked yet.
 */
extern bool policy_intercept(NewTask *task);

/*
 * Fills in bucket, priority and expires if add_task() was not given them.  A task
 * of an extension expires only as the extension says.
 * task->type must be set; the other fields need not be checked yet.
 */
extern void policy_apply(NewTask *task);

#endif							/* TWT_POLICY_APPLY_H */
