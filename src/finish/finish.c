/*-------------------------------------------------------------------------
 *
 * finish.c
 *		finish_tasks(): the ways of a task out of PROCESSING, and the ends by hand.
 *
 *		from: sidecar/finish/finish.c
 *
 * One loop moves the tasks that end from the live table to the history, and
 * changes the others in place.  Failures are judged before.  A request to cancel
 * comes under a lock on the row, so the rows of all results that such a request
 * would change are locked first, and then their requests are read.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/arrays.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/path.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "finish/attempts.h"
#include "finish/finish_call.h"
#include "finish/ended.h"
#include "finish/history.h"
#include "finish/judge.h"
#include "finish/live.h"
#include "finish/on_end.h"
#include "node/clock.h"
#include "policy/policy.h"

/* Tasks that are under way out of PROCESSING. */
typedef struct Finish
{
	FinishCall *call;
	Ends	   *ends;
	Rows	   *rows;
	History    *history;		/* NULL until a row needs it */
	Datum	   *deleted;		/* ids of tasks that leave no trace */
	int			ndeleted;
} Finish;

/* Deletes the row and returns it; NULL if the caller may not finish the task. */
static TupleTableSlot *
take_row(const FinishCall *call, const Try *try, Rows *rows)
{
	TupleTableSlot *row = rows_find_at(rows, try->id, &try->place);

	while (row != NULL && finish_call_may(call, try, row))
		switch (rows_delete(rows, row))
		{
			case ROW_OK:
				return row;
			case ROW_CHANGED:
				break;
			case ROW_GONE:
				return NULL;
		}
	return NULL;
}

/* Reports a task that has ended, and tells its function. */
static void
put_ended(const Finish *finish, const Try *try, TupleTableSlot *row, const Ending *ending)
{
	Datum		values[RESULT_COLUMNS] = {
		row_value(row, TASK_ID), Int64GetDatum(DatumGetInt64(row_value(row, TASK_VERSION)) + 1),
		ObjectIdGetDatum(ending->status)
	};
	bool		nulls[RESULT_COLUMNS] = {[RESULT_DELAY_MS] = true};

	ends_report(finish->ends, values, nulls);
	if (try->adds != NULL)
		ends_add_successors(finish->ends, try->adds, row_value(row, TASK_CONTEXT), !row_null(row, TASK_CONTEXT));
	if (ends_want(finish->ends, row_value(row, TASK_TYPE)))
		ends_add(finish->ends, ended_row(row, ending, finish->call->now, try->outcome));
}

/* Lets the keys of tasks that left no trace be used again. */
static void
free_keys(Datum *ids, int n)
{
	Datum		values[1] = {
		PointerGetDatum(construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR))
	};
	int			pinned = plan_begin();

	plan_execute(PLAN_FREE_KEYS, values, NULL);
	plan_end(pinned);
}

/* Appends the row to the history, unless nothing of it is kept. */
static void
keep_row(Finish *finish, const Try *try, TupleTableSlot *row, const Ending *ending)
{
	int			rule = try->result == TRY_DELETE ? DONE_DELETE : !try_is_done(try) ? DONE_KEEP :
		policy_of_text(row_value(row, TASK_TYPE))->when_done;

	/* A decision of a person stays to be seen. */
	if (rule == DONE_DELETE && finish->call->by_hand)
		rule = DONE_CLEAR;
	if (rule == DONE_DELETE)
	{
		if (finish->deleted == NULL)
			finish->deleted = palloc(finish->call->n * sizeof(Datum));
		finish->deleted[finish->ndeleted++] = UUIDPGetDatum(try->id);
		return;
	}
	if (rule == DONE_CLEAR)
		row->tts_isnull[TASK_DATA - 1] = row->tts_isnull[TASK_PAYLOAD - 1] = true;
	if (finish->history == NULL)
		finish->history = history_open(finish->call->now);
	history_add(finish->history, row, ending, rule == DONE_KEEP ? try->outcome : NULL);
}

static Ending
ending_of(const FinishCall *call, const Try *try, TupleTableSlot *row)
{
	Ending		ending = {.status = call->done, .incarnation = call->incarnation, .token = call->token};
	NullableDatum of_row = {row_value(row, TASK_INCARNATION), row_null(row, TASK_INCARNATION)};

	if (try_is_done(try))
		ending.message = try_message(try);
	else
	{
		ending.status = try->status;
		ending.error = try_message(try);
	}
	if (call->by_hand && DatumGetObjectId(row_value(row, TASK_STATUS)) == call->processing)
		ending.incarnation = of_row;
	return ending;
}

static void
finish_ended(Finish *finish, Try *try)
{
	TupleTableSlot *row = take_row(finish->call, try, finish->rows);
	Ending		ending;

	try->is_finished = row != NULL;
	if (row == NULL)
		return;
	ending = ending_of(finish->call, try, row);
	put_ended(finish, try, row, &ending);
	attempts_add(finish->call->attempts, row, attempt_of_end(finish->call, try, row, ending.status),
				 ending.error, NULL);
	keep_row(finish, try, row, &ending);
}

