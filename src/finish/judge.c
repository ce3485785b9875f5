/*-------------------------------------------------------------------------
 *
 * judge.c
 *		Judges a task whose handler failed, or asked for another run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "finish/judge.h"
#include "policy/policy.h"
#include "policy/policy_call.h"
#include "policy/retry.h"

/* The handler's own delay, if there is one, stays. */
static void
set_judgement(Try *try, TryResult result, int64 delay_ms)
{
	try->result = result;
	if (!try->has_delay)
		try->delay_ms = delay_ms;
}

/* The database's policy comes first, then the caller's, then the defaults. */
static int64
delay_of(const TypePolicy *policy, const Try *try, int32 tries)
{
	Jsonb	   *retry = policy->retry != NULL ? policy->retry : try->retry;

	if (retry == NULL)
		retry = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	return retry_delay_ms(retry, tries);
}

char *
judge_by_figures(Datum type, int32 tries, Try *try)
{
	const TypePolicy *policy = policy_of_text(type);
	bool		is_repeat = try->result == TRY_REPEAT;
	int64		delay_ms;

	if (is_repeat && policy->resets_tries)
	{
		set_judgement(try, TRY_REPEAT, delay_of(policy, try, BEFORE_REPEAT));
		return NULL;
	}
	delay_ms = delay_of(policy, try, tries);
	set_judgement(try, delay_ms < 0 ? TRY_ERROR : TRY_RETRY, delay_ms);
	if (is_repeat || policy->retry_function == NULL)
		return NULL;
	return pstrdup(policy->retry_function);
}

/* A call in SQL takes some kilobytes, which we free at once. */
static bool
ask(const char *function, Datum *args, TimestampTz *at, bool *isnull)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "twtasks retry function",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Datum		result = (Datum) 0;
	bool		has_answered;

	PushActiveSnapshot(GetTransactionSnapshot());
	has_answered = policy_try(HOOK_RETRY, function, args, &result, isnull);
	PopActiveSnapshot();
	*at = DatumGetTimestampTz(result);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return has_answered;
}

void
judge_by_function(const char *function, Datum task, TimestampTz until, Try *try)
{
	Datum		args[] = {
		task, try->message == NULL ? CStringGetTextDatum("") : PointerGetDatum(try->message)
	};
	TimestampTz at;
	TimestampTz now;
	bool		isnull;

	if (GetCurrentTimestamp() > until)
	{
		try->result = TRY_LATER;
		return;
	}
	if (!ask(function, args, &at, &isnull))
		return;
	now = GetCurrentTimestamp();
	if (isnull)
		set_judgement(try, TRY_ERROR, 0);
	else if (TIMESTAMP_IS_NOEND(at))
		ereport(WARNING,
				(errmsg("function \"%s\" of a policy failed: it returned an infinite time", function)));
	else
		set_judgement(try, TRY_RETRY, at <= now ? 0 : (at - now + 500) / 1000);
}
