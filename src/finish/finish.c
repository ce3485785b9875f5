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
#include "base/plan.h"
#include "base/rows.h"
#include "base/settings.h"
#include "finish/finish.h"
#include "finish/history.h"
#include "finish/judge.h"
#include "node/clock.h"
#include "policy/policy.h"

/* A longer message of a handler keeps its beginning and its end. */
#define MESSAGE_MAX 8192
#define MESSAGE_HEAD 1000
#define MESSAGE_TAIL 7185

typedef enum FinishArg
{
	ARG_IDS,
	ARG_VERSIONS,
	ARG_RESULTS,
	ARG_DELAYS_MS,
	ARG_MESSAGES,
	ARG_INCARNATION,
	ARG_TOKEN,
	ARG_GRABS,
	ARG_PLACES,
	ARG_RETRIES,
	ARG_ASK,
	FINISH_ARGS
} FinishArg;

/* The columns of the result. */
enum
{
	RESULT_ID,
	RESULT_VERSION,
	RESULT_STATUS,
	RESULT_DELAY_MS,
	RESULT_COLUMNS
};

typedef struct FinishCall
{
	Elements	ids;
	Elements	versions;
	Elements	results;
	Elements	delays_ms;
	Elements	messages;
	Elements	grabs;			/* n 0: any */
	Elements	places;			/* n 0: not known */
	Elements	retries;		/* n 0: nothing is judged */
	TimestampTz ask_until;		/* see judge.h */
	Oid			processing;
	Ending		ending;
	bool		has_others;		/* results that are not "done" */
} FinishCall;

void
finish_check_result(const char *result)
{
	static const char *const known[] = {
		"done", "delete", "retry", "repeat", "error", "accepted", "release", "cancelled"
	};

	for (size_t i = 0; i < lengthof(known) && result != NULL; i++)
		if (strcmp(result, known[i]) == 0)
			return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 result == NULL ? errmsg("unrecognized result: NULL") :
			 errmsg("unrecognized result: \"%s\"", result),
			 errhint("Results are done, delete, retry, repeat, error, accepted, release and cancelled.")));
}

static void
check_results(FinishCall *call)
{
	for (int i = 0; i < call->results.n; i++)
	{
		if (element_is(&call->results, i, "done"))
			continue;
		call->has_others = true;
		finish_check_result(call->results.nulls[i] ? NULL :
							TextDatumGetCString(call->results.values[i]));
	}
}

static void
read_arguments(FunctionCallInfo fcinfo, FinishCall *call)
{
	memset(call, 0, sizeof(*call));
	call->ids = elements_of(fcinfo, ARG_IDS, "ids");
	call->versions = elements_of(fcinfo, ARG_VERSIONS, "versions");
	call->results = elements_of(fcinfo, ARG_RESULTS, "results");
	call->delays_ms = elements_of(fcinfo, ARG_DELAYS_MS, "delays_ms");
	call->messages = elements_of(fcinfo, ARG_MESSAGES, "messages");
	check_length(&call->versions, call->ids.n);
	check_length(&call->results, call->ids.n);
	check_length(&call->delays_ms, call->ids.n);
	check_length(&call->messages, call->ids.n);
	if (!PG_ARGISNULL(ARG_GRABS))
	{
		call->grabs = elements_of(fcinfo, ARG_GRABS, "grabs");
		check_length(&call->grabs, call->ids.n);
	}
	if (!PG_ARGISNULL(ARG_RETRIES))
	{
		call->retries = elements_of(fcinfo, ARG_RETRIES, "retries");
		check_length(&call->retries, call->ids.n);
	}
	call->ask_until = PG_ARGISNULL(ARG_ASK) || !PG_GETARG_BOOL(ARG_ASK) ? DT_NOBEGIN :
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), Max(twt_function_timeout, 100));
	call->places = places_of(fcinfo, ARG_PLACES, call->ids.n);
	check_results(call);
	call->processing = rows_label("task_status", "PROCESSING");
	call->ending.status = rows_label("task_status", "DONE");
	call->ending.has_incarnation = !PG_ARGISNULL(ARG_INCARNATION) && !PG_ARGISNULL(ARG_TOKEN);
	if (call->ending.has_incarnation)
	{
		call->ending.incarnation = PG_GETARG_INT64(ARG_INCARNATION);
		call->ending.token = PG_GETARG_INT64(ARG_TOKEN);
	}
}

/* A token is unique within its incarnation only.  An accepted task has neither. */
static bool
is_grab(const FinishCall *call, int i, TupleTableSlot *row)
{
	if (call->grabs.n == 0 || element_null(&call->grabs, i))
		return true;
	if (call->ending.has_incarnation && !row_null(row, TASK_INCARNATION) &&
		DatumGetInt64(row_value(row, TASK_INCARNATION)) != call->ending.incarnation)
		return false;
	return row_null(row, TASK_TOKEN) ||
		DatumGetInt64(row_value(row, TASK_TOKEN)) == DatumGetInt64(element(&call->grabs, i));
}

/*
 * A crash of the server may undo a grab, and the next grab gives the same
 * version again.  The token of the grab tells these two apart.
 */
static bool
may_finish(const FinishCall *call, int i, TupleTableSlot *row)
{
	if (DatumGetObjectId(row_value(row, TASK_STATUS)) != call->processing ||
		DatumGetInt64(row_value(row, TASK_VERSION)) != DatumGetInt64(element(&call->versions, i)))
		return false;
	return is_grab(call, i, row);
}

