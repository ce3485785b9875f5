/*-------------------------------------------------------------------------
 *
 * ended.c
 *		A task that has ended, as a value of twtasks.ended_task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/timestamp.h"

#include "base/rows.h"
#include "finish/ended.h"

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
	{ENDED_CONTEXT, TASK_CONTEXT},
	{ENDED_STARTED, TASK_STATE_TIME}
};

static const ShapeColumn ended_columns[ENDED_COLUMNS] = {
	{"id", UUIDOID},
	{"version", INT8OID},
	{"type", TEXTOID},
	{"sub_type", TEXTOID},
	{"bucket", TEXTOID},
	{"key", TEXTOID},
	{"tries", INT4OID},
	{"status", .own_type = "task_status"},
	{"state_time", TIMESTAMPTZOID},
	{"error", TEXTOID},
	{"message", TEXTOID},
	{"data", JSONBOID},
	{"context", JSONBOID},
	{"outcome", JSONBOID},
	{"started", TIMESTAMPTZOID, .may_lack = true}
};

const Shape ended_shape = SHAPE("ended_task", ended_columns);

Datum
ended_row(TupleTableSlot *row, const Ending *ending, TimestampTz at, Jsonb *outcome)
{
	Datum		values[ENDED_COLUMNS];
	bool		nulls[ENDED_COLUMNS] = {false};

	for (size_t i = 0; i < lengthof(carried); i++)
	{
		values[carried[i].to] = row_value(row, carried[i].from);
		nulls[carried[i].to] = row_null(row, carried[i].from);
	}
	nulls[ENDED_STARTED] = DatumGetObjectId(row_value(row, TASK_STATUS)) != rows_label("task_status", "PROCESSING");
	values[ENDED_VERSION] = Int64GetDatum(DatumGetInt64(row_value(row, TASK_VERSION)) + 1);
	values[ENDED_STATUS] = ObjectIdGetDatum(ending->status);
	values[ENDED_STATE_TIME] = TimestampTzGetDatum(at);
	values[ENDED_ERROR] = PointerGetDatum(ending->error);
	nulls[ENDED_ERROR] = ending->error == NULL;
	values[ENDED_MESSAGE] = PointerGetDatum(ending->message);
	nulls[ENDED_MESSAGE] = ending->message == NULL;
	values[ENDED_OUTCOME] = PointerGetDatum(outcome);
	nulls[ENDED_OUTCOME] = outcome == NULL;
	return shape_form(&ended_shape, values, nulls);
}
