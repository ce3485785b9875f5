/*-------------------------------------------------------------------------
 *
 * execute_tasks.c
 *		execute_tasks(): grab, SQL handler and finish in one transaction.
 *
 *		from: sidecar/execute/sql/sql_session.c
 *
 * Each call of a handler runs in a subtransaction of its own, so a handler that
 * fails undoes only its own work.  A handler of one task is called for each; one of an
 * array is called for all.  If that call fails, nobody knows which task is to blame: so
 * it is called for each half, until a task fails alone or the call succeeds.  One call
 * at the end finishes all tasks that succeeded, except those that on_end hears of.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/regproc.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/caller.h"
#include "base/contract.h"
#include "base/plan.h"
#include "base/rows.h"
#include "common/places.h"
#include "execute/answer.h"
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
	Oid			answer_type;
	bool		is_batch;		/* the function takes an array of tasks */
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
	call->answer_type = get_func_rettype(call->function);
	call->is_batch = execute_takes_batch(call->function);
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

static bool
any_on_end(const Execution *set, int n)
{
	for (int i = 0; policy_any_on_end() && i < n; i++)
		if (policy_of_text(set[i].type)->on_end != NULL)
			return true;
	return false;
}

/*
 * A function of on_end that fails must undo the handler's work too, so it runs in
 * the handler's subtransaction.
 */
static void
finish_with_handler(const ExecuteCall *call, Execution *set, int n)
{
	if (!any_on_end(set, n))
		return;
	finish_tasks(call, set, n);
	for (int i = 0; i < n; i++)
		set[i].is_finished = true;
}

/* ---- one call of the handler ---- */

static Datum
argument_of(const ExecuteCall *call, const Execution *set, int n)
{
	Datum	   *inputs;

	if (!call->is_batch)
		return set[0].input;
	inputs = palloc(n * sizeof(Datum));
	for (int i = 0; i < n; i++)
		inputs[i] = set[i].input;
	return PointerGetDatum(construct_array(inputs, n, shape_type("task_input"), -1, false, TYPALIGN_DOUBLE));
}

static void
take_answer(const ExecuteCall *call, Execution *set, int n, NullableDatum answer)
{
	Jsonb	   *outcome = outcome_end();
	Try		  **tries = palloc(n * sizeof(Try *));

	if (outcome != NULL)
		outcome = DatumGetJsonbP(datumCopy(PointerGetDatum(outcome), false, -1));
	for (int i = 0; i < n; i++)
	{
		tries[i] = &set[i].try;
		tries[i]->outcome = outcome;
	}
	answer_read(call->answer_type, answer, tries, n);
	pfree(tries);
}

static void
check_answer(ExecuteCall *call, Execution *execution)
{
	Try		   *try = &execution->try;

	if (!table_tuple_fetch_row_version(call->table, &try->place, SnapshotSelf, call->slot))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("task was changed by its own handler")));
	ExecClearTuple(call->slot);
	if (try->result == TRY_RETRY || try->result == TRY_REPEAT)
		judge(call, execution);
	else if (try->result == TRY_CANCELLED)
		check_cancelled(execution);
}

/* Runs in the handler's subtransaction. */
static void
call_handler(ExecuteCall *call, Execution *set, int n, MemoryContext outer)
{
	NullableDatum answer;
	MemoryContext inner;

	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	outcome_begin();
	answer = execute_call(call->function, call->role, argument_of(call, set, n), call->is_batch);
	PopActiveSnapshot();
	inner = MemoryContextSwitchTo(outer);
	take_answer(call, set, n, answer);
	MemoryContextSwitchTo(inner);
	for (int i = 0; i < n; i++)
		check_answer(call, &set[i]);
	finish_with_handler(call, set, n);
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

static char *
failure_text(const ErrorData *error)
{
	char		places[PLACES_BYTES];

	places_name(error->context, places);
	return psprintf("%s%s (SQLSTATE %s)", error->message, places, unpack_sql_state(error->sqlerrcode));
}

/* The subtransaction is undone, and with it the answer. */
static void
forget_answer(Execution *execution)
{
	const Try  *try = &execution->try;

	execution->try = (Try)
	{
		.id = try->id, .version = try->version, .grab = try->grab, .place = try->place
	};
	execution->is_finished = false;
}

/* Returns the failure, which leaves nothing of the call, or NULL; as PL/pgSQL does. */
static char *
try_set(ExecuteCall *call, Execution *set, int n)
{
	MemoryContext outer = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorContextCallback *callers = error_context_stack;
	char	   *volatile failure = NULL;

	BeginInternalSubTransaction(NULL);

	/* Memory of the subtransaction would stay until the end of the batch. */
	MemoryContextSwitchTo(call->scratch);
	PG_TRY();
	{
		error_context_stack = NULL; /* only the handler's own functions count */
		call_handler(call, set, n, outer);
		error_context_stack = callers;
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(outer);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(outer);
		error = CopyErrorData();
		FlushErrorState();
		(void) outcome_end();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(outer);
		CurrentResourceOwner = owner;
		if (!is_own_failure(call, error))
			ReThrowError(error);
		failure = failure_text(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextReset(call->scratch);
	return failure;
}

/* A function that works for no array, but for each task, costs two calls a task. */
static void
warn_of_halves(const ExecuteCall *call, const char *failure)
{
	for (int i = 0; i < call->n; i++)
		if (call->executions[i].failure != NULL)
			return;
	ereport(WARNING,
			(errmsg("handler function %s failed for %d tasks together, and for none of them alone: %s",
					format_procedure(call->function), call->n, failure),
			 errhint("It is called for each half of the tasks again. Mend it, or leave the option \"batch\" of the handler out.")));
}

/* Runs a task, or an array of them, whose halves run again if it fails. */
static void
execute_set(ExecuteCall *call, Execution *set, int n)
{
	char	   *failure;

	CHECK_FOR_INTERRUPTS();
	failure = try_set(call, set, n);
	if (failure == NULL)
		return;
	for (int i = 0; i < n; i++)
		forget_answer(&set[i]);
	if (n == 1)
		set[0].failure = failure;
	else
	{
		execute_set(call, set, n / 2);
		execute_set(call, set + n / 2, n - n / 2);
		if (n == call->n)
			warn_of_halves(call, failure);
	}
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
	if (call.is_batch && call.n > 0)
		execute_set(&call, call.executions, call.n);
	for (int i = 0; !call.is_batch && i < call.n; i++)
		execute_set(&call, &call.executions[i], 1);
	finish_tasks(&call, call.executions, call.n);
	put_results(&call);
	end_call(&call);
	return (Datum) 0;
}

TWT_FUNCTION_AS_OWNER(twt_execute_tasks, execute_tasks);