/* Deletes the row and returns it; NULL if the caller may not finish the task. */
static TupleTableSlot *
take_row(const FinishCall *call, int i, Rows *rows)
{
	TupleTableSlot *row = rows_find_at(rows, DatumGetUUIDP(call->ids.values[i]),
									   element_place(&call->places, i));

	while (row != NULL && may_finish(call, i, row))
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

PG_FUNCTION_INFO_V1(twt_cut_message);
Datum
twt_cut_message(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cut_message(PG_GETARG_TEXT_PP(0)));
}

static void
put_result(ReturnSetInfo *results, Datum id, int64 version, Datum status)
{
	Datum		values[RESULT_COLUMNS] = {id, Int64GetDatum(version), status};
	bool		nulls[RESULT_COLUMNS] = {[RESULT_DELAY_MS] = true};

	tuplestore_putvalues(results->setResult, results->setDesc, values, nulls);
}

/* Lets the keys of tasks that left no trace be used again. */
static void
free_keys(Datum *ids, int n)
{
	Datum		values[1] = {
		PointerGetDatum(construct_array(ids, n, UUIDOID, UUID_LEN, false, TYPALIGN_CHAR))
	};

	plan_begin();
	plan_execute(PLAN_FREE_KEYS, values, NULL);
	SPI_finish();
}

/* Appends the row to the history; false if the policy keeps nothing of it. */
static bool
keep_row(FinishCall *call, int i, History **history, TupleTableSlot *row)
{
	int			rule = policy_of_text(row_value(row, TASK_TYPE))->when_done;

	if (rule == DONE_DELETE)
		return false;
	if (rule == DONE_CLEAR)
		row->tts_isnull[TASK_DATA - 1] = row->tts_isnull[TASK_PAYLOAD - 1] = true;
	if (*history == NULL)
		*history = history_open(twt_now());
	call->ending.message = element_null(&call->messages, i) ? NULL :
		cut_message(DatumGetTextPP(element(&call->messages, i)));
	history_add(*history, row, &call->ending);
	return true;
}

static void
finish_done(FinishCall *call, ReturnSetInfo *results)
{
	Rows	   *rows = rows_open();
	History    *history = NULL;
	Datum	   *deleted = NULL;
	int			ndeleted = 0;

	for (int i = 0; i < call->ids.n; i++)
	{
		TupleTableSlot *row;

		CHECK_FOR_INTERRUPTS();
		if (call->ids.nulls[i] || element_null(&call->versions, i) ||
			!element_is(&call->results, i, "done"))
			continue;
		row = take_row(call, i, rows);
		if (row == NULL)
			continue;
		if (!keep_row(call, i, &history, row))
		{
			if (deleted == NULL)
				deleted = palloc(call->ids.n * sizeof(Datum));
			deleted[ndeleted++] = call->ids.values[i];
		}
		put_result(results, row_value(row, TASK_ID),
				   DatumGetInt64(row_value(row, TASK_VERSION)) + 1,
				   ObjectIdGetDatum(call->ending.status));
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
	TupleDesc	desc = lookup_rowtype_tupdesc(rows_type("task_input"), -1);
	Datum		values[INPUT_COLUMNS];
	bool		nulls[INPUT_COLUMNS];
	Datum		task;

	row_input(row, values, nulls);
	task = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	ReleaseTupleDesc(desc);
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

	if (row == NULL || !may_finish(call, i, row))
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

static Datum
array_of(const Elements *elements, Oid type, int len, bool byval, char align)
{
	return PointerGetDatum(construct_array(elements->values, elements->n, type, len, byval, align));
}

static void
finish_others(FunctionCallInfo fcinfo, const FinishCall *call)
{
	ReturnSetInfo *results = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[FINISH_ARGS];
	char		nulls[FINISH_ARGS];
	uint64		n;

	for (int i = 0; i < FINISH_ARGS; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	if (call->retries.n > 0)
	{
		values[ARG_RESULTS] = array_of(&call->results, TEXTOID, -1, false, TYPALIGN_INT);
		values[ARG_DELAYS_MS] = array_of(&call->delays_ms, INT8OID, sizeof(int64),
										 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	}
	plan_begin();
	n = plan_execute(PLAN_FINISH_OTHERS, values, nulls);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		columns[RESULT_COLUMNS];
		bool		are_null[RESULT_COLUMNS];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, columns, are_null);
		tuplestore_putvalues(results->setResult, results->setDesc, columns, are_null);
	}
	SPI_finish();
}

PG_FUNCTION_INFO_V1(twt_finish_tasks);
Datum
twt_finish_tasks(PG_FUNCTION_ARGS)
{
	FinishCall	call;

	PreventCommandIfReadOnly("twtasks_internal.finish_tasks()");
	PreventCommandIfParallelMode("twtasks_internal.finish_tasks()");
	read_arguments(fcinfo, &call);
	InitMaterializedSRF(fcinfo, 0);
	if (call.has_others)
	{
		if (call.retries.n > 0)
			judge_all(&call);
		finish_others(fcinfo, &call);
	}
	finish_done(&call, (ReturnSetInfo *) fcinfo->resultinfo);
	return (Datum) 0;
}
