/*-------------------------------------------------------------------------
 *
 * caller.c
 *		The role that called one of our functions.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/call.h"
#include "base/caller.h"
#include "base/contract.h"

/* A function with this suffix, in twtasks_internal, is the body of the function without it. */
#define BODY_SUFFIX "_as_owner"

typedef struct Caller
{
	Oid			role;			/* InvalidOid: none is noted */
	Oid			owner;			/* role as which the function acts */
	bool		is_nested;		/* the owner's own code called */
} Caller;

static Caller caller = {InvalidOid, InvalidOid, false};

/* A parallel worker lacks the note of its leader, but may run as the owner. */
Oid
caller_role(void)
{
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot tell who calls within a parallel worker")));
	if (OidIsValid(caller.role) && GetUserId() == caller.owner)
		return caller.role;
	return GetUserId();
}

bool
caller_is_owner(void)
{
	return OidIsValid(caller.role) && GetUserId() == caller.owner && caller.is_nested;
}

static void
refuse_restricted(void)
{
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to work on tasks within a security-restricted operation"),
				 errdetail("ANALYZE, REINDEX and REFRESH MATERIALIZED VIEW are such operations.")));
}

static Oid
owner_of(Oid function)
{
	HeapTuple	tuple = fetch_function(function);
	Oid			owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;

	ReleaseSysCache(tuple);
	return owner;
}

/* After an error the end of the (sub)transaction restores the user. */
Datum
caller_act_as_owner(FunctionCallInfo fcinfo, PGFunction act)
{
	Caller		outer = caller;
	Caller		now = {caller_role(), owner_of(fcinfo->flinfo->fn_oid), false};
	Oid			save_user;
	int			save_context;
	Datum		result;

	refuse_restricted();
	GetUserIdAndSecContext(&save_user, &save_context);
	now.is_nested = save_user == now.owner;
	SetUserIdAndSecContext(now.owner, save_context | SECURITY_LOCAL_USERID_CHANGE);
	caller = now;
	PG_TRY();
	{
		result = act(fcinfo);
	}
	PG_FINALLY();
	{
		caller = outer;
	}
	PG_END_TRY();
	SetUserIdAndSecContext(save_user, save_context);
	return result;
}

/* The body takes the arguments as one row, with the names of the parameters. */
static Oid
find_body(const char *function)
{
	char	   *name = psprintf("%s" BODY_SUFFIX, function);
	Oid			types[] = {RECORDOID};
	Oid			body = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
									   PointerGetDatum(buildoidvector(types, 1)),
									   ObjectIdGetDatum(get_namespace_oid("twtasks_internal", false)));

	if (!OidIsValid(body))
		elog(ERROR, "function \"%s\" does not exist", name);
	return body;
}

static Datum
arguments_as_row(FunctionCallInfo fcinfo, HeapTuple function)
{
	TupleDesc	desc = CreateTemplateTupleDesc(fcinfo->nargs);
	Datum		values[FUNC_MAX_ARGS];
	bool		nulls[FUNC_MAX_ARGS];
	Oid		   *types;
	char	  **names;
	char	   *modes;

	get_func_arg_info(function, &types, &names, &modes);
	for (int i = 0; i < fcinfo->nargs; i++)
	{
		TupleDescInitEntry(desc, i + 1, names[i], types[i], -1, 0);
		values[i] = fcinfo->args[i].value;
		nulls[i] = fcinfo->args[i].isnull;
	}
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static Datum
call_body(FunctionCallInfo fcinfo)
{
	LOCAL_FCINFO(call, 1);
	HeapTuple	function = fetch_function(fcinfo->flinfo->fn_oid);
	FmgrInfo	body;
	Datum		result;

	fmgr_info(find_body(NameStr(((Form_pg_proc) GETSTRUCT(function))->proname)), &body);
	InitFunctionCallInfoData(*call, &body, 1, InvalidOid, fcinfo->context, fcinfo->resultinfo);
	call->args[0].value = arguments_as_row(fcinfo, function);
	call->args[0].isnull = false;
	ReleaseSysCache(function);
	result = FunctionCallInvoke(call);
	fcinfo->isnull = call->isnull;
	return result;
}

TWT_FUNCTION_AS_OWNER(twt_as_owner, call_body);

TWT_FUNCTION(twt_caller);
Datum
twt_caller(PG_FUNCTION_ARGS)
{
	PG_RETURN_OID(caller_role());
}

TWT_FUNCTION(twt_actor);
Datum
twt_actor(PG_FUNCTION_ARGS)
{
	refuse_restricted();
	PG_RETURN_TEXT_P(cstring_to_text(GetUserNameFromId(GetSessionUserId(), false)));
}
