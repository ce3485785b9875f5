/*-------------------------------------------------------------------------
 *
 * policy_options.c
 *		Policies for the SQL functions that read or change them.
 *
 *		from: policy.h		to: sql/policy/policy_of.sql
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "catalog/pg_type.h"
#include "commands/async.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/contract.h"
#include "common/pattern.h"
#include "node/clock.h"
#include "policy/policy.h"
#include "policy/retry.h"

#define CONFIG_CHANNEL "twtasks_config"

TWT_FUNCTION(twt_is_paused);
Datum
twt_is_paused(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(policy_is_paused(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									text_to_cstring(PG_GETARG_TEXT_PP(1))));
}

/* How long a task of that type may be SUBMITTED. */
TWT_FUNCTION(twt_queue_time);
Datum
twt_queue_time(PG_FUNCTION_ARGS)
{
	char	   *type = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Interval   *result = palloc0(sizeof(Interval));

	result->time = policy_find(type)->queue_time_us;
	PG_RETURN_INTERVAL_P(result);
}

TWT_FUNCTION(twt_fits);
Datum
twt_fits(PG_FUNCTION_ARGS)
{
	size_t		fit = pattern_fit(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								  text_to_cstring(PG_GETARG_TEXT_PP(1)));

	if (fit == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(Min(fit, PG_INT32_MAX));
}

TWT_FUNCTION(twt_may_still_run);
Datum
twt_may_still_run(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(policy_of_text(PG_GETARG_DATUM(0))->waits_for_deadline &&
				   PG_GETARG_TIMESTAMPTZ(1) > twt_now());
}

/* The columns of twtasks_internal.type_options(). */
enum
{
	OPTION_TIMEOUT_MS,
	OPTION_STUCK,
	OPTION_ASKS_STUCK,
	OPTION_NODES,
	OPTION_AGING_MS,
	OPTION_MAX_TRIES,
	OPTIONS
};

static void
put_text(Datum *values, bool *nulls, int column, const char *text)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

static Datum
text_array(char **names)
{
	ArrayBuildState *array = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	for (; *names != NULL; names++)
		accumArrayResult(array, CStringGetTextDatum(*names), false, TEXTOID, CurrentMemoryContext);
	return makeArrayResult(array, CurrentMemoryContext);
}

TWT_FUNCTION(twt_type_options);
Datum
twt_type_options(PG_FUNCTION_ARGS)
{
	const TypePolicy *policy = policy_of_text(PG_GETARG_DATUM(0));
	Datum		values[OPTIONS];
	bool		nulls[OPTIONS] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[OPTION_TIMEOUT_MS] = Int64GetDatum(policy->timeout_us / 1000);
	nulls[OPTION_TIMEOUT_MS] = policy->timeout_us < 0;
	put_text(values, nulls, OPTION_STUCK, policy->stuck);
	values[OPTION_ASKS_STUCK] = BoolGetDatum(policy->stuck_function != NULL);
	nulls[OPTION_NODES] = policy->nodes == NULL;
	if (policy->nodes != NULL)
		values[OPTION_NODES] = text_array(policy->nodes);
	values[OPTION_AGING_MS] = Int64GetDatum(policy->aging_us / 1000);
	if (policy->retry_function != NULL)
		values[OPTION_MAX_TRIES] = Int32GetDatum(0);
	else if (policy->retry != NULL)
		values[OPTION_MAX_TRIES] = Int32GetDatum(retry_tries(policy->retry));
	else
		nulls[OPTION_MAX_TRIES] = true;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * Other sessions get the notification and the invalidation at our commit.  Our
 * own session applies the invalidation at the end of the command.
 */
TWT_FUNCTION(twt_config_changed);
Datum
twt_config_changed(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger")));
	CacheInvalidateRelcache(data->tg_relation);
	Async_Notify(CONFIG_CHANNEL, NULL);
	return PointerGetDatum(NULL);
}
