/*-------------------------------------------------------------------------
 *
 * context.h
 *		The context that tasks carry from add to handler: twtasks.context.
 *
 *		from: settings.c		to: check.c, execute.c
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

#include "utils/guc.h"

#include "add/check.h"

/* The check of the setting: empty, or the text of a JSON object. */
extern bool context_check(char **value, void **extra, GucSource source);

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