/* Takes the request away, and writes the audit. */
static void
note_cancels(const FinishCall *call)
{
	int			pinned = plan_begin();
	bool		has_person = get_attnum(rows_relation("cancel_request"), "on_behalf_of") != InvalidAttrNumber;

	for (int i = 0; i < call->n; i++)
	{
		const Try  *try = &call->tries[i];
		Datum		values[] = {UUIDPGetDatum(try->id), try->facts, TimestampTzGetDatum(call->now)};

		if (try->facts != 0 && try->is_finished)
			plan_execute(has_person ? PLAN_NOTE_CANCEL : PLAN_NOTE_CANCEL_OF_1_0, values, NULL);
	}
	plan_end(pinned);
}

/* A task that neither ends nor is locked is not for the caller to finish. */
static void
finish_locked(FinishCall *call, Ends *ends)
{
	Finish		finish = {.call = call, .ends = ends, .rows = rows_open()};
	bool		any_cancelled = false;

	call->attempts = attempts_begin(call->now, call->n);
	for (int i = 0; i < call->n; i++)
	{
		Try		   *try = &call->tries[i];

		CHECK_FOR_INTERRUPTS();
		if (try_ends(try))
			finish_ended(&finish, try);
		else if (try->is_locked)
			live_change(call, try, finish.rows, ends);
		any_cancelled |= try->facts != 0;
	}
	/* Triggers of users see the audit. */
	if (any_cancelled && finish.history != NULL)
	{
		history_flush(finish.history);
		note_cancels(call);
	}
	if (finish.history != NULL)
		history_close(finish.history);
	rows_close(finish.rows);
	attempts_write(call->attempts);
	if (finish.ndeleted > 0)
		free_keys(finish.deleted, finish.ndeleted);
}

/* The function may change rows, so we take a new snapshot afterwards. */
static Rows *
ask_function(const char *function, TupleTableSlot *row, Rows *rows, TimestampTz until, Try *try)
{
	Datum		values[INPUT_COLUMNS];
	bool		nulls[INPUT_COLUMNS];
	Datum		task;

	row_input(row, values, nulls);
	task = shape_form(&input_shape, values, nulls);
	rows_close(rows);
	judge_by_function(function, task, until, try);
	return rows_open_to_read();
}

/*
 * Puts the judgements into the call; ask: functions judge, too.  Functions may
 * take long, so no row is locked yet.  A task that the caller may no longer finish
 * keeps its result.
 */
static void
judge_all(FinishCall *call, bool ask)
{
	TimestampTz until = ask ? TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Max(twt_function_timeout, 100)) : 0;
	Rows	   *rows = NULL;

	for (int i = 0; i < call->n; i++)
	{
		Try		   *try = &call->tries[i];
		TupleTableSlot *row;
		char	   *function;

		CHECK_FOR_INTERRUPTS();
		if (try->retry == NULL)
			continue;
		if (rows == NULL)
			rows = rows_open_to_read();
		row = rows_find_at(rows, try->id, &try->place);
		if (row == NULL || !finish_call_may(call, try, row))
			continue;
		function = judge_by_figures(row_value(row, TASK_TYPE),
									DatumGetInt32(row_value(row, TASK_TRIES)), try);
		if (function != NULL && ask)
			rows = ask_function(function, row, rows, until, try);
	}
	if (rows != NULL)
		rows_close(rows);
}

static void
lock_row(const FinishCall *call, Try *try, Rows *rows)
{
	TupleTableSlot *row = rows_find_at(rows, try->id, &try->place);

	try->is_locked = row != NULL && finish_call_may(call, try, row) &&
		rows_lock(rows, row) && finish_call_may(call, try, row);
	if (try->is_locked)
		try->place = row->tts_tid;
}

/* A column of the row that was found, in the memory of the call. */
static Datum
found(int column)
{
	bool		isnull;

	return SPI_datumTransfer(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull), false, -1);
}

/* A request counts only for a task that the caller may finish. */
static void
find_cancel(Try *try)
{
	Datum		id = UUIDPGetDatum(try->id);

	if (plan_execute(PLAN_FIND_CANCEL, &id, NULL) == 0)
		return;
	try->status = rows_label("task_status", "CANCELLED");
	try->why = DatumGetTextPP(found(1));
	try->facts = found(2);
}

/* Only done and delete win over a request to cancel. */
static void
honour_cancels(FinishCall *call)
{
	int			pinned = plan_begin();
	bool		any_request = plan_execute(PLAN_ANY_CANCEL, NULL, NULL) > 0;

	for (int i = 0; i < call->n; i++)
	{
		Try		   *try = &call->tries[i];

		if (any_request && try->is_locked && try->result != TRY_LATER && try->result != TRY_FAULT)
			find_cancel(try);
		if (try->result == TRY_CANCELLED)
			try->is_locked = false;
	}
	plan_end(pinned);
}

/*
 * Locks the rows of tasks that may stay in the live table; false: there are none.
 * A caller that ends tasks by hand has locked their rows.
 */
