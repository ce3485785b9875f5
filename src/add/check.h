/*-------------------------------------------------------------------------
 *
 * check.h
 *		Checks the arguments of add_task().
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHECK_H
#define TWT_CHECK_H

#include "base/new_task.h"

/*
 * Raises an error that names the argument, its value and what it must be.
 * Fills in null arguments that have a default, from the policies of the type.
 */
extern void check_new_task(NewTask *task);

/*
 * The same for a task that another system has kept until now: the context of the
 * session and functions of policies leave it alone, its type may be unknown, and
 * it never expires.
 */
extern void check_kept_task(NewTask *task);

#endif							/* TWT_CHECK_H */
