/*-------------------------------------------------------------------------
 *
 * policy_call.c
 *		Functions that policies and listeners name: found, checked and called.
 *
 *		from: sql/policy/configure_type.sql, policy.c, sql/add/message_tasks.sql
 *		to: (functions of users)
 *
 * A function for retries or stuck tasks must not stop the work when it fails.
 * So it runs in a subtransaction with a time limit, and its caller can go on
 * without it.  An intercept function may refuse the task.  It has the time limit
 * only in a node's session, which adds tasks for schedules.  The function of a
 * listener always has it, because a listener holds the offset of its partition.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timeout.h"

#include "base/caller.h"
#include "base/rows.h"
#include "base/settings.h"
#include "node/locks.h"
#include "policy/policy_call.h"

#define HOOK_MAX_ARGS 2

/* Types by name, because those of our schema have no fixed oid.  NULL: none. */
typedef struct Hook
{
	const char *option;			/* configure_type()'s, or the caller */
	const char *signature;
	const char *args[HOOK_MAX_ARGS];
	const char *result;
} Hook;

static const Hook hooks[HOOK_COUNT] = {
	[HOOK_RETRY] = {"retry_function", "(twtasks.task_input, text) returns timestamptz",
	{"task_input", "text"}, "timestamptz"},
	[HOOK_STUCK] = {"stuck_function", "(twtasks.task_input) returns twtasks.stuck_rule",
	{"task_input"}, "stuck_rule"},
	[HOOK_INTERCEPT] = {"intercept", "(twtasks.new_task) returns twtasks.new_task",
	{"new_task"}, "new_task"},
	[HOOK_DUTY] = {"a duty", "() returns bigint", {NULL}, "bigint"},
	[HOOK_MESSAGE] = {"take_messages", "(twtasks.message) returns twtasks.new_task",
	{"message"}, "new_task"},
	[HOOK_ON_END] = {"on_end", "(twtasks.ended_task[]) returns void",
	{"ended_task[]"}, "void"},
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
		return get_array_type(rows_type("ended_task"));
	return rows_type(name);
}

/* Looks at the catalog only, so the caller's rights do not matter. */
static HeapTuple
find_function(const Hook *hook, const char *name)
{
	List	   *names = twt_parse_name(name);
	Oid			args[HOOK_MAX_ARGS];
	int			nargs = 0;
	Oid			schema;

	if (list_length(names) != 2)
		return NULL;
	schema = get_namespace_oid(strVal(linitial(names)), true);
	for (int i = 0; i < HOOK_MAX_ARGS && hook->args[i] != NULL; i++)
		args[nargs++] = type_by_name(hook->args[i]);
	return SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(strVal(lsecond(names))),
						   PointerGetDatum(buildoidvector(args, nargs)),
						   ObjectIdGetDatum(schema));
}

static bool
has_right_result(const Hook *hook, HeapTuple tuple)
{
	Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);

	return proc->prorettype == type_by_name(hook->result) && !proc->proretset &&
		proc->prokind == PROKIND_FUNCTION;
}

static void
refuse_missing(const Hook *hook, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("function \"%s\" for %s does not exist", name, hook->option),
			 errhint("It must be %s%s, with its schema in the name.", name, hook->signature)));
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

static PolicyHook
hook_by_option(const char *option)
{
	for (int i = 0; i < HOOK_COUNT; i++)
		if (strcmp(hooks[i].option, option) == 0)
			return (PolicyHook) i;
	elog(ERROR, "unrecognized option: \"%s\"", option);
}

/* Checks a function that configure_type() or take_messages() was given. */
PG_FUNCTION_INFO_V1(twt_check_function);
Datum
twt_check_function(PG_FUNCTION_ARGS)
{
	const Hook *hook = &hooks[hook_by_option(text_to_cstring(PG_GETARG_TEXT_PP(0)))];
	char	   *name;
	HeapTuple	tuple;

	if (PG_ARGISNULL(1))
		PG_RETURN_VOID();
	name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strcmp(name, "none") == 0)
		PG_RETURN_VOID();
	tuple = find_function(hook, name);
	if (!HeapTupleIsValid(tuple) || !has_right_result(hook, tuple))
		refuse_missing(hook, name);
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
	PG_RETURN_VOID();
}

/*
 * The function may release all advisory locks of the session, which takes no
 * rights.  The lock of a node must be held afterwards, or the node would be taken
 * for dead.
 */
static Datum
invoke(FunctionCallInfo call)
{
	bool		is_node = locks_own_held();
	Datum		result;

	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_FINALLY();
	{
		if (is_node)
			locks_own_restore();
	}
	PG_END_TRY();
	return result;
}

