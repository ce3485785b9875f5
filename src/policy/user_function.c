/*-------------------------------------------------------------------------
 *
 * user_function.c
 *		Functions that users name: found by their types, checked and called.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/call.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/path.h"
#include "node/locks.h"
#include "policy/time_limit.h"
#include "policy/user_function.h"

/* The parameters of call_function() before the function's own. */
#define CALL_FIXED_ARGS 4

/* Looks at the catalog only, so the caller's rights do not matter. */
static HeapTuple
find_function(const Signature *signature, const char *name)
{
	List	   *names = twt_parse_name(name);
	Oid			schema;

	if (list_length(names) != 2)
		return NULL;
	schema = get_namespace_oid(strVal(linitial(names)), true);
	return SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(strVal(lsecond(names))),
						   PointerGetDatum(buildoidvector(signature->args, signature->nargs)),
						   ObjectIdGetDatum(schema));
}

static bool
has_right_result(const Signature *signature, HeapTuple tuple)
{
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);

	return proc->prorettype == signature->result && !proc->proretset &&
		proc->prokind == PROKIND_FUNCTION;
}

/* As SQL has it: with a schema unless PostgreSQL brings the type. */
static char *
type_text(Oid type)
{
	return format_type_extended(type, -1, FORMAT_TYPE_ALLOW_INVALID |
								(type < FirstNormalObjectId ? 0 : FORMAT_TYPE_FORCE_QUALIFY));
}

static char *
signature_text(const Signature *signature)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < signature->nargs; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "(" : ", ", type_text(signature->args[i]));
	appendStringInfo(&text, "%s) returns %s", signature->nargs == 0 ? "(" : "",
					 type_text(signature->result));
	return text.data;
}

static void
refuse_missing(const Signature *signature, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function \"%s\" for %s does not exist", name, signature->purpose),
			 errhint("It must be %s%s, with its schema in the name.", name,
					 signature_text(signature))));
}

/* The function that the signature wants, for ReleaseSysCache(). */
static HeapTuple
require_function(const Signature *signature, const char *name)
{
	HeapTuple	tuple = find_function(signature, name);

	if (!HeapTupleIsValid(tuple) || !has_right_result(signature, tuple))
		refuse_missing(signature, name);
	return tuple;
}

/* Whether the last name of a list is pg_temp, with or without quotes. */
static bool
ends_in_pg_temp(char *list)
{
	char	   *last = strrchr(list, ',');
	size_t		len;

	last = last == NULL ? list : last + 1;
	last += strspn(last, " \"");
	len = strcspn(last, " \"");
	return len == 7 && strncmp(last, "pg_temp", len) == 0;
}

/* With SET search_path = ..., pg_temp the function finds no object of its caller. */
static bool
fixes_search_path(HeapTuple tuple)
{
	bool		isnull;
	Datum		config = SysCacheGetAttr(PROCNAMEARGSNSP, tuple, Anum_pg_proc_proconfig, &isnull);
	Datum	   *settings;
	int			n;

	if (isnull)
		return false;
	deconstruct_array(DatumGetArrayTypeP(config), TEXTOID, -1, false, TYPALIGN_INT,
					  &settings, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *setting = TextDatumGetCString(settings[i]);

		if (strncmp(setting, "search_path=", 12) == 0)
			return ends_in_pg_temp(setting + 12);
	}
	return false;
}

void
user_function_check(const Signature *signature, const char *name)
{
	HeapTuple	tuple = require_function(signature, name);

	if (!twt_may_execute(((Form_pg_proc) GETSTRUCT(tuple))->oid, caller_role()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for function \"%s\"", name)));
	if (!fixes_search_path(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("function \"%s\" does not fix its search_path", name),
				 errdetail("It will run with the rights of its owner, called by others."),
				 errhint("ALTER FUNCTION %s SET search_path = the schemas it needs, pg_temp.", name)));
	ReleaseSysCache(tuple);
}

/*
 * Raises the current error.  A function that raises a cancel itself, as after the
 * cancel of a remote statement, raises another SQLSTATE: nobody wishes our
 * statement to end.
 */
static void
raise_as_own(void)
{
	MemoryContext context = MemoryContextSwitchTo(CurTransactionContext);
	ErrorData  *error = CopyErrorData();

	MemoryContextSwitchTo(context);
	if (error->sqlerrcode != ERRCODE_QUERY_CANCELED || error_is_cancel(error))
		PG_RE_THROW();
	FlushErrorState();
	error->sqlerrcode = ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
	ReThrowError(error);
}

/*
 * The function may release all advisory locks of the session, which takes no
 * rights.  The lock of a node must be held afterwards, or the node would be taken
 * for dead.
 */
static Datum
invoke(const char *name, FunctionCallInfo call)
{
	bool		is_node = locks_own_held();
	Datum		result;

	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_CATCH();
	{
		if (is_node)
			locks_own_restore();
		if (time_limit_caused())
			time_limit_blame(name);
		raise_as_own();
	}
	PG_END_TRY();
	if (is_node)
		locks_own_restore();
	return result;
}

