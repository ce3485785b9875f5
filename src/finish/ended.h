/*-------------------------------------------------------------------------
 *
 * ended.h
 *		A task that has ended, as a value of twtasks.ended_task.
 *
 *		from: finish.c		to: on_end.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ENDED_H
#define TWT_ENDED_H

#include "executor/tuptable.h"
#include "utils/jsonb.h"

#include "base/shape.h"
#include "finish/history.h"

/* Attributes of twtasks.ended_task, from 0. */
typedef enum EndedColumn
{
	ENDED_ID,
	ENDED_VERSION,
	ENDED_TYPE,
	ENDED_SUB_TYPE,
	ENDED_BUCKET,
	ENDED_KEY,
	ENDED_TRIES,
	ENDED_STATUS,
	ENDED_STATE_TIME,
	ENDED_ERROR,
	ENDED_MESSAGE,
	ENDED_DATA,
	ENDED_CONTEXT,
	ENDED_OUTCOME,
	ENDED_STARTED,
	ENDED_COLUMNS
} EndedColumn;

extern const Shape ended_shape;

/*
 * The value for a row of twtasks.task, as it was before it ended, or became ERROR, at
 * that time; outcome NULL: none.
 */
extern Datum ended_row(TupleTableSlot *row, const Ending *ending, TimestampTz at, Jsonb *outcome);

#endif							/* TWT_ENDED_H */
