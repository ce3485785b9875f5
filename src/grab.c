/*-------------------------------------------------------------------------
 *
 * grab.c
 *		grab_tasks(): SUBMITTED -> PROCESSING, for whoever names the version.
 *
 *		from: sidecar/grab.c		to: sidecar/execute.c
 *
 * Of those that name one version one wins, because the heap lets only one
 * replace a row; the others find it changed.  Nobody waits.
 *
 *-------------------------------------------------------------------------
 */
#include "twtasks.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "adoption.h"
#include "arrays.h"
#include "clock.h"
#include "grab.h"
#include "rows.h"
#include "settings.h"

/* Beyond this a deadline would leave the range of timestamps. */
#define LONGEST_MS (INT64CONST(100) * 365 * 86400 * 1000)

/* Columns of twtasks.node, as schema.sql declares them. */
#define NODE_ENDED 7

typedef struct GrabCall
{
	GrabbedFn	fn;
	void	   *arg;
	Elements	ids;
	Elements	versions;
	Elements	timeouts_ms;
	Elements	stuck;
	Elements	types;			/* none: any */
	Elements	buckets;		/* none: any */
	Datum		incarnation;
	Datum		token;
	TimestampTz started;
	Oid			submitted;
	Oid			processing;
	Oid			stuck_retry;
	int64		won;
	int64		must_last;		/* of these: may not be grabbed again */
} GrabCall;

static void
read_arguments(FunctionCallInfo fcinfo, int first, GrabCall *call)
{
	call->ids = elements_of(fcinfo, first, "ids");
	call->versions = elements_of(fcinfo, first + 1, "versions");
	call->incarnation = PG_GETARG_DATUM(first + 2);
	call->token = PG_GETARG_DATUM(first + 3);
	call->timeouts_ms = elements_of(fcinfo, first + 4, "timeouts_ms");
	call->stuck = elements_of(fcinfo, first + 5, "stuck");
	call->types = elements_of(fcinfo, first + 6, "types");
	call->buckets = elements_of(fcinfo, first + 7, "buckets");
	check_length(&call->versions, call->ids.n);
	check_length(&call->timeouts_ms, call->ids.n);
	check_length(&call->stuck, call->ids.n);
	if (call->types.n > 0)
		check_length(&call->types, call->ids.n);
	for (int i = 0; i < call->stuck.n; i++)
		if (call->stuck.nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("a stuck rule must not be null")));
	call->started = twt_now();
	call->submitted = rows_label("task_status", "SUBMITTED");
	call->processing = rows_label("task_status", "PROCESSING");
	call->stuck_retry = rows_label("stuck_rule", "retry");
	call->won = call->must_last = 0;
}

/* Whether the incarnation may still grab: its row is there and not ended. */
static bool
node_lives(Datum incarnation)
{
	Relation	table = table_open(rows_relation("node"), AccessShareLock);
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	bool		lives;

	RelationGetIndexList(table);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, incarnation);
	scan = systable_beginscan(table, table->rd_pkindex, true,
							  GetActiveSnapshot(), 1, &key);
	tuple = systable_getnext(scan);
	lives = HeapTupleIsValid(tuple) &&
		heap_attisnull(tuple, NODE_ENDED, RelationGetDescr(table));
	systable_endscan(scan);
	table_close(table, AccessShareLock);
	return lives;
}

static bool
same_text(Datum a, Datum b)
{
	text	   *x = DatumGetTextPP(a);
	text	   *y = DatumGetTextPP(b);
	Size		length = VARSIZE_ANY_EXHDR(x);

	return length == VARSIZE_ANY_EXHDR(y) &&
		memcmp(VARDATA_ANY(x), VARDATA_ANY(y), length) == 0;
}

static bool
is_bucket(const GrabCall *call, Datum bucket)
{
	for (int i = 0; i < call->buckets.n; i++)
		if (!call->buckets.nulls[i] && same_text(call->buckets.values[i], bucket))
			return true;
	return call->buckets.n == 0;
}