static bool
lock_others(FinishCall *call)
{
	Rows	   *rows = NULL;

	for (int i = 0; i < call->n; i++)
	{
		Try		   *try = &call->tries[i];

		CHECK_FOR_INTERRUPTS();
		try->is_finished = false;
		try->is_locked = call->by_hand;
		try->facts = 0;
		try->why = NULL;
		if (call->by_hand || try_ends(try))
			continue;
		if (rows == NULL)
			rows = rows_open();
		lock_row(call, try, rows);
	}
	if (rows != NULL)
		rows_close(rows);
	return rows != NULL;
}

static void
lock_and_finish(FinishCall *call, Ends *ends)
{
	call->now = twt_now();
	if (lock_others(call))
		honour_cancels(call);
	finish_locked(call, ends);
}

/* The try with that number, or EVERY_TASK; the tries are the call's own. */
static FinishCall
part_of(FinishCall *call, int which)
{
	FinishCall	part = *call;

	if (which != EVERY_TASK)
	{
		part.tries += which;
		part.n = 1;
	}
	return part;
}

/* Why a leader ends a task says more than the fault that follows. */
static text *
add_fault(const Try *try, const char *fault)
{
	if (try->what == NULL || try->message == NULL)
		return cstring_to_text(fault);
	return cstring_to_text(psprintf("%s; %s", text_to_cstring(try->message), fault));
}

/* In place of what the caller gave. */
static void
set_results(FinishCall *call, TryResult result, const char *fault)
{
	for (int i = 0; i < call->n; i++)
	{
		call->tries[i].result = result;
		call->tries[i].message = fault == NULL ? NULL : add_fault(&call->tries[i], fault);
	}
}

static void
finish_for_job(void *arg, int which, const char *fault, Ends *ends)
{
	FinishCall	part = part_of(arg, which);

	if (fault != NULL)
		set_results(&part, TRY_FAULT, fault);
	lock_and_finish(&part, ends);
}

/* The caller finishes the task again. */
static void
leave_for_job(void *arg, int which, Ends *ends)
{
	FinishCall	part = part_of(arg, which);

	set_results(&part, TRY_LATER, NULL);
	lock_and_finish(&part, ends);
}

static void
finish_with_functions(FinishCall *call, ReturnSetInfo *results, bool raises)
{
	EndJob		job = {call, call->n, finish_for_job, leave_for_job, call->args[ARG_ADDS].n > 0};

	on_end_run(&job, results, raises);
}

void
finish_by_hand(FinishCall *call, ReturnSetInfo *results, bool calls_functions)
{
	EndJob		job = {call, call->n, finish_for_job, .calls_none = !calls_functions};

	on_end_run(&job, results, false);
}

int
finish_tries(FinishCall *call)
{
	int			finished = 0;
	int			pinned = path_pin();

	finish_with_functions(call, NULL, true);
	for (int i = 0; i < call->n; i++)
		finished += call->tries[i].is_finished;
	path_unpin(pinned);
	return finished;
}

static void
tell_late(const FinishCall *call, const int *which, int n)
{
	Datum		values[] = {
		chosen_array(&call->args[ARG_IDS], which, n, UUIDOID),
		chosen_array(&call->args[ARG_VERSIONS], which, n, INT8OID),
		chosen_array(&call->args[ARG_RESULTS], which, n, TEXTOID),
		chosen_array(&call->args[ARG_MESSAGES], which, n, TEXTOID),
		chosen_array(&call->args[ARG_OUTCOMES], which, n, JSONBOID)
	};
	int			pinned = plan_begin();

	plan_execute(PLAN_TELL_LATE, values, NULL);
	plan_end(pinned);
}

/*
 * A worker may report a result after its task was taken over, finished or
 * changed by another.  Its handler may have done its work, so functions of other
 * extensions hear of that: see sql/run/tell_late.sql.
 */
static void
tell_refused(const FinishCall *call)
{
	int		   *which = palloc(call->n * sizeof(int));
	int			n = 0;

	for (int i = 0; i < call->n; i++)
		if (!call->tries[i].is_finished)
			which[n++] = call->tries[i].number;
	if (n > 0)
		tell_late(call, which, n);
}

static Datum
act_finish_tasks(FunctionCallInfo fcinfo)
{
	FinishCall	call;
	bool		raises = !PG_ARGISNULL(ARG_RAISES) && PG_GETARG_BOOL(ARG_RAISES);

	PreventCommandIfReadOnly("twtasks_internal.finish_tasks()");
	PreventCommandIfParallelMode("twtasks_internal.finish_tasks()");
	finish_call_read(fcinfo, &call);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	judge_all(&call, !PG_ARGISNULL(ARG_ASK) && PG_GETARG_BOOL(ARG_ASK));
	finish_with_functions(&call, (ReturnSetInfo *) fcinfo->resultinfo, raises);
	if (!raises)
		tell_refused(&call);
	return (Datum) 0;
}

TWT_FUNCTION_AS_OWNER(twt_finish_tasks, act_finish_tasks);
