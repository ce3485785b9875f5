/*-------------------------------------------------------------------------
 *
 * history.c
 *		Finished tasks on their way into twtasks.finished_task.
 *
 *		from: finish.c
 *
 * All rows of a call have the same time.  So they go to one partition, which we
 * look up once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "base/parts.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/target.h"
#include "finish/history.h"

/* Columns of twtasks.finished_task, as schema.sql declares them. */
typedef enum FinishedColumn
{
	FINISHED_ID,
	FINISHED_VERSION,
	FINISHED_STATE_TIME,
	FINISHED_CREATED,
	FINISHED_INCARNATION,
	FINISHED_TOKEN,
	FINISHED_STATUS,
	FINISHED_TRIES,
	FINISHED_PRIORITY,
	FINISHED_TYPE,
	FINISHED_SUB_TYPE,
	FINISHED_BUCKET,
	FINISHED_KEY,
	FINISHED_ERROR,
	FINISHED_DATA,
	FINISHED_PAYLOAD,
	FINISHED_CONTEXT,
	FINISHED_ADDED_BY,
	FINISHED_MESSAGE,
	FINISHED_STARTED,
	FINISHED_OUTCOME,
	FINISHED_COLUMNS
} FinishedColumn;

static const ShapeColumn finished_columns[FINISHED_COLUMNS] = {
	{"id", UUIDOID},
	{"version", INT8OID},
	{"state_time", TIMESTAMPTZOID},
	{"created", TIMESTAMPTZOID},
	{"incarnation", INT8OID, .is_optional = true},
	{"token", INT8OID, .is_optional = true},
	{"status", .own_type = "task_status"},
	{"tries", INT4OID},
	{"priority", INT2OID},
	{"type", TEXTOID},
	{"sub_type", TEXTOID, .is_optional = true},
	{"bucket", TEXTOID},
	{"key", TEXTOID, .is_optional = true},
	{"error", TEXTOID, .is_optional = true},
	{"data", JSONBOID, .is_optional = true},
	{"payload", BYTEAOID, .is_optional = true},
	{"context", JSONBOID, .is_optional = true},
	{"added_by", TEXTOID, .is_optional = true},
	{"message", TEXTOID, .is_optional = true},
	{"started", TIMESTAMPTZOID, .is_optional = true, .may_lack = true},
	{"outcome", JSONBOID, .is_optional = true, .may_lack = true}
};

static const Shape finished_shape = SHAPE("finished_task", finished_columns);

/* Columns that a finish copies unchanged. */
static const struct
{
	FinishedColumn to;
	TaskColumn	from;
}			carried[] = {
	{FINISHED_ID, TASK_ID},
	{FINISHED_CREATED, TASK_CREATED},
	{FINISHED_TRIES, TASK_TRIES},
	{FINISHED_PRIORITY, TASK_PRIORITY},
	{FINISHED_TYPE, TASK_TYPE},
	{FINISHED_SUB_TYPE, TASK_SUB_TYPE},
	{FINISHED_BUCKET, TASK_BUCKET},
	{FINISHED_KEY, TASK_KEY},
	{FINISHED_DATA, TASK_DATA},
	{FINISHED_PAYLOAD, TASK_PAYLOAD},
	{FINISHED_CONTEXT, TASK_CONTEXT},
	{FINISHED_ADDED_BY, TASK_ADDED_BY}
};

struct History
{
	TimestampTz at;
	Oid			processing;
	Relation	whole;
	Relation	part;
	Appender   *append;
	Datum	   *values;			/* one row of the part; foreign ones are null */
	bool	   *nulls;
};

/*
 * While we wait for the lock, another session may attach a partition that then
 * is the right one.  So we look again after each lock.
 */
static Relation
open_part(Relation whole, TimestampTz at)
{
	for (;;)
	{
		Oid			oid = parts_find(whole, at);
		Relation	part;

		if (!OidIsValid(oid))
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("no partition of relation \"%s\" found for row",
							RelationGetRelationName(whole)),
					 errhint("Attach twtasks.finished_task_other again.")));
		part = table_open(oid, RowExclusiveLock);
		if (part->rd_rel->relkind != RELKIND_RELATION)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("partition \"%s\" of the history is not a plain table",
							RelationGetRelationName(part))));
		if (parts_find(whole, at) == oid)
			return part;
		table_close(part, NoLock);
	}
}

/*
 * Opens the whole.  A new database has no partition yet, and one restored from a
 * dump of 1.0 may lack the default partition: see begin_history().  No lock of ours
 * may be in the way of the one that making it needs.
 */
static Relation
open_whole(TimestampTz at)
{
	Relation	whole = table_open(rows_relation("finished_task"), RowExclusiveLock);
	int			pinned;

	if (OidIsValid(parts_find(whole, at)))
		return whole;
	table_close(whole, RowExclusiveLock);
	pinned = plan_begin();
	plan_execute(PLAN_BEGIN_HISTORY, NULL, NULL);
	plan_end(pinned);
	return table_open(rows_relation("finished_task"), RowExclusiveLock);
}

History *
history_open(TimestampTz at)
{
	History    *history = palloc(sizeof(History));
	int			n;

	history->at = at;
	history->processing = rows_label("task_status", "PROCESSING");
	history->whole = open_whole(at);
	target_check(history->whole);
	history->part = open_part(history->whole, at);
	history->append = append_open(history->part, history->whole, &finished_shape);
	n = RelationGetDescr(history->part)->natts;
	history->values = palloc0(n * sizeof(Datum));
	history->nulls = palloc(n * sizeof(bool));
	memset(history->nulls, true, n * sizeof(bool));
	return history;
}

static void
put(History *history, FinishedColumn column, Datum value, bool isnull)
{
	int			at = append_map(history->append)->at[column] - 1;

	if (at < 0)
		return;
	history->values[at] = value;
	history->nulls[at] = isnull;
}

void
history_add(History *history, TupleTableSlot *task, const Ending *ending, Jsonb *outcome)
{
	for (size_t i = 0; i < lengthof(carried); i++)
		put(history, carried[i].to, row_value(task, carried[i].from), row_null(task, carried[i].from));
	put(history, FINISHED_VERSION, Int64GetDatum(DatumGetInt64(row_value(task, TASK_VERSION)) + 1), false);
	put(history, FINISHED_STATE_TIME, TimestampTzGetDatum(history->at), false);
	put(history, FINISHED_INCARNATION, ending->incarnation.value, ending->incarnation.isnull);
	put(history, FINISHED_TOKEN, ending->token.value, ending->token.isnull);
	put(history, FINISHED_STATUS, ObjectIdGetDatum(ending->status), false);
	put(history, FINISHED_ERROR, PointerGetDatum(ending->error), ending->error == NULL);
	put(history, FINISHED_MESSAGE, PointerGetDatum(ending->message), ending->message == NULL);
	/* Only while a task runs does its row tell when its last grab was. */
	put(history, FINISHED_STARTED, row_value(task, TASK_STATE_TIME),
		DatumGetObjectId(row_value(task, TASK_STATUS)) != history->processing);
	put(history, FINISHED_OUTCOME, PointerGetDatum(outcome), outcome == NULL);
	append_row(history->append, history->values, history->nulls);
}

void
history_flush(History *history)
{
	append_flush(history->append);
}

void
history_close(History *history)
{
	append_close(history->append);
	table_close(history->part, NoLock);
	table_close(history->whole, NoLock);
	pfree(history);
}
