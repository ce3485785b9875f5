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

#endif							/* TWT_CHECK_H */
