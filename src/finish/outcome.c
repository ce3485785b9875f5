/*-------------------------------------------------------------------------
 *
 * outcome.c
 *		The outcome that a handler gives to functions of on_end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "fmgr.h"
#include "utils/memutils.h"

#include "base/call.h"
#include "base/contract.h"
#include "finish/outcome.h"

#define OUTCOME_MAX 8192

/* The end of its subtransaction frees a setting, and brings back the one before. */
typedef struct Setting
{
	struct Setting *before;
	Jsonb	   *outcome;
	MemoryContextCallback callback;
} Setting;

static Setting *last;
static bool is_running;

static void
take_back(void *arg)
{
	if (last == arg)
		last = last->before;
}

static void
set_outcome(const Jsonb *outcome)
{
	Setting    *setting = MemoryContextAlloc(CurTransactionContext, sizeof(Setting));

	setting->outcome = MemoryContextAlloc(CurTransactionContext, VARSIZE(outcome));
	memcpy(setting->outcome, outcome, VARSIZE(outcome));
	setting->before = last;
	setting->callback.func = take_back;
	setting->callback.arg = setting;
	MemoryContextRegisterResetCallback(CurTransactionContext, &setting->callback);
	last = setting;
}

void
outcome_begin(void)
{
	last = NULL;
	is_running = true;
}

Jsonb *
outcome_end(void)
{
	Jsonb	   *outcome = last == NULL ? NULL : last->outcome;

	last = NULL;
	is_running = false;
	return outcome;
}

void
outcome_check(Jsonb *outcome)
{
	int			length;

	if (!JB_ROOT_IS_OBJECT(outcome))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an outcome must be a JSON object")));
	length = strlen(JsonbToCString(NULL, &outcome->root, VARSIZE(outcome)));
	if (length > OUTCOME_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an outcome must have at most %d bytes, not %d", OUTCOME_MAX, length)));
}

TWT_FUNCTION(twt_check_outcome);
Datum
twt_check_outcome(PG_FUNCTION_ARGS)
{
	outcome_check(PG_GETARG_JSONB_P(0));
	PG_RETURN_VOID();
}

TWT_FUNCTION(twt_set_outcome);
Datum
twt_set_outcome(PG_FUNCTION_ARGS)
{
	Jsonb	   *outcome;

	require_argument(fcinfo, 0, "outcome");
	if (!is_running)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no SQL handler is running"),
				 errhint("Call twtasks.set_outcome() in the function that a sidecar runs for a task.")));
	outcome = PG_GETARG_JSONB_P(0);
	outcome_check(outcome);
	set_outcome(outcome);
	PG_RETURN_VOID();
}
