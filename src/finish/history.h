/*-------------------------------------------------------------------------
 *
 * history.h
 *		Finished tasks on their way into twtasks.finished_task.
 *
 *		from: finish.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HISTORY_H
#define TWT_HISTORY_H

#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "utils/jsonb.h"

typedef struct History History;

/* The end of a task: what it becomes, by whom and why. */
typedef struct Ending
{
	Oid			status;			/* a twtasks.task_status */
	NullableDatum incarnation;	/* null, as the token: a person finished it */
	NullableDatum token;
	text	   *message;		/* if its result is done; NULL: none */
	text	   *error;			/* if it ends otherwise; NULL: none */
} Ending;

/*
 * Opens the history at the partition of that time.  The locks on both stay until
 * the end of the transaction.
 */
extern History *history_open(TimestampTz at);

/*
 * Adds a row of twtasks.task that has ended; all its columns must be deformed.
 * outcome NULL: none is kept.
 */
extern void history_add(History *history, TupleTableSlot *task, const Ending *ending, Jsonb *outcome);

/* Lets statements see the added rows.  Triggers fire when the history is closed. */
extern void history_flush(History *history);

extern void history_close(History *history);

#endif							/* TWT_HISTORY_H */
