/*-------------------------------------------------------------------------
 *
 * execute_tasks.c
 *		execute_tasks(): grab, SQL handler and finish in one transaction.
 *
 *		from: sidecar/execute/sql/sql_session.c
 *
 * Each handler runs in a subtransaction of its own, so a handler that fails
 * undoes only its own work.  One call at the end finishes all tasks that
 * succeeded, except those that on_end hears of.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "base/caller.h"
#include "base/contract.h"
#include "base/interval.h"
#include "base/plan.h"
#include "base/rows.h"
#include "common/places.h"
#include "execute/execute.h"
#include "finish/finish_call.h"
#include "finish/judge.h"
#include "finish/outcome.h"
#include "grab/grab.h"
#include "policy/policy.h"
#include "policy/time_limit.h"

/* Number of arguments before the arguments of grab_tasks(). */
#define GRAB_ARGS 2

/* Arguments after the arguments of grab_tasks(). */
#define ARG_RETRY (GRAB_ARGS + 8)
#define ARG_GRABBED (GRAB_ARGS + 10)

/* Columns of the result. */
#define RESULT_COLUMNS 7

/* Arguments of grab_tasks() that we read ourselves. */
#define ARG_INCARNATION (GRAB_ARGS + 2)
#define ARG_TOKEN (GRAB_ARGS + 3)

typedef struct Execution
{
	Datum		input;			/* a twtasks.task_input */
	Datum		tries;
	Datum		type;
	int64		wait_us;		/* from runnable to the grab; -1: not known */
	Try			try;
	bool		is_finished;	/* with its handler */
	char	   *failure;		/* NULL: it succeeded */
} Execution;

typedef struct ExecuteCall
{
	ReturnSetInfo *results;
	bool		tells_results;	/* the SQL of 1.0 has no message of success */
	Oid			function;
	NullableDatum role;
	NullableDatum retry;
	Datum		incarnation;
	Datum		token;
	Relation	table;
	TupleTableSlot *slot;
	MemoryContext scratch;		/* for one handler */
	Execution  *executions;
	int			n;
	int			max;
} ExecuteCall;

/* A cluster-wide limit refused the task. */
static void
put_refused(ExecuteCall *call, const Datum *task)
{
	Datum		values[RESULT_COLUMNS] = {
		task[INPUT_ID], 0, CStringGetTextDatum("refused"), task[INPUT_TYPE]
	};
	bool		nulls[RESULT_COLUMNS] = {[1] = true,[4] = true,[5] = true,[6] = true};

	tuplestore_putvalues(call->results->setResult, call->results->setDesc, values, nulls);
}

static void
keep_task(void *arg, Datum *values, bool *nulls, ItemPointer at, TimestampTz runnable)
{
	ExecuteCall *call = arg;
	Execution  *execution;

	if (at == NULL)
	{
		put_refused(call, values);
		return;
	}
	if (call->n == call->max)
	{
		call->max *= 2;
		call->executions = repalloc(call->executions, call->max * sizeof(Execution));
	}
	execution = &call->executions[call->n++];
	memset(execution, 0, sizeof(*execution));
	execution->input = shape_form(&input_shape, values, nulls);
	execution->try.id = DatumGetUUIDP(datumCopy(values[INPUT_ID], false, UUID_LEN));
	execution->try.version = DatumGetInt64(values[INPUT_VERSION]);
	execution->try.grab.isnull = true;
	execution->tries = values[INPUT_TRIES];
	execution->type = datumCopy(values[INPUT_TYPE], false, -1);
	execution->wait_us = runnable == RUNNABLE_UNKNOWN ? -1 :
		Max(DatumGetTimestampTz(values[INPUT_GRABBED]) - runnable, 0);
	execution->try.place = *at;
}

static Oid
find_handler(FunctionCallInfo fcinfo)
{
	LOCAL_FCINFO(find, GRAB_ARGS);

	InitFunctionCallInfoData(*find, NULL, GRAB_ARGS, InvalidOid, NULL, NULL);
	for (int i = 0; i < GRAB_ARGS; i++)
		find->args[i] = fcinfo->args[i];
	return DatumGetObjectId(twt_find_handler(find));
}

