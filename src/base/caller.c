/*-------------------------------------------------------------------------
 *
 * caller.c
 *		In whose name one of our functions acts.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "base/caller.h"

/* A function with this suffix, in twtasks_internal, is the body of the function without it. */
#define BODY_SUFFIX "_as_owner"

typedef struct Caller
{
	Oid			role;			/* InvalidOid: none is noted */
	Oid			owner;			/* as whom the function acts */
} Caller;

static Caller caller = {InvalidOid, InvalidOid};

/* A parallel worker has no note of its leader, but may run as the owner. */
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

static void
refuse_restricted(void)
{
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to work on tasks within a security-restricted operation"),
				 errdetail("ANALYZE, REINDEX, REFRESH MATERIALIZED VIEW and the like are such.")));
}

static HeapTuple
fetch_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	return tuple;
}

static Oid
owner_of(Oid function)
{
	HeapTuple	tuple = fetch_function(function);
	Oid			owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;

	ReleaseSysCache(tuple);
	return owner;
}

/* After an error the end of the (sub)transaction puts the user back. */
Datum
caller_act_as_owner(FunctionCallInfo fcinfo, PGFunction act)
{
	Caller		outer = caller;
	Caller		now = {caller_role(), owner_of(fcinfo->flinfo->fn_oid)};
	Oid			save_user;
	int			save_context;
	Datum		result;

	refuse_restricted();
	GetUserIdAndSecContext(&save_user, &save_context);
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

/* The body takes the same arguments. */
static Oid
find_body(Oid function)
{
	HeapTuple	tuple = fetch_function(function);
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
	char	   *name = psprintf("%s" BODY_SUFFIX, NameStr(proc->proname));
	Oid			body = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
									   PointerGetDatum(&proc->proargtypes),
									   ObjectIdGetDatum(get_namespace_oid("twtasks_internal", false)));

	ReleaseSysCache(tuple);
	if (!OidIsValid(body))
		elog(ERROR, "function \"%s\" does not exist", name);
	return body;
}

/* Its own FmgrInfo stays for as long as that of the function before it. */
static Datum
call_body(FunctionCallInfo fcinfo)
{
	FmgrInfo   *outer = fcinfo->flinfo;
	Size		size = SizeForFunctionCallInfo(fcinfo->nargs);
	FunctionCallInfo call = palloc(size);
	Datum		result;

	if (outer->fn_extra == NULL)
	{
		FmgrInfo   *body = MemoryContextAllocZero(outer->fn_mcxt, sizeof(FmgrInfo));

		fmgr_info_cxt(find_body(outer->fn_oid), body, outer->fn_mcxt);
		outer->fn_extra = body;
	}
	memcpy(call, fcinfo, size);
	call->flinfo = outer->fn_extra;
	result = FunctionCallInvoke(call);
	fcinfo->isnull = call->isnull;
	return result;
}

PG_FUNCTION_INFO_V1(twt_as_owner);
Datum
twt_as_owner(PG_FUNCTION_ARGS)
{
	return caller_act_as_owner(fcinfo, call_body);
}

PG_FUNCTION_INFO_V1(twt_caller);
Datum
twt_caller(PG_FUNCTION_ARGS)
{
	PG_RETURN_OID(caller_role());
}

PG_FUNCTION_INFO_V1(twt_actor);
Datum
twt_actor(PG_FUNCTION_ARGS)
{
	refuse_restricted();
	PG_RETURN_TEXT_P(cstring_to_text(GetUserNameFromId(GetSessionUserId(), false)));
}
