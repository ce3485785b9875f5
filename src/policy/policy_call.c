/*-------------------------------------------------------------------------
 *
 * policy_call.c
 *		Functions that policies and listeners name: found, checked and called.
 *
 *		from: sql/policy/configure_type.sql, policy.c, sql/add/message_tasks.sql
 *		to: user_function.h
 *
 * A function for retries or stuck tasks must not stop the work when it fails.
 * So try_call() calls it, and its caller can go on without it.  An intercept
 * function may refuse the task.  It has the time limit only in a node's session,
 * which adds tasks for schedules.  The function of a listener always has it,
 * because a listener holds the offset of its partition.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "base/call.h"
#include "base/contract.h"
#include "base/shape.h"
#include "base/shown.h"
#include "policy/policy_call.h"
#include "policy/time_limit.h"
#include "policy/try_call.h"
#include "policy/user_function.h"

#define HOOK_MAX_ARGS 2

typedef struct Hook
{
	const char *option;			/* configure_type()'s, or the caller */
	const char *args[HOOK_MAX_ARGS];	/* names of types; NULL: none */
	const char *result;
} Hook;

static const Hook hooks[HOOK_COUNT] = {
	[HOOK_RETRY] = {"retry_function", {"task_input", "text"}, "timestamptz"},
	[HOOK_STUCK] = {"stuck_function", {"task_input"}, "stuck_rule"},
	[HOOK_INTERCEPT] = {"intercept", {"new_task"}, "new_task"},
	[HOOK_DUTY] = {"a duty", {NULL}, "bigint"},
	[HOOK_MESSAGE] = {"take_messages", {"message"}, "new_task"},
	[HOOK_ON_END] = {"on_end", {"ended_task[]"}, "void"},
	[HOOK_LATE] = {"late results", {"late_result[]"}, "void"},
};

static Oid
type_by_name(const char *name)
{
	if (strcmp(name, "text") == 0)
		return TEXTOID;
	if (strcmp(name, "timestamptz") == 0)
		return TIMESTAMPTZOID;
	if (strcmp(name, "bigint") == 0)
		return INT8OID;
	if (strcmp(name, "void") == 0)
		return VOIDOID;
	if (strcmp(name, "ended_task[]") == 0)
		return get_array_type(shape_type("ended_task"));
	if (strcmp(name, "late_result[]") == 0)
		return get_array_type(shape_type("late_result"));
	return shape_type(name);
}

/* Types by name, because types of our schema have no fixed oid. */
static Signature
signature_of(const Hook *hook, Oid *args)
{
	Signature	signature = {hook->option, 0, args, type_by_name(hook->result)};

	while (signature.nargs < HOOK_MAX_ARGS && hook->args[signature.nargs] != NULL)
	{
		args[signature.nargs] = type_by_name(hook->args[signature.nargs]);
		signature.nargs++;
	}
	return signature;
}

static PolicyHook
hook_by_option(const char *option)
{
	for (int i = 0; i < HOOK_COUNT; i++)
		if (strcmp(hooks[i].option, option) == 0)
			return (PolicyHook) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("no function is named for \"%s\"", shown_value(option))));
}

/* Checks a function that configure_type() or take_messages() was given. */
TWT_FUNCTION(twt_check_function);
Datum
twt_check_function(PG_FUNCTION_ARGS)
{
	Oid			args[HOOK_MAX_ARGS];
	PolicyHook	hook;
	Signature	signature;
	char	   *name;

	require_argument(fcinfo, 0, "option");
	hook = hook_by_option(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	signature = signature_of(&hooks[hook], args);
	if (PG_ARGISNULL(1))
		PG_RETURN_VOID();
	name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strcmp(name, "none") != 0)
		user_function_check(&signature, name);
	PG_RETURN_VOID();
}

