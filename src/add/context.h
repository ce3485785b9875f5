/*-------------------------------------------------------------------------
 *
 * context.h
 *		The context that tasks carry from add to handler: twtasks.context.
 *
 *		to: check.c, execute.c
 *
 * An application says once per transaction or session what it is working on:
 * a request id, a W3C traceparent.  Every task that is added then carries
 * that along, and while a SQL handler runs, what its own task carries is the
 * setting: so tasks that tasks add belong to the same request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONTEXT_H
#define TWT_CONTEXT_H

#include "base/new_task.h"

/* Defines the setting; from _PG_init(). */
extern void context_init(void);

/*
 * Puts the setting under what the task was given: on a name that is in both
 * the task's own value wins.  A context that is no object stays as it is.
 */
extern void context_merge(NewTask *task);

/*
 * Sets the setting to what a task carries, until the caller's level of
 * settings ends; nothing, unless that is an object.
 */
extern void context_enter(Datum context, bool isnull);

#endif							/* TWT_CONTEXT_H */
