/*-------------------------------------------------------------------------
 *
 * finish_call.c
 *		Tries that a call ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/builtins.h"

#include "base/contract.h"
#include "base/rows.h"
#include "finish/finish_call.h"

/* A longer message of a handler keeps its beginning and its end. */
#define MESSAGE_MAX 8192
#define MESSAGE_HEAD 1000
#define MESSAGE_TAIL 7185

static const char *const result_names[TRY_LATER] = {
	"done", "delete", "retry", "repeat", "error", "accepted", "release", "cancelled"
};

const char *
try_result_name(TryResult result)
{
	return result < TRY_LATER ? result_names[result] : NULL;
}

TryResult
try_result_of(const char *name)
{
	for (TryResult result = TRY_DONE; result < TRY_LATER && name != NULL; result++)
		if (strcmp(name, result_names[result]) == 0)
			return result;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 name == NULL ? errmsg("unrecognized result: NULL") :
			 errmsg("unrecognized result: \"%s\"", name),
			 errhint("Results are done, delete, retry, repeat, error, accepted, release and cancelled.")));
}

/* Nearly all tasks become done. */
static TryResult
result_of(const Elements *results, int i)
{
	if (element_is(results, i, "done"))
		return TRY_DONE;
	return try_result_of(element_null(results, i) ? NULL : TextDatumGetCString(element(results, i)));
}

static NullableDatum
datum_of(const Elements *elements, int i)
{
	NullableDatum none = {.isnull = true};

	if (elements->n == 0 || element_null(elements, i))
		return none;
	return (NullableDatum)
	{
		element(elements, i), false
	};
}

static Jsonb *
json_of(const Elements *elements, int i)
{
	NullableDatum json = datum_of(elements, i);

	return json.isnull ? NULL : DatumGetJsonbP(json.value);
}

static void
check_try(const Try *try)
{
	const char *fault = NULL;

	if (try->outcome != NULL && !JB_ROOT_IS_OBJECT(try->outcome))
		fault = "an outcome must be a JSON object";
	else if (try->adds != NULL && (!JB_ROOT_IS_ARRAY(try->adds) || JB_ROOT_IS_SCALAR(try->adds)))
		fault = "tasks to add must be a JSON array";
	else if (try->adds != NULL && !try_is_done(try))
		fault = "tasks can be added only with the results done and delete";
	if (fault != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_internal("%s", fault)));
}

static Try
try_of(const Elements *args, int i)
{
	NullableDatum message = datum_of(&args[ARG_MESSAGES], i);
	NullableDatum delay_ms = datum_of(&args[ARG_DELAYS_MS], i);
	ItemPointer place = element_place(&args[ARG_PLACES], i);
	Try			try = {
		.number = i,
		.grab = datum_of(&args[ARG_GRABS], i),
		.result = result_of(&args[ARG_RESULTS], i),
		.has_delay = !delay_ms.isnull,
		.delay_ms = delay_ms.isnull ? 0 : DatumGetInt64(delay_ms.value),
		.message = message.isnull ? NULL : DatumGetTextPP(message.value),
		.outcome = json_of(&args[ARG_OUTCOMES], i),
		.adds = json_of(&args[ARG_ADDS], i)
	};

	if (try.result == TRY_RETRY || try.result == TRY_REPEAT)
		try.retry = json_of(&args[ARG_RETRIES], i);
	if (place != NULL)
		try.place = *place;
	check_try(&try);
	return try;
}

static void
read_tries(FinishCall *call)
{
	const Elements *args = call->args;

	call->tries = palloc(args[ARG_IDS].n * sizeof(Try));
	for (int i = 0; i < args[ARG_IDS].n; i++)
	{
		Try		   *try = &call->tries[call->n];

		*try = try_of(args, i);
		if (args[ARG_IDS].nulls[i] || element_null(&args[ARG_VERSIONS], i))
			continue;
		try->id = DatumGetUUIDP(args[ARG_IDS].values[i]);
		try->version = DatumGetInt64(element(&args[ARG_VERSIONS], i));
		call->n++;
	}
}

