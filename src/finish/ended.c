/*-------------------------------------------------------------------------
 *
 * ended.c
 *		A task that has ended, as a value of twtasks.ended_task.
 *
 * ended_live() and ended_final() make these values of tasks that SQL ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/rows.h"
#include "finish/ended.h"
#include "node/clock.h"

/* Attributes that are columns of the task. */
static const struct
{
	EndedColumn to;
	TaskColumn	from;
}			carried[] = {
	{ENDED_ID, TASK_ID},
	{ENDED_TYPE, TASK_TYPE},
	{ENDED_SUB_TYPE, TASK_SUB_TYPE},
	{ENDED_BUCKET, TASK_BUCKET},
	{ENDED_KEY, TASK_KEY},
	{ENDED_TRIES, TASK_TRIES},
	{ENDED_DATA, TASK_DATA},
	{ENDED_CONTEXT, TASK_CONTEXT}
};

Datum
ended_done(TupleTableSlot *row, const Ending *ending, Jsonb *outcome)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(rows_type("ended_task"), -1);
	Datum		values[ENDED_COLUMNS];
	bool		nulls[ENDED_COLUMNS] = {[ENDED_ERROR] = true};
	Datum		task;

	for (size_t i = 0; i < lengthof(carried); i++)
	{
		values[carried[i].to] = row_value(row, carried[i].from);
		nulls[carried[i].to] = row_null(row, carried[i].from);
	}
	values[ENDED_VERSION] = Int64GetDatum(DatumGetInt64(row_value(row, TASK_VERSION)) + 1);
	values[ENDED_STATUS] = ObjectIdGetDatum(ending->status);
	values[ENDED_STATE_TIME] = TimestampTzGetDatum(twt_now());
	values[ENDED_MESSAGE] = PointerGetDatum(ending->message);
	nulls[ENDED_MESSAGE] = ending->message == NULL;
	values[ENDED_OUTCOME] = PointerGetDatum(outcome);
	nulls[ENDED_OUTCOME] = outcome == NULL;
	task = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	ReleaseTupleDesc(desc);
	return task;
}

Datum
ended_with_outcome(Datum task, Jsonb *outcome)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(task);
	TupleDesc	desc = lookup_rowtype_tupdesc(rows_type("ended_task"), -1);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum		values[ENDED_COLUMNS];
	bool		nulls[ENDED_COLUMNS];
	Datum		changed;

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, desc, values, nulls);
	values[ENDED_OUTCOME] = PointerGetDatum(outcome);
	nulls[ENDED_OUTCOME] = false;
	changed = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	ReleaseTupleDesc(desc);
	return changed;
}
