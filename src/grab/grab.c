/*-------------------------------------------------------------------------
 *
 * grab.c
 *		grab_tasks(): SUBMITTED -> PROCESSING, for a caller that names the version.
 *
 *		from: sidecar/grab/grab.c		to: sidecar/execute/execute.c
 *
 * Several callers may name one version.  One of them wins, because the heap
 * lets only one replace a row.  The others find the row changed.  Nobody
 * waits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "base/contract.h"
#include "base/rows.h"
#include "base/settings.h"
#include "grab/grab.h"
#include "grab/slots.h"
#include "node/adoption.h"
#include "node/clock.h"
#include "node/node.h"
#include "policy/policy.h"

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
	Elements	places;			/* none: not known */
	Datum		incarnation;
	Datum		token;
	Datum		node;			/* its name */
	TimestampTz started;
	Oid			submitted;
	Oid			processing;
	Oid			stuck_retry;
	int64		won;
	int64		must_last;		/* won tasks that a crash must not lose */
	Slots	   *slots;			/* NULL: no cluster-wide limit */
	int		   *order;			/* with limits: the most urgent first */
} GrabCall;

static void
check_elements(const GrabCall *call)
{
	for (int i = 0; i < call->stuck.n; i++)
		if (call->stuck.nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("a stuck rule must not be null")));
	for (int i = 0; i < call->timeouts_ms.n; i++)
		if (!call->timeouts_ms.nulls[i] && DatumGetInt64(call->timeouts_ms.values[i]) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("timeouts must not be negative")));
}

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
	call->places = places_of(fcinfo, first + 9, call->ids.n);
	check_length(&call->versions, call->ids.n);
	check_length(&call->timeouts_ms, call->ids.n);
	check_length(&call->stuck, call->ids.n);
	if (call->types.n > 0)
		check_length(&call->types, call->ids.n);
	check_elements(call);
	call->started = twt_now();
	call->submitted = rows_label("task_status", "SUBMITTED");
	call->processing = rows_label("task_status", "PROCESSING");
	call->stuck_retry = rows_label("stuck_rule", "retry");
	call->won = call->must_last = 0;
	call->slots = NULL;
	call->order = NULL;
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
	return is_bucket(call, row_value(row, TASK_BUCKET)) &&
		policy_may_grab(row_value(row, TASK_TYPE), row_value(row, TASK_BUCKET), call->node);
}

/* Returns NULL if another caller was first. */
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

/* Hands a task over, in the order of type twtasks.task_input. */
static void
hand_over(GrabCall *call, TupleTableSlot *task, TimestampTz runnable)
{
	Datum		values[INPUT_COLUMNS];
	bool		nulls[INPUT_COLUMNS];

	row_input(task, values, nulls);
	call->fn(call->arg, values, nulls, &task->tts_tid, runnable);
}

