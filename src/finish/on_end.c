/*-------------------------------------------------------------------------
 *
 * on_end.c
 *		Ends tasks together with the on_end functions of their policies.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "add/successors.h"
#include "base/contract.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "base/shape.h"
#include "common/places.h"
#include "finish/ended.h"
#include "finish/on_end.h"
#include "node/clock.h"
#include "policy/policy.h"
#include "policy/policy_call.h"
#include "policy/try_call.h"

/*
 * How long the tasks of replies wait for a key that an open transaction claims:
 * in a statement that ends all its tasks at once, and in one that ends each alone,
 * since there may be hundreds.  All outcomes of the statement wait with them.
 */
#define KEY_PATIENCE_MS 5
#define LONE_PATIENCE_MS 1

/* The tasks of one function. */
typedef struct Called
{
	char	   *function;
	ArrayBuildState *tasks;
} Called;

struct Ends
{
	MemoryContext context;
	ReturnSetInfo *results;
	bool		has_functions;	/* functions hear of these ends */
	bool		is_attempt;		/* rows are kept until it holds */
	List	   *rows;			/* HeapTuples */
	List	   *calls;			/* Called, one for each function */
	Successors *successors;
	int			nsuccessors;
	int			patience_ms;	/* for keys; 0: no limit */
	bool		is_storing;		/* the tasks of replies */
	char	   *doing;			/* work of users that may fail; NULL: none */
	char	   *status;			/* the last task for a function became so */
	bool		has_errors;		/* a task for a function became ERROR */
	TimestampTz since;			/* when the attempt began */
};

void
ends_report(Ends *ends, Datum *values, bool *nulls)
{
	MemoryContext caller;

	if (ends->results == NULL)
		return;
	if (!ends->is_attempt)
	{
		tuplestore_putvalues(ends->results->setResult, ends->results->setDesc, values, nulls);
		return;
	}
	caller = MemoryContextSwitchTo(ends->context);
	ends->rows = lappend(ends->rows, heap_form_tuple(ends->results->setDesc, values, nulls));
	MemoryContextSwitchTo(caller);
}

bool
ends_want(const Ends *ends, Datum type)
{
	return ends->has_functions && policy_of_text(type)->on_end != NULL;
}

/* For the SQL of 1.0. */
TWT_FUNCTION(twt_asks_on_end);
Datum
twt_asks_on_end(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(policy_any_on_end() && policy_of_text(PG_GETARG_DATUM(0))->on_end != NULL);
}

static Called *
call_of(Ends *ends, const char *function)
{
	ListCell   *lc;
	Called	   *call;

	foreach(lc, ends->calls)
	{
		call = lfirst(lc);
		if (strcmp(call->function, function) == 0)
			return call;
	}
	call = palloc(sizeof(Called));
	call->function = pstrdup(function);
	call->tasks = initArrayResult(shape_type("ended_task"), CurrentMemoryContext, false);
	ends->calls = lappend(ends->calls, call);
	return call;
}

static char *
status_name(Datum status)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(shape_type("task_status"), &output, &is_varlena);
	return OidOutputFunctionCall(output, status);
}

void
ends_add(Ends *ends, Datum task)
{
	Datum		values[ENDED_COLUMNS];
	bool		nulls[ENDED_COLUMNS];
	const char *function;
	MemoryContext caller;

	if (!ends->has_functions)
		return;
	shape_deform(&ended_shape, DatumGetHeapTupleHeader(task), values, nulls);
	function = policy_of_text(values[ENDED_TYPE])->on_end;
	if (function == NULL)
		return;
	caller = MemoryContextSwitchTo(ends->context);
	accumArrayResult(call_of(ends, function)->tasks, task, false, shape_type("ended_task"),
					 ends->context);
	ends->status = status_name(values[ENDED_STATUS]);
	ends->has_errors |= strcmp(ends->status, "ERROR") == 0;
	MemoryContextSwitchTo(caller);
}

void
ends_add_successors(Ends *ends, Jsonb *tasks, Datum context, bool has_context)
{
	MemoryContext caller = MemoryContextSwitchTo(ends->context);
	int			n = ends->nsuccessors++;

	ends->successors = n == 0 ? palloc(sizeof(Successors)) :
		repalloc(ends->successors, (n + 1) * sizeof(Successors));
	ends->successors[n] = (Successors)
	{
		.tasks = tasks,
			.context = has_context ? PointerGetDatum(PG_DETOAST_DATUM_COPY(context)) : (Datum) 0,
			.has_context = has_context
	};
	ends->status = pstrdup("DONE");
	MemoryContextSwitchTo(caller);
}

