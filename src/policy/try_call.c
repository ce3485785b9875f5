/*-------------------------------------------------------------------------
 *
 * try_call.c
 *		Work for one item among several, whose failure stops no other item.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "base/call.h"
#include "base/caller.h"
#include "base/contract.h"
#include "policy/time_limit.h"
#include "policy/try_call.h"

/* The parameters of SQL's try_call() before the function's own. */
#define CALL_FIXED_ARGS 1

/* Columns of its result. */
enum
{
	TRIED_RESULT,
	TRIED_STATE,
	TRIED_ERROR,
	TRIED_DETAIL,
	TRIED_HINT,
	TRIED_COLUMNS
};

static void
leave_time(bool is_first)
{
	if (is_first)
		(void) time_limit_stop();
	else
		time_limit_spend();
}

/*
 * Work that the limit has cut off has failed.  If an outer call has begun the
 * limit, the items that follow find no time, and the outer call's own work goes on
 * until the limit is over once more.
 */
static void
work_in_time(const char *name, void (*work) (void *arg), void *arg)
{
	bool		is_first = time_limit_start();

	PG_TRY();
	{
		if (time_limit_is_over())
			time_limit_refuse(name);
		work(arg);
	}
	PG_CATCH();
	{
		bool		is_ours = time_limit_caused();

		leave_time(is_first);
		if (!is_ours)
			PG_RE_THROW();
		FlushErrorState();
		time_limit_refuse(name);
	}
	PG_END_TRY();
	leave_time(is_first);
}

ErrorData *
try_work(void (*work) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error != NULL && error_is_cancel(error))
		ReThrowError(error);
	return error;
}

typedef struct TimedWork
{
	const char *name;
	void		(*work) (void *arg);
	void	   *arg;
} TimedWork;

static void
do_timed(void *arg)
{
	TimedWork  *timed = arg;

	work_in_time(timed->name, timed->work, timed->arg);
}

ErrorData *
try_call(const char *name, void (*work) (void *arg), void *arg)
{
	TimedWork	timed = {name, work, arg};

	return try_work(do_timed, &timed);
}

/* ---- for SQL ---- */

typedef struct Tried
{
	FunctionCallInfo fcinfo;
	const char *name;
	Datum		result;			/* as text */
	bool		isnull;
} Tried;

/* Only functions of our schema are called so; call_function() calls users' functions. */
static void
call_tried(void *arg)
{
	Tried	   *tried = arg;
	FunctionCallInfo outer = tried->fcinfo;

	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	int			nargs = outer->nargs - CALL_FIXED_ARGS;
	Oid			types[FUNC_MAX_ARGS];
	FmgrInfo	flinfo;
	Datum		result;
	Oid			type;

	for (int i = 0; i < nargs; i++)
		types[i] = get_fn_expr_argtype(outer->flinfo, CALL_FIXED_ARGS + i);
	fmgr_info(LookupFuncName(twt_parse_name(tried->name), nargs, types, false), &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, nargs, InvalidOid, NULL, NULL);
	memcpy(call->args, &outer->args[CALL_FIXED_ARGS], nargs * sizeof(NullableDatum));
	result = FunctionCallInvoke(call);
	type = get_func_rettype(flinfo.fn_oid);
	tried->isnull = call->isnull || type == VOIDOID;
	if (!tried->isnull)
		tried->result = text_of(type, result);
}

static void
put_text(Datum *values, bool *nulls, int column, const char *value)
{
	nulls[column] = value == NULL;
	if (value != NULL)
		values[column] = CStringGetTextDatum(value);
}

static Datum
tried_row(FunctionCallInfo fcinfo, bool has_limit)
{
	Tried		tried = {.fcinfo = fcinfo, .isnull = true};
	Datum		values[TRIED_COLUMNS];
	bool		nulls[TRIED_COLUMNS] = {true, true, true, true, true};
	ErrorData  *error;

	require_argument(fcinfo, 0, "function");
	tried.name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	error = has_limit ? try_call(tried.name, call_tried, &tried) : try_work(call_tried, &tried);
	if (error != NULL)
	{
		put_text(values, nulls, TRIED_STATE, unpack_sql_state(error->sqlerrcode));
		put_text(values, nulls, TRIED_ERROR, error->message == NULL ? "" : error->message);
		put_text(values, nulls, TRIED_DETAIL, error->detail);
		put_text(values, nulls, TRIED_HINT, error->hint);
	}
	else if (!tried.isnull)
	{
		nulls[TRIED_RESULT] = false;
		values[TRIED_RESULT] = tried.result;
	}
	return result_row(fcinfo, values, nulls);
}

TWT_FUNCTION(twt_try_call);
Datum
twt_try_call(PG_FUNCTION_ARGS)
{
	return tried_row(fcinfo, true);
}

TWT_FUNCTION(twt_try_call_without_limit);
Datum
twt_try_call_without_limit(PG_FUNCTION_ARGS)
{
	return tried_row(fcinfo, false);
}

TWT_FUNCTION(twt_time_is_over);
Datum
twt_time_is_over(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(time_limit_is_over());
}