Datum
policy_call(PolicyHook hook, const char *name, Datum *args, bool *isnull)
{
	LOCAL_FCINFO(call, HOOK_MAX_ARGS);
	HeapTuple	tuple = find_function(&hooks[hook], name);
	FmgrInfo	flinfo;
	Oid			save_user;
	int			save_context;
	Oid			owner;
	Datum		result;

	if (!HeapTupleIsValid(tuple) || !has_right_result(&hooks[hook], tuple))
		refuse_missing(&hooks[hook], name);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	fmgr_info(((Form_pg_proc) GETSTRUCT(tuple))->oid, &flinfo);
	ReleaseSysCache(tuple);

	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(owner, save_context | SECURITY_LOCAL_USERID_CHANGE);
	InitFunctionCallInfoData(*call, &flinfo, flinfo.fn_nargs, InvalidOid, NULL, NULL);
	for (int i = 0; i < flinfo.fn_nargs; i++)
	{
		call->args[i].value = args[i];
		call->args[i].isnull = false;
	}
	result = invoke(call);
	SetUserIdAndSecContext(save_user, save_context);
	*isnull = call->isnull;
	return result;
}

/* ---- time limit ---- */

static TimeoutId time_limit;
static bool has_time_limit = false;
static bool is_timed = false;	/* an inner call shares the time of the outer */
static volatile sig_atomic_t is_over;

static void
on_time_over(void)
{
	is_over = true;
	QueryCancelPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

static void
start_time(void)
{
	if (!has_time_limit)
		time_limit = RegisterTimeout(USER_TIMEOUT, on_time_over);
	has_time_limit = is_timed = true;
	is_over = false;
	enable_timeout_after(time_limit, twt_function_timeout);
}

/* Discards a cancel that was meant for the function alone. */
static void
stop_time(void)
{
	disable_timeout(time_limit, false);
	is_timed = false;
	if (is_over)
		QueryCancelPending = false;
}

/*
 * Raises another error than a cancel, because EXCEPTION WHEN OTHERS does not
 * catch a cancel.
 */
static void
refuse_slow(const char *name)
{
	FlushErrorState();
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("function \"%s\" took too long", name),
			 errdetail("The setting twtasks.function_timeout allows %d ms.", twt_function_timeout)));
}

Datum
policy_call_in_time(PolicyHook hook, const char *name, Datum *args, bool *isnull)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		result = (Datum) 0;

	if (is_timed)
		return policy_call(hook, name, args, isnull);
	start_time();
	PG_TRY();
	{
		result = policy_call(hook, name, args, isnull);
	}
	PG_CATCH();
	{
		stop_time();
		MemoryContextSwitchTo(context);
		if (is_over && geterrcode() == ERRCODE_QUERY_CANCELED)
			refuse_slow(name);
		PG_RE_THROW();
	}
	PG_END_TRY();
	stop_time();
	return result;
}

/* Rethrows a cancel that our time limit did not cause. */
static void
warn_or_rethrow(const char *name, ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED && !is_over)
		ReThrowError(error);
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("function \"%s\" of a policy failed: %s (SQLSTATE %s)", name,
					is_over ? "it took too long" : error->message,
					unpack_sql_state(error->sqlerrcode)),
			 errhint("The policy's figures decide in its place.")));
	FreeErrorData(error);
}

bool
policy_try(PolicyHook hook, const char *name, Datum *args, Datum *result, bool *isnull)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	start_time();
	PG_TRY();
	{
		*result = policy_call(hook, name, args, isnull);
		stop_time();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		stop_time();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error == NULL)
		return true;
	warn_or_rethrow(name, error);
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

PG_FUNCTION_INFO_V1(twt_call_stuck);
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

PG_FUNCTION_INFO_V1(twt_call_duty);
Datum
twt_call_duty(PG_FUNCTION_ARGS)
{
	bool		isnull;
	Datum		next_ms = policy_call_in_time(HOOK_DUTY, text_to_cstring(PG_GETARG_TEXT_PP(0)),
											  NULL, &isnull);

	if (isnull)
		PG_RETURN_NULL();
	return next_ms;
}

PG_FUNCTION_INFO_V1(twt_call_message);
Datum
twt_call_message(PG_FUNCTION_ARGS)
{
	Datum		args[HOOK_MAX_ARGS] = {PG_GETARG_DATUM(1)};

	return policy_call_in_time(HOOK_MESSAGE, text_to_cstring(PG_GETARG_TEXT_PP(0)),
							   args, &fcinfo->isnull);
}
