/*-------------------------------------------------------------------------
 *
 * end_tasks.c
 *		end_tasks() and end_now(): end tasks that no worker finishes.
 *
 *		from: sql/run/end_tasks.sql		to: finish_call.h
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "base/contract.h"
#include "base/rows.h"
#include "finish/finish_call.h"

enum
{
	END_IDS,
	END_STATUSES,
	END_REASONS,
	END_ARGS
};

/* A name may have the result of the attempt behind a space: FAILED expired. */
static Oid
status_of(Try *try, char *name)
{
	char	   *what = strchr(name, ' ');

	if (what != NULL)
	{
		*what = '\0';
		try->what = what + 1;
	}
	return rows_label("task_status", name);
}

/* end_now() has oids of statuses, end_tasks() their names. */
static void
read_end(const Elements *args, int i, bool has_oids, Try *try)
{
	Datum		status = element(&args[END_STATUSES], i);

	memset(try, 0, sizeof(*try));
	try->id = DatumGetUUIDP(args[END_IDS].values[i]);
	try->status = has_oids ? DatumGetObjectId(status) : status_of(try, TextDatumGetCString(status));
	try->result = try->status == rows_label("task_status", "ERROR") ? TRY_FAULT :
		!has_oids && try->status == rows_label("task_status", "DONE") ? TRY_DONE : TRY_ENDED;
	if (!element_null(&args[END_REASONS], i))
		try->message = DatumGetTextPP(element(&args[END_REASONS], i));
}

static void
read_ends(FunctionCallInfo fcinfo, bool has_oids, FinishCall *call)
{
	static const char *const names[] = {"ids", "statuses", "reasons"};
	NullableDatum none = {.isnull = true};
	Elements	args[END_ARGS];

	PreventCommandIfReadOnly("twtasks_internal.end_tasks()");
	finish_call_begin(call, none, none);
	call->by_hand = true;
	for (int i = 0; i < END_ARGS; i++)
	{
		args[i] = elements_of(fcinfo, i, names[i]);
		check_length(&args[i], args[END_IDS].n);
	}
	call->tries = palloc(args[END_IDS].n * sizeof(Try));
	for (int i = 0; i < args[END_IDS].n; i++)
		if (!args[END_IDS].nulls[i] && !element_null(&args[END_STATUSES], i))
			read_end(args, i, has_oids, &call->tries[call->n++]);
}

TWT_FUNCTION(twt_end_now);
Datum
twt_end_now(PG_FUNCTION_ARGS)
{
	FinishCall	call;

	read_ends(fcinfo, true, &call);
	finish_by_hand(&call, NULL, false);
	PG_RETURN_VOID();
}

TWT_FUNCTION(twt_end_tasks);
Datum
twt_end_tasks(PG_FUNCTION_ARGS)
{
	FinishCall	call;

	read_ends(fcinfo, false, &call);
	InitMaterializedSRF(fcinfo, 0);
	finish_by_hand(&call, (ReturnSetInfo *) fcinfo->resultinfo, true);
	return (Datum) 0;
}
