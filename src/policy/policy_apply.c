/*-------------------------------------------------------------------------
 *
 * policy_apply.c
 *		Applies the policies of its type to a task that is added.
 *
 *		from: check.c		to: add.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "common/int.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "node/clock.h"
#include "node/node.h"
#include "policy/policy.h"
#include "policy/policy_apply.h"
#include "policy/policy_call.h"

/* Whether the function of a policy is running. */
static bool is_intercepting = false;

/*
 * The function may look at the policies itself, so name must be our own copy.
 * In a node's session the time is limited, because that session must keep the
 * node alive; and where others wait for the add.
 */
static Datum
call_function(const char *name, NewTask *task, bool *isnull)
{
	Datum		args[] = {shape_form(&new_task_shape, task->values, task->nulls)};
	Datum		result = (Datum) 0;

	is_intercepting = true;
	PG_TRY();
	{
		result = node_is_session() || task->has_limit ?
			policy_call_in_time(HOOK_INTERCEPT, name, args, isnull) :
			policy_call(HOOK_INTERCEPT, name, args, isnull);
	}
	PG_FINALLY();
	{
		is_intercepting = false;
	}
	PG_END_TRY();
	return result;
}

/* Whether the new context has all that the old one had. */
static bool
keeps_context(const NewTask *before, const NewTask *task)
{
	return before->nulls[NEW_CONTEXT] ||
		(!task->nulls[NEW_CONTEXT] &&
		 DatumGetBool(DirectFunctionCall2(jsonb_contains, task->values[NEW_CONTEXT],
										  before->values[NEW_CONTEXT])));
}

static bool
keeps_field(const NewTask *before, const NewTask *task, NewField field)
{
	int16		length;
	bool		by_value;

	if (before->nulls[field] || task->nulls[field])
		return before->nulls[field] == task->nulls[field];
	get_typlenbyval(new_task_shape.columns[field].type, &length, &by_value);
	return datum_image_eq(before->values[field], task->values[field], by_value, length);
}

/*
 * An extension goes on from a task by what it has added, so only these fields
 * are free: sub_type, priority, bucket, and more of the context.
 */
static void
check_kept(const NewTask *before, const NewTask *task, const char *function)
{
	static const NewField kept[] = {
		NEW_TYPE, NEW_DATA, NEW_KEY, NEW_TASK_ID, NEW_RUN_AFTER, NEW_EXPIRES, NEW_PAYLOAD
	};
	const char *changed = keeps_context(before, task) ? NULL : "context";

	for (size_t i = 0; i < lengthof(kept) && changed == NULL; i++)
		if (!keeps_field(before, task, kept[i]))
			changed = new_task_shape.columns[kept[i]].name;
	if (changed != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function \"%s\" for intercept must not change %s of a task of type \"%s\"",
						function, changed, before->type),
				 errdetail("An extension adds the tasks of this type, and goes on by what it has added."),
				 errhint("Let the function return the task as it is, or with another sub_type, priority or bucket, or with more in its context.")));
}

bool
policy_intercept(NewTask *task)
{
	const TypePolicy *policy = policy_find(task->type);
	const char *function = policy->intercept;
	bool		is_own = policy_own_function(policy) != NULL;
	NewTask		before;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context;
	char	   *name;
	bool		isnull;
	Datum		row;

	if (likely(function == NULL) || is_intercepting)
		return false;
	/* A call in SQL takes some kilobytes, which we free at once. */
	context = AllocSetContextCreate(caller, "twtasks intercept", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	name = pstrdup(function);
	row = call_function(name, task, &isnull);
	MemoryContextSwitchTo(caller);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_RAISE_EXCEPTION),
				 errmsg("task of type \"%s\" was refused by function \"%s\"",
						task->type, name)));
	before = *task;
	/* The row belongs to the function, whose memory we free. */
	shape_deform(&new_task_shape, DatumGetHeapTupleHeaderCopy(row), task->values, task->nulls);
	if (is_own)
		check_kept(&before, task, name);
	MemoryContextDelete(context);
	return true;
}

/* The time counts from run_after: a task for tomorrow must not expire before. */
static TimestampTz
expires_at(const NewTask *task, int64 after_us)
{
	TimestampTz from = twt_now();
	TimestampTz at;

	if (!task->nulls[NEW_RUN_AFTER])
		from = Max(from, DatumGetTimestampTz(task->values[NEW_RUN_AFTER]));
	if (pg_add_s64_overflow(from, after_us, &at) || !IS_VALID_TIMESTAMP(at))
		return DT_NOEND;
	return at;
}

static void
set_field(NewTask *task, NewField field, Datum value)
{
	task->values[field] = value;
	task->nulls[field] = false;
}

void
policy_apply(NewTask *task)
{
	const TypePolicy *policy = policy_find(task->type);

	task->queue_time_us = policy->queue_time_us;
	if (task->nulls[NEW_PRIORITY])
		set_field(task, NEW_PRIORITY,
				  Int32GetDatum(policy->priority < 0 ? DEFAULT_PRIORITY : policy->priority));
	if (task->nulls[NEW_BUCKET])
		set_field(task, NEW_BUCKET,
				  CStringGetTextDatum(policy->bucket == NULL ? DEFAULT_BUCKET : policy->bucket));
	if (task->nulls[NEW_EXPIRES] && policy->expires_after_us > 0 &&
		policy_own_function(policy) == NULL)
	{
		TimestampTz at = expires_at(task, policy->expires_after_us);

		if (!TIMESTAMP_NOT_FINITE(at))
			set_field(task, NEW_EXPIRES, TimestampTzGetDatum(at));
	}
}