/* A limit refused the task: the answer names the limit and has no version. */
static void
put_refusal(const GrabCall *call, TupleTableSlot *task, const LimitRefusal *refusal)
{
	Datum		values[INPUT_COLUMNS] = {0};
	bool		nulls[INPUT_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	values[INPUT_ID] = row_value(task, TASK_ID);
	values[INPUT_TYPE] = CStringGetTextDatum(refusal->name);
	nulls[INPUT_ID] = nulls[INPUT_TYPE] = false;
	if (refusal->again_ms > 0)
	{
		values[INPUT_TRIES] = Int32GetDatum((int32) Min(refusal->again_ms, PG_INT32_MAX));
		values[INPUT_GRABBED] = TimestampTzGetDatum(call->started + refusal->again_ms * 1000);
		nulls[INPUT_TRIES] = nulls[INPUT_GRABBED] = false;
	}
	call->fn(call->arg, values, nulls, NULL, RUNNABLE_UNKNOWN);
}

/* The risen priority, which decides where slots are few. */
static int
priority_now(const GrabCall *call, TupleTableSlot *row)
{
	return policy_risen(row_value(row, TASK_TYPE), DatumGetInt16(row_value(row, TASK_PRIORITY)),
						call->started - DatumGetTimestampTz(row_value(row, TASK_STATE_TIME)));
}

static bool
take_slots(GrabCall *call, TupleTableSlot *row)
{
	LimitRefusal refusal;
	LimitedTask task;

	if (call->slots == NULL)
		return true;
	task.id = DatumGetUUIDP(row_value(row, TASK_ID));
	task.version = DatumGetInt64(row_value(row, TASK_VERSION)) + 1;
	task.type = TextDatumGetCString(row_value(row, TASK_TYPE));
	task.priority = priority_now(call, row);
	if (slots_take(call->slots, &task, &refusal))
		return true;
	put_refusal(call, row, &refusal);
	return false;
}

/* Returns the row of the task if the task may be grabbed; else NULL. */
static TupleTableSlot *
find_row(const GrabCall *call, int i, Rows *rows)
{
	TupleTableSlot *row;

	if (call->ids.nulls[i] || element_null(&call->versions, i) || element_null(&call->timeouts_ms, i))
		return NULL;
	row = rows_find_at(rows, DatumGetUUIDP(call->ids.values[i]), element_place(&call->places, i));
	return row != NULL && !row_is_outdated(row) && may_grab(call, i, row) ? row : NULL;
}

/*
 * A crash that loses a grab lets the task run again while its handler may still
 * run.  Only the rule to retry at once allows that.
 */
static bool
must_last(const GrabCall *call, int i, TupleTableSlot *row)
{
	return DatumGetObjectId(element(&call->stuck, i)) != call->stuck_retry ||
		policy_of_text(row_value(row, TASK_TYPE))->waits_for_deadline;
}

static void
grab_one(GrabCall *call, int i, Rows *rows)
{
	TupleTableSlot *row = find_row(call, i, rows);
	TimestampTz runnable;

	if (row == NULL || !take_slots(call, row))
		return;
	runnable = DatumGetTimestampTz(row_value(row, TASK_STATE_TIME));
	row = grab_row(call, i, rows, row);
	if (row == NULL)
	{
		if (call->slots != NULL)
			slots_untake(call->slots);
		return;
	}
	hand_over(call, row, runnable);
	call->won++;
	if (must_last(call, i, row))
		call->must_last++;
}

/* The most urgent tasks come first, since slots may be few. */
static void
order_by_priority(GrabCall *call, Rows *rows)
{
	int			n = call->ids.n;
	int		   *priorities = palloc(n * sizeof(int));
	int			place = 0;

	call->order = palloc(n * sizeof(int));
	for (int i = 0; i < n; i++)
	{
		TupleTableSlot *row = find_row(call, i, rows);

		priorities[i] = row == NULL ? 0 : priority_now(call, row);
	}
	for (int priority = 0; priority < TRIGGER_PRIORITIES; priority++)
		for (int i = 0; i < n; i++)
			if (priorities[i] == priority)
				call->order[place++] = i;
	pfree(priorities);
}

static void
grab_each(GrabCall *call, Rows *rows)
{
	call->slots = slots_open(DatumGetInt64(call->incarnation));
	if (call->slots != NULL)
		order_by_priority(call, rows);
	for (int i = 0; i < call->ids.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		grab_one(call, call->order == NULL ? i : call->order[i], rows);
	}
	if (call->slots != NULL && slots_store(call->slots))
		call->must_last++;
}

bool
grab_all(FunctionCallInfo fcinfo, int first, GrabbedFn fn, void *arg)
{
	GrabCall	call = {.fn = fn, .arg = arg};
	Rows	   *rows;

	contract_check_all();
	PreventCommandIfReadOnly("twtasks_internal.grab_tasks()");
	PreventCommandIfParallelMode("twtasks_internal.grab_tasks()");
	read_arguments(fcinfo, first, &call);
	rows = rows_open();
	if (twt_enabled && twt_is_adopted() && node_may_grab(call.incarnation, &call.node))
		grab_each(&call, rows);
	rows_close(rows);
	return call.won > 0 && call.must_last == 0;
}

static bool
was_grabbed(const GrabCall *call, int i, TupleTableSlot *row)
{
	return DatumGetObjectId(row_value(row, TASK_STATUS)) == call->processing &&
		DatumGetInt64(row_value(row, TASK_VERSION)) == DatumGetInt64(element(&call->versions, i)) + 1 &&
		!row_null(row, TASK_INCARNATION) && !row_null(row, TASK_TOKEN) &&
		DatumGetInt64(row_value(row, TASK_INCARNATION)) == DatumGetInt64(call->incarnation) &&
		DatumGetInt64(row_value(row, TASK_TOKEN)) == DatumGetInt64(call->token);
}

void
grabbed_all(FunctionCallInfo fcinfo, int first, GrabbedFn fn, void *arg)
{
	GrabCall	call = {.fn = fn, .arg = arg};
	Rows	   *rows;

	read_arguments(fcinfo, first, &call);
	if (!node_lives(call.incarnation, NULL))
		return;
	rows = rows_open();
	for (int i = 0; i < call.ids.n; i++)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		if (call.ids.nulls[i] || element_null(&call.versions, i))
			continue;
		row = rows_find(rows, DatumGetUUIDP(call.ids.values[i]));
		if (row != NULL && was_grabbed(&call, i, row))
			hand_over(&call, row, RUNNABLE_UNKNOWN);
	}
	rows_close(rows);
}

/* Attributes of the result behind the ones of twtasks.task_input. */
enum
{
	RESULT_PLACE = INPUT_COLUMNS,
	RESULT_RUNNABLE,			/* the SQL of 1.0 does not take it */
	RESULT_COLUMNS
};

static void
put_result(void *arg, Datum *values, bool *nulls, ItemPointer at, TimestampTz runnable)
{
	ReturnSetInfo *results = arg;
	Datum		columns[RESULT_COLUMNS];
	bool		are_null[RESULT_COLUMNS];

	memcpy(columns, values, INPUT_COLUMNS * sizeof(Datum));
	memcpy(are_null, nulls, INPUT_COLUMNS * sizeof(bool));
	columns[RESULT_PLACE] = PointerGetDatum(at);
	are_null[RESULT_PLACE] = at == NULL;
	columns[RESULT_RUNNABLE] = TimestampTzGetDatum(runnable);
	are_null[RESULT_RUNNABLE] = runnable == RUNNABLE_UNKNOWN;
	tuplestore_putvalues(results->setResult, results->setDesc, columns, are_null);
}

/*
 * A crash of the server may lose this grab.  The task is then grabbed again, as
 * the stuck rule of these tasks demands.
 */
static void
commit_later(void)
{
	(void) set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
}

TWT_FUNCTION(twt_grab_tasks);
Datum
twt_grab_tasks(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (grab_all(fcinfo, 0, put_result, fcinfo->resultinfo) && !PG_GETARG_BOOL(8))
		commit_later();
	return (Datum) 0;
}
