/*-------------------------------------------------------------------------
 *
 * finish.c
 *		finish_tasks(): the ways of a task out of PROCESSING.
 *
 *		from: sidecar/finish/finish.c
 *
 * Nearly all tasks become DONE.  C code moves these row by row from the live
 * table to the history.  finish_others(), in SQL, applies the other results,
 * after failures were judged here.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "base/arrays.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "finish/finish_call.h"
#include "finish/ended.h"
#include "finish/history.h"
#include "finish/judge.h"
#include "finish/late.h"
#include "finish/on_end.h"
#include "node/clock.h"
#include "policy/policy.h"

/* A longer message of a handler keeps its beginning and its end. */
#define MESSAGE_MAX 8192
#define MESSAGE_HEAD 1000
#define MESSAGE_TAIL 7185

/* The column of finish_others() after those of the result. */
#define OTHERS_ENDED RESULT_COLUMNS

/* Deletes the row and returns it; NULL if the caller may not finish the task. */
static TupleTableSlot *
take_row(const FinishCall *call, int i, Rows *rows)
{
	TupleTableSlot *row = rows_find_at(rows, DatumGetUUIDP(call->ids.values[i]),
									   element_place(&call->places, i));

	while (row != NULL && finish_call_may(call, i, row))
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

static text *
cut_message(text * message)
{
	Datum		whole = PointerGetDatum(message);
	int			length = DatumGetInt32(DirectFunctionCall1(textlen, whole));
	StringInfoData cut;

	if (length <= MESSAGE_MAX)
		return message;
	initStringInfo(&cut);
	appendStringInfo(&cut, "%s [...] %s",
					 TextDatumGetCString(DirectFunctionCall2(text_left, whole,
															 Int32GetDatum(MESSAGE_HEAD))),
					 TextDatumGetCString(DirectFunctionCall2(text_right, whole,
															 Int32GetDatum(MESSAGE_TAIL))));
	return cstring_to_text_with_len(cut.data, cut.len);
}

TWT_FUNCTION(twt_cut_message);
Datum
twt_cut_message(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cut_message(PG_GETARG_TEXT_PP(0)));
}

static text *
message_of(const FinishCall *call, int i)
{
	return element_null(&call->messages, i) ? NULL :
		cut_message(DatumGetTextPP(element(&call->messages, i)));
}

/* Reports a task that is DONE, and tells its function. */
static void
put_done(const FinishCall *call, int i, TupleTableSlot *row, Ends *ends)
{
	int64		version = DatumGetInt64(row_value(row, TASK_VERSION)) + 1;
	Datum		values[RESULT_COLUMNS] = {
		row_value(row, TASK_ID), Int64GetDatum(version), ObjectIdGetDatum(call->ending.status)
	};
	bool		nulls[RESULT_COLUMNS] = {[RESULT_DELAY_MS] = true};
	Jsonb	   *adds = finish_call_adds(call, i);

	ends_report(ends, values, nulls);
	if (adds != NULL)
		ends_add_successors(ends, adds, row_value(row, TASK_CONTEXT), !row_null(row, TASK_CONTEXT));
	if (ends_want(ends, row_value(row, TASK_TYPE)))
		ends_add(ends, ended_done(row, &call->ending, finish_call_outcome(call, i)));
}

/* Lets the keys of tasks that left no trace be used again. */
static void
free_keys(Datum *ids, int n)
{
	Datum		values[1] = {
		PointerGetDatum(construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR))
	};
	int			pinned;

	pinned = plan_begin();
	plan_execute(PLAN_FREE_KEYS, values, NULL);
	plan_end(pinned);
}

/* Appends the row to the history; false if nothing of it is kept. */
static bool
keep_row(FinishCall *call, int i, History **history, TupleTableSlot *row)
{
	int			rule = element_is(&call->results, i, "delete") ? DONE_DELETE :
		policy_of_text(row_value(row, TASK_TYPE))->when_done;

	if (rule == DONE_DELETE)
		return false;
	if (rule == DONE_CLEAR)
		row->tts_isnull[TASK_DATA - 1] = row->tts_isnull[TASK_PAYLOAD - 1] = true;
	if (*history == NULL)
		*history = history_open(twt_now());
	history_add(*history, row, &call->ending);
	return true;
}

static void
finish_done(FinishCall *call, Ends *ends)
{
	Rows	   *rows = rows_open();
	History    *history = NULL;
	Datum	   *deleted = NULL;
	int			ndeleted = 0;

	for (int i = 0; i < call->ids.n; i++)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		if (!finish_call_is_done(call, i))
			continue;
		row = take_row(call, i, rows);
		if (row == NULL)
			continue;
		call->ending.message = message_of(call, i);
		put_done(call, i, row, ends);
		if (!keep_row(call, i, &history, row))
		{
			if (deleted == NULL)
				deleted = palloc(call->ids.n * sizeof(Datum));
			deleted[ndeleted++] = call->ids.values[i];
		}
	}
	if (history != NULL)
		history_close(history);
	rows_close(rows);
	if (ndeleted > 0)
		free_keys(deleted, ndeleted);
}

static bool
is_judged(const FinishCall *call, int i)
{
	return !element_null(&call->retries, i) && !call->ids.nulls[i] &&
		(element_is(&call->results, i, "retry") || element_is(&call->results, i, "repeat"));
}

static Answer
answer_of(const FinishCall *call, int i)
{
	Answer		answer = {
		.is_repeat = element_is(&call->results, i, "repeat"),
		.has_delay = !element_null(&call->delays_ms, i),
		.retry = DatumGetJsonbP(element(&call->retries, i)),
		.ask_until = call->ask_until
	};

	if (answer.has_delay)
		answer.delay_ms = DatumGetInt64(element(&call->delays_ms, i));
	if (!element_null(&call->messages, i))
		answer.message = DatumGetTextPP(element(&call->messages, i));
	return answer;
}

