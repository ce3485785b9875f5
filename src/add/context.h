/*-------------------------------------------------------------------------
 *
 * context.h
 *		The context that tasks carry from add to handler: twtasks.context.
 *
 *		to: check.c, execute.c
 *
 * An application sets the context of its work once per transaction or session:
 * a request id, a W3C traceparent.  Every task added then carries that
 * context.  While a SQL handler runs, the setting is the context of its task,
 * so tasks that the handler adds belong to the same request.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CONTEXT_H
#define TWT_CONTEXT_H

#include "base/new_task.h"

/* Defines the setting; from _PG_init(). */
extern void context_init(void);

/*
 * Merges the setting into the task's context.  The task's own value wins where
 * both have a name.  A context that is not an object stays as it is.
 */
extern void context_merge(NewTask *task);

/*
 * Sets the setting to the task's context, until the caller's level of settings
 * ends.  Does nothing if the context is not an object.
 */
extern void context_enter(Datum context, bool isnull);

#endif							/* TWT_CONTEXT_H */
