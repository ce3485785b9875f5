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

typedef struct History History;

/* How a task ended, which is well: others end by statements of SQL. */
typedef struct Ending
{
	Oid			status;			/* of type twtasks.task_status */
	bool		has_incarnation;	/* and a token; else a person */
	int64		incarnation;
	int64		token;
	text	   *message;		/* NULL: none */
} Ending;

/* Opens the partition of that time; its lock and that of the whole stay until
 * the end of the transaction. */
extern History *history_open(TimestampTz at);

/* Adds a row of twtasks.task, with all its columns at hand. */
extern void history_add(History *history, TupleTableSlot *task, const Ending *ending);

extern void history_close(History *history);

#endif							/* TWT_HISTORY_H */
