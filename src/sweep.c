/*-------------------------------------------------------------------------
 *
 * sweep.c
 *		sweep_tasks(): looks at the table itself for SUBMITTED tasks.
 *
 *		from: sidecar/sweep.c		to: sidecar/table.c
 *
 * The index of runnable tasks leads by bucket and type.  We step from type
 * to type, and of each read the most urgent first, up to so many: a type
 * with a large backlog does not make the others wait.
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "adoption.h"
#include "arrays.h"
#include "clock.h"
#include "rows.h"

/* Columns of the index task_queued. */
enum
{
	QUEUED_BUCKET = 1,
	QUEUED_TYPE,
	QUEUED_KEYS = QUEUED_TYPE
};

/* Of the task's columns we read none beyond this one. */
#define LAST_READ TASK_EXPIRES

typedef struct SweepCall
{
	Relation	table;
	Relation	index;
	TupleTableSlot *slot;
	ReturnSetInfo *results;
	Datum		bucket;
	int32		per_type;
	Elements	skip;
	int32		share;
	int32		shares;
	TimestampTz started;
	Oid			submitted;
} SweepCall;

static void
read_arguments(FunctionCallInfo fcinfo, SweepCall *call)
{
	call->bucket = PG_GETARG_DATUM(0);
	call->per_type = PG_GETARG_INT32(1);
	call->skip = elements_of(fcinfo, 2, "skip");
	call->share = PG_GETARG_INT32(3);
	call->shares = PG_GETARG_INT32(4);
	call->results = (ReturnSetInfo *) fcinfo->resultinfo;
	call->started = twt_now();
	call->submitted = rows_label("task_status", "SUBMITTED");
}

/* Rows of the bucket whose type compares so to that one; NULL: of any type. */
static IndexScanDesc
begin_scan(const SweepCall *call, const char *type, bool beyond)
{
	int			nkeys = type == NULL ? QUEUED_BUCKET : QUEUED_TYPE;
	IndexScanDesc scan = twt_index_beginscan(call->table, call->index,
											 GetActiveSnapshot(), nkeys);
	ScanKeyData keys[QUEUED_KEYS];

	ScanKeyEntryInitialize(&keys[0], 0, QUEUED_BUCKET, BTEqualStrategyNumber, InvalidOid,
						   C_COLLATION_OID, F_TEXTEQ, call->bucket);
	if (type != NULL)
		ScanKeyEntryInitialize(&keys[1], 0, QUEUED_TYPE,
							   beyond ? BTGreaterStrategyNumber : BTEqualStrategyNumber,
							   InvalidOid, C_COLLATION_OID,
							   beyond ? F_TEXT_GT : F_TEXTEQ, CStringGetTextDatum(type));
	index_rescan(scan, keys, nkeys, NULL, 0);
	return scan;
}

/* The first type, in order, after that one; NULL: no more. */
static char *
next_type(const SweepCall *call, const char *type)
{
	IndexScanDesc scan = begin_scan(call, type, true);
	char	   *next = NULL;

	if (index_getnext_slot(scan, ForwardScanDirection, call->slot))
	{
		slot_getsomeattrs(call->slot, LAST_READ);
		next = TextDatumGetCString(row_value(call->slot, TASK_TYPE));
	}
	index_endscan(scan);
	return next;
}

static bool
is_skipped(const SweepCall *call, const char *type)
{
	for (int i = 0; i < call->skip.n; i++)
		if (element_is(&call->skip, i, type))
			return true;
	return false;
}

static bool
is_wanted(const SweepCall *call)
{
	TupleTableSlot *row = call->slot;

	if (DatumGetObjectId(row_value(row, TASK_STATUS)) != call->submitted)
		return false;
	if (!row_null(row, TASK_EXPIRES) &&
		DatumGetTimestampTz(row_value(row, TASK_EXPIRES)) <= call->started)
		return false;
	if (call->shares > 1)
	{
		int32		hash = DatumGetInt32(DirectFunctionCall1(uuid_hash,
															 row_value(row, TASK_ID)));

		return llabs((int64) hash) % call->shares == call->share;
	}
	return true;
}

static void
put_trigger(const SweepCall *call)
{
	static const TaskColumn columns[] = {
		TASK_ID, TASK_VERSION, TASK_TYPE, TASK_PRIORITY, TASK_SIZE
	};
	Datum		values[lengthof(columns)];
	bool		nulls[lengthof(columns)] = {false};

	for (size_t i = 0; i < lengthof(columns); i++)
		values[i] = row_value(call->slot, columns[i]);
	tuplestore_putvalues(call->results->setResult, call->results->setDesc, values, nulls);
}

static void
sweep_type(const SweepCall *call, const char *type)
{
	IndexScanDesc scan = begin_scan(call, type, false);
	int32		found = 0;

	while (found < call->per_type &&
		   index_getnext_slot(scan, ForwardScanDirection, call->slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getsomeattrs(call->slot, LAST_READ);
		if (!is_wanted(call))
			continue;
		put_trigger(call);
		found++;
	}
	index_endscan(scan);
}

PG_FUNCTION_INFO_V1(twt_sweep_tasks);
Datum
twt_sweep_tasks(PG_FUNCTION_ARGS)
{
	SweepCall	call;
	char	   *type = NULL;

	read_arguments(fcinfo, &call);
	InitMaterializedSRF(fcinfo, 0);
	if (!twt_is_adopted())
		return (Datum) 0;
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	call.table = table_open(rows_relation("task"), AccessShareLock);
	call.index = index_open(rows_relation("task_queued"), AccessShareLock);
	call.slot = table_slot_create(call.table, NULL);
	while ((type = next_type(&call, type)) != NULL)
		if (!is_skipped(&call, type))
			sweep_type(&call, type);
	ExecDropSingleTupleTableSlot(call.slot);
	index_close(call.index, AccessShareLock);
	table_close(call.table, AccessShareLock);
	PopActiveSnapshot();
	return (Datum) 0;
}