/*
 * The function looks at what others have committed, and locks it.  A snapshot
 * of the transaction's beginning would show it a past.
 */
static void
require_read_committed(const char *function)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("tasks with function \"%s\" for on_end cannot end at this isolation level", function),
				 errhint("Use READ COMMITTED.")));
}

static void
call_function(Ends *ends, const Called *call)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "twtasks on_end", ALLOCSET_DEFAULT_SIZES);
	Datum		args[] = {makeArrayResult(call->tasks, caller)};
	bool		isnull;

	require_read_committed(call->function);
	CommandCounterIncrement();
	ends->doing = psprintf("function \"%s\" for on_end", call->function);
	MemoryContextSwitchTo(context);
	PushActiveSnapshot(GetTransactionSnapshot());
	policy_call_in_time(HOOK_ON_END, call->function, args, &isnull);
	PopActiveSnapshot();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	ends->doing = NULL;
}

/*
 * The history has the task since the attempt began; else the row stays as it is.  Without
 * an end of the time the partitions of coming days would be looked at, too.
 */
static void
look_into_history(const Ends *ends, Datum *row)
{
	Datum		values[] = {row[RESULT_ID], TimestampTzGetDatum(ends->since), TimestampTzGetDatum(twt_now())};
	int			pinned = plan_begin();
	bool		isnull;

	if (plan_execute(PLAN_FIND_FINISHED, values, NULL) > 0)
	{
		row[RESULT_VERSION] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		row[RESULT_STATUS] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	}
	plan_end(pinned);
}

static int64
ms_until(TimestampTz at)
{
	return Max(at - twt_now(), 0) / 1000;
}

static HeapTuple
as_it_is_now(const Ends *ends, Rows *rows, HeapTuple row)
{
	TupleDesc	desc = ends->results->setDesc;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS];
	TupleTableSlot *live;

	heap_deform_tuple(row, desc, values, nulls);
	live = rows_find(rows, DatumGetUUIDP(values[RESULT_ID]));
	if (live == NULL)
		look_into_history(ends, values);
	else
	{
		values[RESULT_VERSION] = row_value(live, TASK_VERSION);
		values[RESULT_STATUS] = row_value(live, TASK_STATUS);
		values[RESULT_DELAY_MS] = Int64GetDatum(ms_until(DatumGetTimestampTz(row_value(live, TASK_NEXT_EVENT_TIME))));
		nulls[RESULT_DELAY_MS] = DatumGetObjectId(values[RESULT_STATUS]) != rows_label("task_status", "WAITING");
	}
	return heap_form_tuple(desc, values, nulls);
}

/*
 * A function may move on a task that became ERROR, so the rows of these tasks tell
 * their version and status after all functions.
 */
static void
look_at_errors(Ends *ends)
{
	Datum		error = ObjectIdGetDatum(rows_label("task_status", "ERROR"));
	MemoryContext caller = MemoryContextSwitchTo(ends->context);
	Rows	   *rows = rows_open_to_read();
	ListCell   *lc;
	bool		isnull;

	foreach(lc, ends->rows)
		if (heap_getattr(lfirst(lc), RESULT_STATUS + 1, ends->results->setDesc, &isnull) == error)
			lfirst(lc) = as_it_is_now(ends, rows, lfirst(lc));
	rows_close(rows);
	MemoryContextSwitchTo(caller);
}

static void
end_and_call(const EndJob *job, int which, Ends *ends)
{
	ListCell   *lc;

	job->end(job->arg, which, NULL, ends);
	if (ends->nsuccessors > 0)
	{
		Batch	   *batch;

		ends->doing = pstrdup("adding the tasks of its reply");
		batch = successors_check(ends->successors, ends->nsuccessors, ends->patience_ms);
		ends->is_storing = true;
		successors_store(batch);
		ends->is_storing = false;
		ends->doing = NULL;
	}
	foreach(lc, ends->calls)
		call_function(ends, lfirst(lc));
	if (ends->has_errors)
		look_at_errors(ends);
}

static Ends *
new_ends(ReturnSetInfo *results, bool has_functions, bool is_attempt)
{
	Ends	   *ends = palloc0(sizeof(Ends));

	ends->context = CurrentMemoryContext;
	ends->results = results;
	ends->has_functions = has_functions;
	ends->is_attempt = is_attempt;
	ends->patience_ms = KEY_PATIENCE_MS;
	ends->since = is_attempt ? twt_now() : 0;
	return ends;
}