void
finish_call_begin(FinishCall *call, NullableDatum incarnation, NullableDatum token)
{
	memset(call, 0, sizeof(*call));
	call->processing = rows_label("task_status", "PROCESSING");
	call->done = rows_label("task_status", "DONE");
	call->incarnation = incarnation;
	call->token = token;
}

void
finish_call_read(FunctionCallInfo fcinfo, FinishCall *call)
{
	static const char *const names[] = {
		[ARG_IDS] = "ids",[ARG_VERSIONS] = "versions",[ARG_RESULTS] = "results",
		[ARG_DELAYS_MS] = "delays_ms",[ARG_MESSAGES] = "messages",[ARG_GRABS] = "grabs",
		[ARG_RETRIES] = "retries",[ARG_OUTCOMES] = "outcomes",[ARG_ADDS] = "adds"
	};

	finish_call_begin(call, fcinfo->args[ARG_INCARNATION], fcinfo->args[ARG_TOKEN]);
	for (int i = 0; i < (int) lengthof(names); i++)
		if ((i < ARG_INCARNATION || !PG_ARGISNULL(i)) && names[i] != NULL)
		{
			call->args[i] = elements_of(fcinfo, i, names[i]);
			check_length(&call->args[i], call->args[ARG_IDS].n);
		}
	call->args[ARG_PLACES] = places_of(fcinfo, ARG_PLACES, call->args[ARG_IDS].n);
	read_tries(call);
}

/* A token is unique within its incarnation only.  An accepted task has neither. */
static bool
is_grab(const FinishCall *call, const Try *try, TupleTableSlot *row)
{
	if (try->grab.isnull)
		return true;
	if (!call->incarnation.isnull && !row_null(row, TASK_INCARNATION) &&
		DatumGetInt64(row_value(row, TASK_INCARNATION)) != DatumGetInt64(call->incarnation.value))
		return false;
	return row_null(row, TASK_TOKEN) ||
		DatumGetInt64(row_value(row, TASK_TOKEN)) == DatumGetInt64(try->grab.value);
}

/* A task may be cancelled before its grab, and a function of on_end may fail then. */
static bool
may_have_status(const FinishCall *call, const Try *try, Oid status)
{
	return status == call->processing ||
		((try->result == TRY_CANCELLED || try->result == TRY_FAULT) && status == rows_label("task_status", "SUBMITTED"));
}

/*
 * A crash of the server may undo a grab, and the next grab gives the same
 * version again.  The token of the grab tells these two apart.
 */
bool
finish_call_may(const FinishCall *call, const Try *try, TupleTableSlot *row)
{
	return call->by_hand || (DatumGetInt64(row_value(row, TASK_VERSION)) == try->version &&
							 may_have_status(call, try, DatumGetObjectId(row_value(row, TASK_STATUS))) &&
							 is_grab(call, try, row));
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

text *
try_message(const Try *try)
{
	text	   *message = try->message == NULL ? try->why : try->message;

	return message == NULL ? NULL : cut_message(message);
}

static bool
is_running(const FinishCall *call, TupleTableSlot *row)
{
	return DatumGetObjectId(row_value(row, TASK_STATUS)) == call->processing;
}

const char *
attempt_of_end(const FinishCall *call, const Try *try, TupleTableSlot *row, Oid status)
{
	if (try->what != NULL)
		return try->what;
	if (status == call->done || !is_running(call, row))
		return NULL;
	return status == rows_label("task_status", "FAILED") ? "failed" : "cancelled";
}

const char *
attempt_of_change(const FinishCall *call, const Try *try, TupleTableSlot *row)
{
	bool		is_error = try->result == TRY_ERROR || try->result == TRY_FAULT;

	if (!is_running(call, row) || (!is_error && try->result != TRY_RETRY))
		return NULL;
	return try->what != NULL ? try->what : is_error ? "error" : "retry";
}
