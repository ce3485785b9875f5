/*-------------------------------------------------------------------------
 *
 * retry.c
 *		Whether and when a failed task is retried.
 *
 * Reading the JSON at each failure costs little beside changing the row, so
 * nothing is cached.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include <math.h>

#include "common/pg_prng.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "base/contract.h"
#include "base/interval.h"
#include "policy/retry.h"

#define DEFAULT_DELAY_MS (5 * 1000.0)
#define DEFAULT_MAX_DELAY_MS (2 * 3600 * 1000.0)
#define DEFAULT_MULTIPLIER 2.0
#define DEFAULT_JITTER 0.1
#define DEFAULT_TRIES 20

typedef struct Part
{
	JsonbContainer *members;
	JsonbContainer *delays;		/* NULL: the part backs off */
	int32		retries;
} Part;

/* Whether the object has that member. */
static bool
find_member(JsonbContainer *object, const char *name, JsonbValue *value)
{
	return getKeyJsonValueFromContainer(object, name, strlen(name), value) != NULL;
}

static void
require(bool is_valid)
{
	if (!is_valid)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid retry policy"),
				 errhint("twtasks.configure_type() says which ones are valid.")));
}

static double
read_number(JsonbContainer *object, const char *name, double otherwise)
{
	JsonbValue	value;

	if (!find_member(object, name, &value))
		return otherwise;
	require(value.type == jbvNumeric);
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value.val.numeric)));
}

static double
parse_duration_ms(const JsonbValue *value)
{
	Datum		interval;

	require(value->type == jbvString);
	interval = DirectFunctionCall3(interval_in,
								   CStringGetDatum(pnstrdup(value->val.string.val, value->val.string.len)),
								   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	return interval_ms(DatumGetIntervalP(interval));
}

static double
read_duration_ms(JsonbContainer *object, const char *name, double otherwise)
{
	JsonbValue	value;

	return find_member(object, name, &value) ? parse_duration_ms(&value) : otherwise;
}

static void
read_part(JsonbContainer *object, Part *part)
{
	JsonbValue	delays;
	double		tries;

	require(JsonContainerIsObject(object));
	part->members = object;
	part->delays = NULL;
	if (find_member(object, "delays", &delays))
	{
		require(delays.type == jbvBinary && JsonContainerIsArray(delays.val.binary.data));
		part->delays = delays.val.binary.data;
		part->retries = (int32) JsonContainerSize(part->delays);
		require(part->retries > 0);
		return;
	}
	tries = read_number(object, "max_tries", DEFAULT_TRIES);
	require(tries >= 1 && tries <= PG_INT32_MAX);
	part->retries = (int32) tries - 1;
}

/* False: the policy has no such part.  Parts count from 0. */
static bool
find_part(Jsonb *retry, int number, Part *part)
{
	JsonbValue *value;

	if (JB_ROOT_IS_OBJECT(retry) && number == 0)
	{
		read_part(&retry->root, part);
		return true;
	}
	if (!JB_ROOT_IS_ARRAY(retry) || JB_ROOT_IS_SCALAR(retry))
		return false;
	value = getIthJsonbValueFromContainer(&retry->root, number);
	if (value == NULL)
		return false;
	require(value->type == jbvBinary);
	read_part(value->val.binary.data, part);
	return true;
}

int32
retry_tries(Jsonb *retry)
{
	int32		tries = 1;
	Part		part;

	for (int i = 0; find_part(retry, i, &part); i++)
		tries += part.retries;
	return tries;
}

static double
listed_ms(const Part *part, int32 n)
{
	return parse_duration_ms(getIthJsonbValueFromContainer(part->delays, n - 1));
}

static double
backed_off_ms(const Part *part, int32 n)
{
	double		delay = read_duration_ms(part->members, "delay", DEFAULT_DELAY_MS);
	double		longest = read_duration_ms(part->members, "max_delay", DEFAULT_MAX_DELAY_MS);
	double		factor = read_number(part->members, "multiplier", DEFAULT_MULTIPLIER);

	/* The power may be infinite, and 0 * infinity is not a number. */
	return delay <= 0 ? 0 : Min(delay * pow(factor, n - 1), longest);
}

int64
retry_delay_ms(Jsonb *retry, int32 tries)
{
	int32		n = Max(tries, 1);
	Part		part;

	for (int i = 0; find_part(retry, i, &part); i++)
	{
		double		delay;
		double		jitter;

		if (n > part.retries && tries != BEFORE_REPEAT)
		{
			n -= part.retries;
			continue;
		}
		delay = part.delays == NULL ? backed_off_ms(&part, n) : listed_ms(&part, n);
		jitter = read_number(part.members, "jitter", part.delays == NULL ? DEFAULT_JITTER : 0);
		delay -= delay * jitter * pg_prng_double(&pg_global_prng_state);
		return (int64) floor(Max(delay, 0));
	}
	return -1;
}

TWT_FUNCTION(twt_retry_delay);
Datum
twt_retry_delay(PG_FUNCTION_ARGS)
{
	int64		delay_ms = retry_delay_ms(PG_GETARG_JSONB_P(0), PG_GETARG_INT32(1));

	if (delay_ms < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(delay_ms);
}