static void
put_rows(Ends *ends)
{
	ListCell   *lc;

	foreach(lc, ends->rows)
		tuplestore_puttuple(ends->results->setResult, lfirst(lc));
	list_free_deep(ends->rows);
}

/* Whether another transaction claims the key of a task that a reply adds. */
static bool
waits_for_key(const Ends *ends, const ErrorData *error)
{
	return ends->is_storing && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
}

/* Whether the server is in trouble. */
static bool
is_servers(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category == ERRCODE_SYSTEM_ERROR ||
		(category == ERRCODE_INSUFFICIENT_RESOURCES &&
		 error->sqlerrcode != ERRCODE_CONFIGURATION_LIMIT_EXCEEDED);
}

static bool
is_nobodys_fault(const Ends *ends, const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_TRANSACTION_ROLLBACK ||
		is_servers(error) || waits_for_key(ends, error);
}

typedef struct Attempt
{
	const EndJob *job;
	int			which;
	Ends	   *ends;
} Attempt;

static void
attempt(void *arg)
{
	Attempt    *it = arg;
	ErrorContextCallback *callers = error_context_stack;

	error_context_stack = NULL; /* no place in our callers counts */
	end_and_call(it->job, it->which, it->ends);
	error_context_stack = callers;
}

/* Returns the error of a function; raises every other error. */
static ErrorData *
try_ends(const EndJob *job, int which, Ends *ends)
{
	Attempt		it = {job, which, ends};
	ErrorData  *error = try_work(attempt, &it);

	if (error == NULL)
		put_rows(ends);
	else if (ends->doing == NULL)
		ReThrowError(error);
	return error;
}

/* A function has failed on this task alone. */
static void
end_in_error(const EndJob *job, int which, const Ends *failed, const ErrorData *error)
{
	Ends	   *ends = new_ends(failed->results, false, false);
	char		places[PLACES_BYTES];
	char	   *fault;

	places_name(error->context, places);
	fault = psprintf("it became %s, but %s failed: %s%s (SQLSTATE %s)",
					 failed->status, failed->doing, error->message, places,
					 unpack_sql_state(error->sqlerrcode));
	job->end(job->arg, which, fault, ends);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("a task is in ERROR: %s", fault),
			 errhint("twtasks.error_tasks has the task with this reason.")));
	pfree(fault);
	pfree(ends);
}

static void
leave(const EndJob *job, int which, ReturnSetInfo *results)
{
	if (job->leave != NULL)
		job->leave(job->arg, which, new_ends(results, false, false));
}

static void
end_alone(const EndJob *job, int which, ReturnSetInfo *results)
{
	Ends	   *ends = new_ends(results, policy_any_on_end(), true);
	ErrorData  *error;

	ends->patience_ms = LONE_PATIENCE_MS;
	error = try_ends(job, which, ends);
	if (error == NULL)
		return;
	if (is_nobodys_fault(ends, error))
		leave(job, which, results);
	else
		end_in_error(job, which, ends, error);
}

/*
 * Each task ends alone.  A function may take its whole time for each, so the
 * statement leaves the tasks that follow after about that time.
 */
static void
end_each(const EndJob *job, ReturnSetInfo *results)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), twt_function_timeout);

	for (int i = 0; i < job->ntasks; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0 && GetCurrentTimestamp() > until)
			leave(job, i, results);
		else
			end_alone(job, i, results);
	}
}

void
on_end_run(const EndJob *job, ReturnSetInfo *results, bool raises)
{
	bool		has_functions = !job->calls_none && policy_any_on_end();
	Ends	   *ends = new_ends(results, has_functions, has_functions || job->adds);
	ErrorData  *error;

	if (!ends->is_attempt || raises)
	{
		ends->patience_ms = 0;
		end_and_call(job, EVERY_TASK, ends);
		put_rows(ends);
		return;
	}
	error = try_ends(job, EVERY_TASK, ends);
	if (error == NULL)
		return;
	if (job->ntasks > 1)
		end_each(job, results);
	else if (waits_for_key(ends, error))
		leave(job, 0, results);
	else if (is_nobodys_fault(ends, error))
		ReThrowError(error);
	else
		end_in_error(job, EVERY_TASK, ends, error);
}