/* The role as which the function runs; the wish counts if it is valid. */
static Oid
role_of(HeapTuple tuple, const char *name, Oid wish)
{
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);

	if (!OidIsValid(wish))
		return proc->proowner;
	if (proc->prosecdef)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("function \"%s\" is SECURITY DEFINER", name),
				 errdetail("It must run with the rights of role \"%s\".",
						   GetUserNameFromId(wish, false)),
				 errhint("ALTER FUNCTION %s SECURITY INVOKER.", name)));
	return wish;
}

/*
 * The path is pinned because the function may have lost its own setting since
 * its check.  A plain SET would last longer than the function, so all that it sets is
 * undone: later statements of the session must not find objects of its owner, nor run
 * under its time limits.  After an error the end of the (sub)transaction restores the
 * user and the settings.
 */
static Datum
invoke_as(Oid role, const char *name, FunctionCallInfo call)
{
	int			nest = NewGUCNestLevel();
	Oid			save_user;
	int			save_context;
	Datum		result;

	(void) path_pin();
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(role, save_context | SECURITY_LOCAL_USERID_CHANGE);
	result = invoke(name, call);
	SetUserIdAndSecContext(save_user, save_context);
	AtEOXact_GUC(false, nest);
	return result;
}

/* After an error the end of the (sub)transaction restores the flag. */
static Datum
invoke_confined(Oid role, const char *name, FunctionCallInfo call)
{
	bool		was_read_only = XactReadOnly;
	Datum		result;

	XactReadOnly = true;
	result = invoke_as(role, name, call);
	XactReadOnly = was_read_only;
	return result;
}

Datum
user_function_call(const Signature *signature, const char *name, Oid role,
				   const NullableDatum *args, bool *isnull)
{
	LOCAL_FCINFO(call, FUNC_MAX_ARGS);
	HeapTuple	tuple = require_function(signature, name);
	FmgrInfo	flinfo;
	bool		has_null = false;
	bool		is_confined;
	Datum		result;

	is_confined = OidIsValid(role);
	role = role_of(tuple, name, role);
	fmgr_info(((Form_pg_proc) GETSTRUCT(tuple))->oid, &flinfo);
	ReleaseSysCache(tuple);

	InitFunctionCallInfoData(*call, &flinfo, signature->nargs, InvalidOid, NULL, NULL);
	for (int i = 0; i < signature->nargs; i++)
	{
		call->args[i] = args[i];
		has_null |= args[i].isnull;
	}
	*isnull = has_null && flinfo.fn_strict;
	if (*isnull)
		return (Datum) 0;
	result = is_confined ? invoke_confined(role, name, call) : invoke_as(role, name, call);
	*isnull = call->isnull;
	return result;
}

/* ---- for SQL functions ---- */

static void
require_given(FunctionCallInfo fcinfo, int i)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument %d of a function's call is null", i + 1)));
}

static char *
given_text(FunctionCallInfo fcinfo, int i)
{
	require_given(fcinfo, i);
	return text_to_cstring(PG_GETARG_TEXT_PP(i));
}

static Oid
given_oid(FunctionCallInfo fcinfo, int i)
{
	require_given(fcinfo, i);
	return PG_GETARG_OID(i);
}

static void
given_types(FunctionCallInfo fcinfo, int i, Signature *signature)
{
	Datum	   *types;
	Oid		   *args;

	require_given(fcinfo, i);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(i), REGTYPEOID, sizeof(Oid), true, TYPALIGN_INT,
					  &types, NULL, &signature->nargs);
	if (signature->nargs > FUNC_MAX_ARGS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_ARGUMENTS),
				 errmsg("a function has at most %d arguments, not %d", FUNC_MAX_ARGS, signature->nargs)));
	args = palloc(signature->nargs * sizeof(Oid));
	for (int j = 0; j < signature->nargs; j++)
		args[j] = DatumGetObjectId(types[j]);
	signature->args = args;
}

TWT_FUNCTION(twt_check_function_of);
Datum
twt_check_function_of(PG_FUNCTION_ARGS)
{
	Signature	signature = {given_text(fcinfo, 0), .result = given_oid(fcinfo, 3)};

	if (PG_ARGISNULL(1))
		PG_RETURN_VOID();
	given_types(fcinfo, 2, &signature);
	user_function_check(&signature, given_text(fcinfo, 1));
	PG_RETURN_VOID();
}

TWT_FUNCTION(twt_call_function);
Datum
twt_call_function(PG_FUNCTION_ARGS)
{
	Oid			types[FUNC_MAX_ARGS];
	Signature	signature = {
		given_text(fcinfo, 0), PG_NARGS() - CALL_FIXED_ARGS, types, given_oid(fcinfo, 2)
	};
	Oid			role = PG_ARGISNULL(3) ? InvalidOid : PG_GETARG_OID(3);
	Datum		result;
	bool		isnull;

	if (OidIsValid(role))
		(void) GetUserNameFromId(role, false);	/* raises 42704 */
	for (int i = 0; i < signature.nargs; i++)
		types[i] = get_fn_expr_argtype(fcinfo->flinfo, CALL_FIXED_ARGS + i);
	result = user_function_call(&signature, given_text(fcinfo, 1), role,
								&fcinfo->args[CALL_FIXED_ARGS], &isnull);
	if (isnull)
		PG_RETURN_NULL();
	return text_of(signature.result, result);
}