static void
begin_call(FunctionCallInfo fcinfo, ExecuteCall *call)
{
	call->results = (ReturnSetInfo *) fcinfo->resultinfo;
	call->function = find_handler(fcinfo);
	call->role = fcinfo->args[1];
	call->retry = fcinfo->args[ARG_RETRY];
	call->incarnation = PG_GETARG_DATUM(ARG_INCARNATION);
	call->token = PG_GETARG_DATUM(ARG_TOKEN);
	call->table = table_open(rows_relation("task"), RowExclusiveLock);
	call->slot = table_slot_create(call->table, NULL);
	call->n = 0;
	call->max = 64;
	call->executions = palloc(call->max * sizeof(Execution));
	call->scratch = AllocSetContextCreate(CurrentMemoryContext, "twtasks handler",
										  ALLOCSET_DEFAULT_SIZES);
}

static void
end_call(ExecuteCall *call)
{
	MemoryContextDelete(call->scratch);
	ExecDropSingleTupleTableSlot(call->slot);
	table_close(call->table, NoLock);
}

static const ShapeColumn answer_columns[] = {
	{"result", TEXTOID},
	{"delay", INTERVALOID},
	{"message", TEXTOID}
};

static const Shape answer_shape = SHAPE("task_result", answer_columns);

/* Reads the handler's answer; NULL, or a void function, means done. */
static void
read_answer(Try *try, Datum answer, bool is_null)
{
	Datum		values[lengthof(answer_columns)];
	bool		nulls[lengthof(answer_columns)];

	try->result = TRY_DONE;
	if (is_null)
		return;
	shape_deform(&answer_shape, DatumGetHeapTupleHeader(answer), values, nulls);
	if (!nulls[0])
		try->result = try_result_of(TextDatumGetCString(values[0]));
	if (!nulls[1])
		try->delay_ms = (int64) interval_ms(DatumGetIntervalP(values[1]));
	try->has_delay = !nulls[1];
	if (!nulls[2])
		try->message = DatumGetTextPCopy(values[2]);
}

/* The policies of the type decide whether the handler gets what it asks for. */
static void
judge(ExecuteCall *call, Execution *execution)
{
	char	   *function;

	execution->try.retry = call->retry.isnull ? NULL : DatumGetJsonbP(call->retry.value);
	function = judge_by_figures(execution->type, DatumGetInt32(execution->tries), &execution->try);
	if (function != NULL)
		judge_by_function(function, execution->input, DT_NOEND, &execution->try);
}

/* The task ends as cancelled only after a request to cancel it. */
static void
check_cancelled(const Execution *execution)
{
	Datum		values[] = {UUIDPGetDatum(execution->try.id)};
	int			pinned;

	pinned = plan_begin();
	if (plan_execute(PLAN_FIND_CANCEL, values, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("handler cancelled it without being asked")));
	plan_end(pinned);
}

/* Finishes the tasks that succeeded and are not finished yet. */
static void
finish_tasks(const ExecuteCall *call, Execution *executions, int count)
{
	NullableDatum incarnation = {call->incarnation};
	NullableDatum token = {call->token};
	FinishCall	finish;
	int			n = 0;

	finish_call_begin(&finish, incarnation, token);
	finish.tries = palloc(count * sizeof(Try));
	for (int i = 0; i < count; i++)
		if (executions[i].failure == NULL && !executions[i].is_finished)
			finish.tries[finish.n++] = executions[i].try;
	if (finish.n > 0 && finish_tries(&finish) != finish.n)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("task was changed by the handler of another task")));
	/* whether a request to cancel ended them */
	for (int i = 0; i < count; i++)
		if (executions[i].failure == NULL && !executions[i].is_finished)
			executions[i].try.facts = finish.tries[n++].facts;
}

/*
 * A function of on_end that fails must undo the handler's work too, so it runs in
 * the handler's subtransaction.
 */
static void
finish_with_handler(const ExecuteCall *call, Execution *execution)
{
	if (!policy_any_on_end() || policy_of_text(execution->type)->on_end == NULL)
		return;
	finish_tasks(call, execution, 1);
	execution->is_finished = true;
}

static Jsonb *
copy_outcome(Jsonb *outcome)
{
	return outcome == NULL ? NULL :
		DatumGetJsonbP(datumCopy(PointerGetDatum(outcome), false, -1));
}

