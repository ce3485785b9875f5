/*-------------------------------------------------------------------------
 *
 * grab.h
 *		SUBMITTED -> PROCESSING, for a caller that names the version.
 *
 *		to: execute_tasks.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GRAB_H
#define TWT_GRAB_H

#include "fmgr.h"
#include "storage/itemptr.h"
#include "utils/timestamp.h"

/* The grab was an earlier one, so nobody knows since when the task could run. */
#define RUNNABLE_UNKNOWN DT_NOBEGIN

/*
 * Receives a task that was won, in the order of type twtasks.task_input, the
 * place of its row, and since when it could run.  The values are valid during the
 * call.  at is NULL for a task that a limit refused, see grab_tasks().
 */
typedef void (*GrabbedFn) (void *arg, Datum *values, bool *nulls, ItemPointer at, TimestampTz runnable);

/*
 * Grabs the tasks that the arguments from the first on name, as grab_tasks()
 * takes them.  Returns true if it won some tasks, and the stuck rule of all of
 * them is retry.
 */
extern bool grab_all(FunctionCallInfo fcinfo, int first, GrabbedFn fn, void *arg);

/*
 * Hands over the tasks that an earlier grab with the same arguments won.  If
 * its node has ended since, there are none: the slots of these tasks are free
 * for other nodes.
 */
extern void grabbed_all(FunctionCallInfo fcinfo, int first, GrabbedFn fn, void *arg);

#endif							/* TWT_GRAB_H */
