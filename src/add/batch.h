/*-------------------------------------------------------------------------
 *
 * batch.h
 *		Many tasks, checked and stored together.
 *
 *		from: add.c, successors.c			to: check.h, store.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BATCH_H
#define TWT_BATCH_H

#include "add/store.h"

typedef struct Batch
{
	const char *call;			/* named in errors */
	NewTask    *tasks;
	int			n;
	int			number;			/* the current task's, from 1; 0: none */
	int			patience_ms;	/* see store_begin(); 0: functions of policies
								 * have no time limit either */
	bool		is_given;		/* by a caller or a handler, in whose name our
								 * own code adds the tasks */
	ErrorContextCallback context;
} Batch;

/* Errors in between name the current task. */
extern void batch_enter(Batch *batch);
extern void batch_leave(Batch *batch);

extern void batch_make(Batch *batch, int n);

/* Raises the errors of add_task(). */
extern void batch_check(Batch *batch, const char *role);

/*
 * Stores checked tasks, and returns the results in the order of the tasks.  All
 * are checked before, since a policy function may set the key.
 */
extern AddedTask *batch_store(Batch *batch, const char *role);

#endif							/* TWT_BATCH_H */