Datum
policy_call(PolicyHook hook, const char *name, Datum *args, bool *isnull)
{
	Oid			types[HOOK_MAX_ARGS];
	Signature	signature = signature_of(&hooks[hook], types);
	NullableDatum given[HOOK_MAX_ARGS];

	for (int i = 0; i < signature.nargs; i++)
		given[i] = (NullableDatum)
	{
		args[i], false
	};
	return user_function_call(&signature, name, InvalidOid, given, isnull);
}

/* The time is the function's failure, and no wish to end the statement. */
Datum
policy_call_in_time(PolicyHook hook, const char *name, Datum *args, bool *isnull)
{
	Datum		result = (Datum) 0;

	if (!time_limit_start())
		return policy_call(hook, name, args, isnull);
	PG_TRY();
	{
		result = policy_call(hook, name, args, isnull);
	}
	PG_CATCH();
	{
		bool		is_ours = time_limit_caused();

		(void) time_limit_stop();
		if (!is_ours)
			PG_RE_THROW();
		FlushErrorState();
		time_limit_refuse(name);
	}
	PG_END_TRY();
	(void) time_limit_stop();
	return result;
}

typedef struct PolicyCall
{
	PolicyHook	hook;
	const char *name;
	Datum	   *args;
	Datum	   *result;
	bool	   *isnull;
} PolicyCall;

static void
call_policy(void *arg)
{
	PolicyCall *call = arg;

	*call->result = policy_call(call->hook, call->name, call->args, call->isnull);
}

bool
policy_try(PolicyHook hook, const char *name, Datum *args, Datum *result, bool *isnull)
{
	PolicyCall	call = {hook, name, args, result, isnull};
	ErrorData  *error = try_call(name, call_policy, &call);

	if (error == NULL)
		return true;
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("function \"%s\" of a policy failed: %s (SQLSTATE %s)", name,
					error->message, unpack_sql_state(error->sqlerrcode)),
			 errhint("The policy's figures decide in its place.")));
	FreeErrorData(error);
	return false;
}

/* A row of two columns: whether the function answered, and its answer. */
static Datum
answer_row(FunctionCallInfo fcinfo, bool has_answered, Datum result, bool isnull)
{
	Datum		values[2] = {BoolGetDatum(has_answered), result};
	bool		nulls[2] = {false, isnull || !has_answered};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

TWT_FUNCTION(twt_call_stuck);
Datum
twt_call_stuck(PG_FUNCTION_ARGS)
{
	Datum		args[HOOK_MAX_ARGS] = {PG_GETARG_DATUM(1)};
	Datum		result = (Datum) 0;
	bool		isnull = true;
	bool		answered = policy_try(HOOK_STUCK, text_to_cstring(PG_GETARG_TEXT_PP(0)),
									  args, &result, &isnull);

	return answer_row(fcinfo, answered, result, isnull);
}

TWT_FUNCTION(twt_call_duty);
Datum
twt_call_duty(PG_FUNCTION_ARGS)
{
	Datum		args[HOOK_MAX_ARGS] = {0};
	bool		isnull;
	Datum		next_ms = policy_call_in_time(HOOK_DUTY, text_to_cstring(PG_GETARG_TEXT_PP(0)),
											  args, &isnull);

	if (isnull)
		PG_RETURN_NULL();
	return next_ms;
}

TWT_FUNCTION(twt_call_message);
Datum
twt_call_message(PG_FUNCTION_ARGS)
{
	Datum		args[HOOK_MAX_ARGS] = {PG_GETARG_DATUM(1)};

	return policy_call_in_time(HOOK_MESSAGE, text_to_cstring(PG_GETARG_TEXT_PP(0)),
							   args, &fcinfo->isnull);
}

TWT_FUNCTION(twt_call_late);
Datum
twt_call_late(PG_FUNCTION_ARGS)
{
	Datum		args[HOOK_MAX_ARGS] = {PG_GETARG_DATUM(1)};
	bool		isnull;

	policy_call_in_time(HOOK_LATE, text_to_cstring(PG_GETARG_TEXT_PP(0)), args, &isnull);
	PG_RETURN_VOID();
}