/* The function may change rows, so we take a new snapshot afterwards. */
static Rows *
ask_function(const char *function, TupleTableSlot *row, Rows *rows, Answer *answer)
{
	Datum		values[INPUT_COLUMNS];
	bool		nulls[INPUT_COLUMNS];
	Datum		task;

	row_input(row, values, nulls);
	task = shape_form(&input_shape, values, nulls);
	rows_close(rows);
	judge_by_function(function, task, answer);
	return rows_open_to_read();
}

/* Returns false if the caller may no longer finish the task. */
static bool
judge_one(const FinishCall *call, int i, Rows **rows, Answer *answer)
{
	TupleTableSlot *row = rows_find_at(*rows, DatumGetUUIDP(call->ids.values[i]),
									   element_place(&call->places, i));
	char	   *function;

	if (row == NULL || !finish_call_may(call, i, row))
		return false;
	function = judge_by_figures(row_value(row, TASK_TYPE),
								DatumGetInt32(row_value(row, TASK_TRIES)), answer);
	if (function != NULL)
		*rows = ask_function(function, row, *rows, answer);
	return true;
}

/*
 * Writes the judgements into results and delays_ms.  No row is locked yet,
 * because functions of policies may take long.
 */
static void
judge_all(FinishCall *call)
{
	Rows	   *rows = rows_open_to_read();
	Elements	results = {.n = call->ids.n};
	Elements	delays_ms = {.n = call->ids.n};

	results.values = palloc(results.n * sizeof(Datum));
	results.nulls = delays_ms.nulls = palloc0(results.n * sizeof(bool));
	delays_ms.values = palloc(results.n * sizeof(Datum));
	for (int i = 0; i < call->ids.n; i++)
	{
		Answer		answer;

		CHECK_FOR_INTERRUPTS();
		results.values[i] = element(&call->results, i);
		delays_ms.values[i] = element_null(&call->delays_ms, i) ? Int64GetDatum(0) :
			element(&call->delays_ms, i);
		if (!is_judged(call, i))
			continue;
		answer = answer_of(call, i);
		if (!judge_one(call, i, &rows, &answer))
			continue;
		results.values[i] = CStringGetTextDatum(answer.result);
		delays_ms.values[i] = Int64GetDatum(answer.delay_ms);
	}
	rows_close(rows);
	call->results = results;
	call->delays_ms = delays_ms;
}

static void
add_ended(const FinishCall *call, Datum id, Datum version, Datum task, Ends *ends)
{
	Jsonb	   *outcome = finish_call_outcome_of(call, DatumGetUUIDP(id), DatumGetInt64(version) - 1);

	ends_add(ends, outcome == NULL ? task : ended_with_outcome(task, outcome));
}

static void
finish_others(const FinishCall *call, Ends *ends)
{
	Datum		values[OTHERS_ARGS] = {
		elements_array(&call->ids, UUIDOID), elements_array(&call->versions, INT8OID),
		elements_array(&call->results, TEXTOID), elements_array(&call->delays_ms, INT8OID),
		elements_array(&call->messages, TEXTOID), call->incarnation.value, call->token.value
	};
	char		nulls[OTHERS_ARGS] = "       n";
	uint64		n;
	int			pinned;

	nulls[ARG_INCARNATION] = call->incarnation.isnull ? 'n' : ' ';
	nulls[ARG_TOKEN] = call->token.isnull ? 'n' : ' ';
	if (call->grabs.n > 0)
	{
		values[ARG_GRABS] = elements_array(&call->grabs, INT8OID);
		nulls[ARG_GRABS] = ' ';
	}
	pinned = plan_begin();
	n = plan_execute(PLAN_FINISH_OTHERS, values, nulls);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[RESULT_COLUMNS + 1];
		bool		are_null[RESULT_COLUMNS + 1];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, columns, are_null);
		ends_report(ends, columns, are_null);
		if (!are_null[OTHERS_ENDED])
			add_ended(call, columns[RESULT_ID], columns[RESULT_VERSION], columns[OTHERS_ENDED], ends);
	}
	plan_end(pinned);
}

static void
finish_some(FinishCall *call, Ends *ends)
{
	if (call->has_others)
		finish_others(call, ends);
	finish_done(call, ends);
}

static void
finish_for_job(void *arg, int which, const char *fault, Ends *ends)
{
	FinishCall	call = which == EVERY_TASK ? *(FinishCall *) arg : finish_call_one(arg, which);

	if (fault != NULL)
		finish_call_change(&call, "fault", fault);
	finish_some(&call, ends);
}

/* The caller finishes the task again. */
static void
leave_for_job(void *arg, int which, Ends *ends)
{
	FinishCall	call = finish_call_one(arg, which);

	finish_call_change(&call, "later", NULL);
	finish_some(&call, ends);
}

static Datum
act_finish_tasks(FunctionCallInfo fcinfo)
{
	FinishCall	call;
	FinishCall	given;
	EndJob		job = {&call, 0, finish_for_job, leave_for_job};

	PreventCommandIfReadOnly("twtasks_internal.finish_tasks()");
	PreventCommandIfParallelMode("twtasks_internal.finish_tasks()");
	finish_call_read(fcinfo, &call);
	given = call;
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (call.has_others && call.retries.n > 0)
		judge_all(&call);
	job.ntasks = call.ids.n;
	job.adds = call.adds.n > 0;
	on_end_run(&job, (ReturnSetInfo *) fcinfo->resultinfo, call.raises);
	if (!call.raises)
		late_tell(&given, (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}

TWT_FUNCTION(twt_finish_tasks);
Datum
twt_finish_tasks(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, act_finish_tasks);
}