/* Runs in the handler's subtransaction. */
static void
call_handler(ExecuteCall *call, Execution *execution, MemoryContext outer)
{
	Datum		answer;
	bool		isnull;
	Try		   *try = &execution->try;
	MemoryContext inner;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	outcome_begin();
	answer = execute_call(call->function, call->role, execution->input, &isnull);
	PopActiveSnapshot();
	inner = MemoryContextSwitchTo(outer);
	read_answer(try, answer, isnull);
	try->outcome = copy_outcome(outcome_end());
	MemoryContextSwitchTo(inner);
	if (!table_tuple_fetch_row_version(call->table, &try->place, SnapshotSelf, call->slot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("task was changed by its own handler")));
	ExecClearTuple(call->slot);
	if (try->result == TRY_RETRY || try->result == TRY_REPEAT)
		judge(call, execution);
	else if (try->result == TRY_CANCELLED)
		check_cancelled(execution);
	finish_with_handler(call, execution);
}

/*
 * Whether the failure is the task's own, and not the whole batch's.  Locks or
 * snapshots of earlier tasks in the batch may have caused the failure; alone,
 * this task might succeed.
 */
static bool
is_own_failure(const ExecuteCall *call, const ErrorData *error)
{
	switch (error->sqlerrcode)
	{
		case ERRCODE_QUERY_CANCELED:
			return !error_is_cancel(error);
		case ERRCODE_T_R_DEADLOCK_DETECTED:
		case ERRCODE_T_R_SERIALIZATION_FAILURE:
			return call->n == 1;
		default:
			return true;
	}
}

/* Works like a block with EXCEPTION WHEN OTHERS; compare PostgreSQL's pl_exec.c. */
static void
execute_one(ExecuteCall *call, Execution *execution)
{
	MemoryContext outer = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorContextCallback *callers = error_context_stack;

	BeginInternalSubTransaction(NULL);

	/* Memory of the subtransaction would stay until the end of the batch. */
	MemoryContextSwitchTo(call->scratch);
	PG_TRY();
	{
		error_context_stack = NULL; /* only the handler's own functions count */
		call_handler(call, execution, outer);
		error_context_stack = callers;
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(outer);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;
		char		places[PLACES_BYTES];

		MemoryContextSwitchTo(outer);
		error = CopyErrorData();
		FlushErrorState();
		(void) outcome_end();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(outer);
		CurrentResourceOwner = owner;
		if (!is_own_failure(call, error))
			ReThrowError(error);
		places_name(error->context, places);
		execution->failure = psprintf("%s%s (SQLSTATE %s)", error->message, places,
									  unpack_sql_state(error->sqlerrcode));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextReset(call->scratch);
}

/* The failure; of a finished task, its result unless it is done. */
static const char *
message_of(const ExecuteCall *call, const Execution *execution)
{
	const Try  *try = &execution->try;

	if (execution->failure != NULL)
		return execution->failure;
	if (!call->tells_results)
		return NULL;
	if (try_is_done(try))
		return try->result == TRY_DONE ? NULL : try_result_name(try->result);
	return try->facts != 0 ? "cancelled" : try_result_name(try->result);
}

static void
put_results(const ExecuteCall *call)
{
	for (int i = 0; i < call->n; i++)
	{
		const Execution *execution = &call->executions[i];
		bool		failed = execution->failure != NULL;
		const char *message = message_of(call, execution);
		Datum		values[] = {
			UUIDPGetDatum(execution->try.id), Int64GetDatum(execution->try.version),
			CStringGetTextDatum(failed ? "failed" : "finished"),
			message != NULL ? CStringGetTextDatum(message) : (Datum) 0,
			execution->tries, execution->type, Int64GetDatum(execution->wait_us)
		};
		bool		nulls[lengthof(values)] = {[3] = message == NULL,[6] = execution->wait_us < 0};

		tuplestore_putvalues(call->results->setResult, call->results->setDesc, values, nulls);
	}
}

static Datum
execute_tasks(FunctionCallInfo fcinfo)
{
	ExecuteCall call;

	if (PG_ARGISNULL(ARG_INCARNATION) || PG_ARGISNULL(ARG_TOKEN))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("incarnation and token must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	begin_call(fcinfo, &call);
	call.tells_results = !contract_is_symbol(fcinfo, "twt_execute_tasks");
	if (!PG_ARGISNULL(ARG_GRABBED) && PG_GETARG_BOOL(ARG_GRABBED))
		grabbed_all(fcinfo, GRAB_ARGS, keep_task, &call);
	else
		(void) grab_all(fcinfo, GRAB_ARGS, keep_task, &call);
	for (int i = 0; i < call.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		execute_one(&call, &call.executions[i]);
	}
	finish_tasks(&call, call.executions, call.n);
	put_results(&call);
	end_call(&call);
	return (Datum) 0;
}

TWT_FUNCTION_AS_OWNER(twt_execute_tasks, execute_tasks);
