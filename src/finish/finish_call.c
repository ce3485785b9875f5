/*-------------------------------------------------------------------------
 *
 * finish_call.c
 *		The arguments of finish_tasks().
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/rows.h"
#include "base/settings.h"
#include "finish/finish_call.h"

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

static bool
is_done(const Elements *results, int i)
{
	return element_is(results, i, "done") || element_is(results, i, "delete");
}

static void
check_results(FinishCall *call)
{
	for (int i = 0; i < call->results.n; i++)
	{
		if (is_done(&call->results, i))
			continue;
		call->has_others = true;
		finish_check_result(call->results.nulls[i] ? NULL :
							TextDatumGetCString(call->results.values[i]));
	}
}

static void
check_outcomes(const FinishCall *call)
{
	for (int i = 0; i < call->outcomes.n; i++)
		if (!call->outcomes.nulls[i] && !JB_ROOT_IS_OBJECT(DatumGetJsonbP(call->outcomes.values[i])))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("an outcome must be a JSON object")));
}

static void
check_adds(const FinishCall *call)
{
	for (int i = 0; i < call->ids.n; i++)
	{
		Jsonb	   *tasks = finish_call_adds(call, i);

		if (tasks == NULL)
			continue;
		if (!JB_ROOT_IS_ARRAY(tasks) || JB_ROOT_IS_SCALAR(tasks))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("tasks to add must be a JSON array")));
		if (!is_done(&call->results, i))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("tasks can be added only with the results done and delete")));
	}
}

void
finish_call_read(FunctionCallInfo fcinfo, FinishCall *call)
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
	if (!PG_ARGISNULL(ARG_OUTCOMES))
	{
		call->outcomes = elements_of(fcinfo, ARG_OUTCOMES, "outcomes");
		check_length(&call->outcomes, call->ids.n);
		check_outcomes(call);
	}
	if (!PG_ARGISNULL(ARG_ADDS))
	{
		call->adds = elements_of(fcinfo, ARG_ADDS, "adds");
		check_length(&call->adds, call->ids.n);
		check_adds(call);
	}
	call->raises = !PG_ARGISNULL(ARG_RAISES) && PG_GETARG_BOOL(ARG_RAISES);
	check_results(call);
	call->processing = rows_label("task_status", "PROCESSING");
	call->ending.status = rows_label("task_status", "DONE");
	call->incarnation = fcinfo->args[ARG_INCARNATION];
	call->token = fcinfo->args[ARG_TOKEN];
	call->ending.has_incarnation = !call->incarnation.isnull && !call->token.isnull;
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
bool
finish_call_may(const FinishCall *call, int i, TupleTableSlot *row)
{
	if (DatumGetObjectId(row_value(row, TASK_STATUS)) != call->processing ||
		DatumGetInt64(row_value(row, TASK_VERSION)) != DatumGetInt64(element(&call->versions, i)))
		return false;
	return is_grab(call, i, row);
}

static Jsonb *
json_of(const Elements *elements, int i)
{
	if (elements->n == 0 || element_null(elements, i))
		return NULL;
	return DatumGetJsonbP(element(elements, i));
}

Jsonb *
finish_call_outcome(const FinishCall *call, int i)
{
	return json_of(&call->outcomes, i);
}

Jsonb *
finish_call_adds(const FinishCall *call, int i)
{
	return json_of(&call->adds, i);
}

Jsonb *
finish_call_outcome_of(const FinishCall *call, const pg_uuid_t *id, int64 version)
{
	for (int i = 0; i < call->ids.n && call->outcomes.n > 0; i++)
		if (!call->ids.nulls[i] && !element_null(&call->versions, i) &&
			DatumGetInt64(element(&call->versions, i)) == version &&
			memcmp(DatumGetUUIDP(call->ids.values[i]), id, UUID_LEN) == 0)
			return finish_call_outcome(call, i);
	return NULL;
}

bool
finish_call_is_done(const FinishCall *call, int i)
{
	return !call->ids.nulls[i] && !element_null(&call->versions, i) &&
		is_done(&call->results, i);
}

FinishCall
finish_call_one(const FinishCall *call, int i)
{
	FinishCall	one = *call;

	one.ids = elements_of_one(&call->ids, i);
	one.versions = elements_of_one(&call->versions, i);
	one.results = elements_of_one(&call->results, i);
	one.delays_ms = elements_of_one(&call->delays_ms, i);
	one.messages = elements_of_one(&call->messages, i);
	one.grabs = elements_of_one(&call->grabs, i);
	one.outcomes = elements_of_one(&call->outcomes, i);
	one.adds = elements_of_one(&call->adds, i);
	one.places = elements_of_one(&call->places, i);
	one.has_others = !is_done(&one.results, 0);
	return one;
}

void
finish_call_change(FinishCall *call, const char *result, const char *message)
{
	call->results = elements_text(result);
	call->messages = elements_text(message);
	call->has_others = !is_done(&call->results, 0);
}