static bool
may_grab(const GrabCall *call, int i, TupleTableSlot *row)
{
	if (DatumGetObjectId(row_value(row, TASK_STATUS)) != call->submitted ||
		DatumGetInt64(row_value(row, TASK_VERSION)) != DatumGetInt64(element(&call->versions, i)))
		return false;
	if (!row_null(row, TASK_EXPIRES) &&
		DatumGetTimestampTz(row_value(row, TASK_EXPIRES)) <= call->started)
		return false;
	if (call->types.n > 0 &&
		(element_null(&call->types, i) || !same_text(element(&call->types, i), row_value(row, TASK_TYPE))))
		return false;
	return is_bucket(call, row_value(row, TASK_BUCKET));
}

/* NULL: another was there first. */
static TupleTableSlot *
grab_row(GrabCall *call, int i, Rows *rows, TupleTableSlot *row)
{
	TupleTableSlot *next = rows_edit(rows, row);
	int64		version = DatumGetInt64(row_value(row, TASK_VERSION));
	int32		tries = DatumGetInt32(row_value(row, TASK_TRIES));
	int64		timeout_ms = Min(DatumGetInt64(element(&call->timeouts_ms, i)), LONGEST_MS);

	row_set(next, TASK_STATUS, ObjectIdGetDatum(call->processing));
	row_set(next, TASK_VERSION, Int64GetDatum(version + 1));
	row_set(next, TASK_TRIES, Int32GetDatum(tries + 1));
	row_set(next, TASK_STATE_TIME, TimestampTzGetDatum(call->started));
	row_set(next, TASK_DEADLINE, TimestampTzGetDatum(call->started + timeout_ms * 1000));
	row_set(next, TASK_INCARNATION, call->incarnation);
	row_set(next, TASK_TOKEN, call->token);
	row_set(next, TASK_STUCK, element(&call->stuck, i));
	return rows_update(rows, row) ? next : NULL;
}

/* In the order of type twtasks.task_input. */
static void
hand_over(GrabCall *call, TupleTableSlot *task)
{
	static const TaskColumn columns[] = {
		TASK_ID, TASK_VERSION, TASK_TYPE, TASK_SUB_TYPE, TASK_BUCKET, TASK_PRIORITY,
		TASK_TRIES, TASK_STATE_TIME, TASK_DATA, TASK_PAYLOAD, TASK_CONTEXT
	};
	Datum		values[lengthof(columns)];
	bool		nulls[lengthof(columns)];

	for (size_t i = 0; i < lengthof(columns); i++)
	{
		values[i] = row_value(task, columns[i]);
		nulls[i] = row_null(task, columns[i]);
	}
	call->fn(call->arg, values, nulls, &task->tts_tid);
}

static void
grab_each(GrabCall *call, Rows *rows)
{
	for (int i = 0; i < call->ids.n; i++)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		if (call->ids.nulls[i] || element_null(&call->versions, i) || element_null(&call->timeouts_ms, i))
			continue;
		row = rows_find(rows, DatumGetUUIDP(call->ids.values[i]));
		if (row == NULL || !may_grab(call, i, row))
			continue;
		row = grab_row(call, i, rows, row);
		if (row == NULL)
			continue;
		hand_over(call, row);
		call->won++;
		if (DatumGetObjectId(element(&call->stuck, i)) != call->stuck_retry)
			call->must_last++;
	}
}

bool
grab_all(FunctionCallInfo fcinfo, int first, GrabbedFn fn, void *arg)
{
	GrabCall	call = {.fn = fn, .arg = arg};
	Rows	   *rows;

	PreventCommandIfReadOnly("twtasks.grab_tasks()");
	PreventCommandIfParallelMode("twtasks.grab_tasks()");
	read_arguments(fcinfo, first, &call);
	rows = rows_open();
	if (twt_enabled && twt_is_adopted() && node_lives(call.incarnation))
		grab_each(&call, rows);
	rows_close(rows);
	return call.won > 0 && call.must_last == 0;
}

static void
put_result(void *arg, Datum *values, bool *nulls, ItemPointer at)
{
	ReturnSetInfo *results = arg;

	tuplestore_putvalues(results->setResult, results->setDesc, values, nulls);
}

/* Losing a grab in a crash of the server means to grab again, which is what
 * the rule of these tasks asks for anyway. */
static void
commit_later(void)
{
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
}

PG_FUNCTION_INFO_V1(twt_grab_tasks);
Datum
twt_grab_tasks(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	if (grab_all(fcinfo, 0, put_result, fcinfo->resultinfo) && !PG_GETARG_BOOL(8))
		commit_later();
	return (Datum) 0;
}
