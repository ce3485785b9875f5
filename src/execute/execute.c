/*-------------------------------------------------------------------------
 *
 * execute.c
 *		Calls a task's handler that is a SQL function.
 *
 *		from: sidecar/execute/sql/sql_session.c			to: sidecar/finish/finish.c
 *
 * The function runs as the role that its configuration names, never as our
 * owner, and cannot change that: we refuse SET ROLE and SET SESSION
 * AUTHORIZATION while it runs.  The function sees the session's own
 * search_path.  Its settings are restored when it ends; confine.h lists the
 * other effects that are undone.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "add/context.h"
#include "base/call.h"
#include "base/caller.h"
#include "base/contract.h"
#include "base/rows.h"
#include "execute/answer.h"
#include "execute/confine.h"
#include "execute/execute.h"
#include "grab/grab.h"

/* The role that a handler runs as; checks that the caller may become it. */
static Oid
handler_role(NullableDatum name)
{
	Oid			role;

	if (name.isnull)
		return caller_role();
	role = get_role_oid(NameStr(*DatumGetName(name.value)), true);
	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" of a handler does not exist", NameStr(*DatumGetName(name.value))),
				 errhint("Create it, or correct it in the sidecar's configuration.")));
	if (!twt_may_become(caller_role(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to run a handler as role \"%s\"",
						NameStr(*DatumGetName(name.value))),
				 errhint("GRANT %s TO %s.", quote_identifier(GetUserNameFromId(role, false)),
						 quote_identifier(GetUserNameFromId(caller_role(), false)))));
	return role;
}

/* The text behind the name of a function that takes an array of tasks. */
static const char batch_argument[] = "(twtasks.task_input[])";

/* Cuts the argument off the name.  False: there is none. */
static bool
cut_argument(char *name)
{
	size_t		len = strlen(name);
	size_t		cut = strlen(batch_argument);

	if (len < cut || strcmp(name + len - cut, batch_argument) != 0)
		return false;
	name[len - cut] = '\0';
	return true;
}

static Oid
argument_type(bool is_batch)
{
	Oid			one = shape_type("task_input");

	return is_batch ? get_array_type(one) : one;
}

bool
execute_takes_batch(Oid function)
{
	Oid		   *types;
	int			n;

	(void) get_func_signature(function, &types, &n);
	return types[0] == argument_type(true);
}

/* The function of that name with that argument, as the role finds it. */
static Oid
find_function(List *names, bool is_batch, Oid role)
{
	Oid			type = argument_type(is_batch);
	Oid			function;
	Oid			save_user;
	int			save_context;

	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(role, save_context | SECURITY_LOCAL_USERID_CHANGE);
	function = LookupFuncName(names, 1, &type, true);
	SetUserIdAndSecContext(save_user, save_context);
	return function;
}

/* The hint for a missing function, which may be there with the other argument. */
static int
hint_for_missing(const char *name, bool is_batch, bool has_other)
{
	if (has_other && is_batch)
		return errhint("It takes one task: leave the option \"batch\" of the handler out.");
	if (has_other)
		return errhint("It takes an array of tasks: set the option \"batch\" of the handler.");
	return errhint("Create it as %s(%s), with its schema in the name.", name,
				   is_batch ? "tasks twtasks.task_input[]" : "task twtasks.task_input");
}

/* A sidecar knows the errors of a function that it cannot call by the name of this one. */
TWT_FUNCTION(twt_find_handler);
Datum
twt_find_handler(PG_FUNCTION_ARGS)
{
	bool		is_batch;
	List	   *names;
	Oid			schema;
	Oid			function;
	Oid			role;
	char	   *name;

	require_argument(fcinfo, 0, "function");
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	is_batch = cut_argument(name);
	role = handler_role(fcinfo->args[1]);
	names = twt_parse_name(name);
	schema = list_length(names) == 2 ? get_namespace_oid(strVal(linitial(names)), true) : InvalidOid;
	if (OidIsValid(schema) && !twt_may_use(schema, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for the schema of handler function \"%s\"", name),
				 errhint("GRANT USAGE ON SCHEMA %s TO %s.", quote_identifier(strVal(linitial(names))),
						 quote_identifier(GetUserNameFromId(role, false)))));
	function = find_function(names, is_batch, role);
	if (!OidIsValid(function))
	{
		Oid			other = find_function(names, !is_batch, role);

		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("handler function \"%s\" does not exist", name),
				 hint_for_missing(name, is_batch, OidIsValid(other))));
	}
	if (!answer_is_type(get_func_rettype(function), is_batch) || get_func_retset(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("handler function \"%s\" must return %stwtasks.task_result or void", name,
						is_batch ? "twtasks.task_answer[], " : "")));
	if (!twt_may_execute(function, role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for handler function \"%s\"", name),
				 errhint("GRANT EXECUTE ON FUNCTION %s(twtasks.task_input%s) TO %s.", name, is_batch ? "[]" : "",
						 quote_identifier(GetUserNameFromId(role, false)))));
	PG_RETURN_OID(function);
}

/*
 * A function that catches the cancellation by statement_timeout and goes on
 * has taken too long all the same.
 */
static void
check_timeout(void)
{
	if (StatementTimeout > 0 &&
		TimestampDifferenceExceeds(GetCurrentStatementStartTimestamp(),
								   GetCurrentTimestamp(), StatementTimeout))
		ereport(ERROR,
				(errcode(ERRCODE_QUERY_CANCELED),
				 errmsg("canceling statement due to statement timeout")));
}

/* Tasks that the handler adds carry the context of the handler's own task. */
static void
enter_context(Datum task)
{
	Datum		values[INPUT_COLUMNS];
	bool		nulls[INPUT_COLUMNS];

	shape_deform(&input_shape, DatumGetHeapTupleHeader(task), values, nulls);
	context_enter(values[INPUT_CONTEXT], nulls[INPUT_CONTEXT]);
}

NullableDatum
execute_call(Oid function, NullableDatum role_name, Datum tasks, bool is_batch)
{
	Oid			role = handler_role(role_name);
	int			nest = NewGUCNestLevel();

	LOCAL_FCINFO(call, 1);
	FmgrInfo	flinfo;
	Oid			save_user;
	int			save_context;
	NullableDatum answer;

	(void) set_config_option("search_path", GetConfigOptionResetString("search_path"),
							 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (!is_batch)
		enter_context(tasks);
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(role, save_context | SECURITY_LOCAL_USERID_CHANGE);

	confine_begin();
	fmgr_info(function, &flinfo);
	InitFunctionCallInfoData(*call, &flinfo, 1, InvalidOid, NULL, NULL);
	call->args[0].value = tasks;
	call->args[0].isnull = false;
	answer.value = FunctionCallInvoke(call);
	confine_end();

	SetUserIdAndSecContext(save_user, save_context);
	AtEOXact_GUC(false, nest);
	check_timeout();
	answer.isnull = call->isnull || get_func_rettype(function) == VOIDOID;
	return answer;
}
