/*-------------------------------------------------------------------------
 *
 * retry.c
 *		When, if ever, a failed task is tried again.
 *
 *		from: outcome.c (failure)		to: finish.c (retry or error)
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <math.h>

#include <jansson.h>

#include "finish/retry.h"

/* One part of a plan: a list of delays, or none and a back-off. */
typedef struct RetryPart
{
	RetryConfig backoff;		/* jitter counts for a list as well */
	int64	   *delays_us;		/* NULL: no list */
	int			ndelays;
} RetryPart;

struct RetryPlan
{
	RetryPart  *parts;
	int			nparts;
};

/* Into 0..1; not a number counts as 0. */
static double
clamp_part(double part)
{
	if (!(part > 0))
		return 0;
	return part < 1 ? part : 1;
}

/*
 * The product is compared as a double before it becomes an integer, so that
 * neither an infinite one nor one just beyond int64 is ever converted.
 */
static int64
backed_off(const RetryConfig *retry, int tries)
{
	int64		max_delay = Max(retry->max_delay_us, 0);
	double		multiplier = retry->multiplier > 1 ? retry->multiplier : 1;
	double		delay;

	if (retry->delay_us <= 0)
		return 0;
	delay = (double) retry->delay_us * pow(multiplier, Max(tries, 1) - 1);
	return delay < (double) max_delay ? (int64) delay : max_delay;
}

/* Less what is left to chance. */
static int64
jittered(int64 delay, double jitter, double random)
{
	double		cut = (double) delay * clamp_part(jitter) * clamp_part(random);

	return cut < (double) delay ? delay - (int64) cut : 0;
}

bool
retry_delay(const RetryConfig *retry, int tries, double random,
			int64 *delay_us)
{
	if (tries >= retry->max_tries)
		return false;
	*delay_us = jittered(backed_off(retry, tries), retry->jitter, random);
	return true;
}

/* ---- plans ---- */

static RetryPlan *
new_plan(int nparts)
{
	RetryPlan  *plan = palloc0(sizeof(RetryPlan));

	plan->parts = palloc0(Max(nparts, 1) * sizeof(RetryPart));
	plan->nparts = nparts;
	return plan;
}

RetryPlan *
retry_plan_new(const RetryConfig *retry)
{
	RetryPlan  *plan = new_plan(retry == NULL ? 0 : 1);

	if (retry != NULL)
		plan->parts[0].backoff = *retry;
	return plan;
}

RetryPlan *
retry_plan_copy(const RetryPlan *plan)
{
	RetryPlan  *copy = new_plan(plan->nparts);

	for (int i = 0; i < plan->nparts; i++)
	{
		const RetryPart *part = &plan->parts[i];

		copy->parts[i] = *part;
		if (part->delays_us == NULL)
			continue;
		copy->parts[i].delays_us = palloc(part->ndelays * sizeof(int64));
		memcpy(copy->parts[i].delays_us, part->delays_us,
			   part->ndelays * sizeof(int64));
	}
	return copy;
}

void
retry_plan_free(RetryPlan *plan)
{
	for (int i = 0; i < plan->nparts; i++)
		if (plan->parts[i].delays_us != NULL)
			pfree(plan->parts[i].delays_us);
	pfree(plan->parts);
	pfree(plan);
}

/* The last try of a part is the first of the next. */
static int
part_retries(const RetryPart *part)
{
	return part->delays_us != NULL ? part->ndelays :
		Max(part->backoff.max_tries, 1) - 1;
}

static int64
part_delay(const RetryPart *part, int tries, double random)
{
	int64		delay = part->delays_us != NULL ?
		Max(part->delays_us[tries - 1], 0) : backed_off(&part->backoff, tries);

	return jittered(delay, part->backoff.jitter, random);
}

bool
retry_plan_delay(const RetryPlan *plan, int tries, double random,
				 int64 *delay_us)
{
	int			left = Max(tries, 1);

	for (int i = 0; i < plan->nparts; i++)
	{
		const RetryPart *part = &plan->parts[i];

		if (left <= part_retries(part))
		{
			*delay_us = part_delay(part, left, random);
			return true;
		}
		left -= part_retries(part);
	}
	return false;
}

int
retry_plan_tries(const RetryPlan *plan)
{
	int64		tries = 1;

	for (int i = 0; i < plan->nparts; i++)
		tries += part_retries(&plan->parts[i]);
	return (int) Min(tries, PG_INT32_MAX);
}

/* ---- plans as text ---- */

static bool
read_number(const json_t *object, const char *name, double *number)
{
	const json_t *value = json_object_get(object, name);

	*number = json_number_value(value);
	return json_is_number(value);
}

/* Within what configure_type() allows, or nearly so: nothing overflows. */
static bool
read_us(const json_t *ms, int64 *us)
{
	if (!json_is_integer(ms) || json_integer_value(ms) < 0 ||
		json_integer_value(ms) > PG_INT64_MAX / 1000)
		return false;
	*us = MS_TO_US(json_integer_value(ms));
	return true;
}

static bool
read_list(const json_t *list, RetryPart *part)
{
	if (!json_is_array(list) || json_array_size(list) == 0)
		return false;
	part->ndelays = (int) json_array_size(list);
	part->delays_us = palloc0(part->ndelays * sizeof(int64));
	for (int i = 0; i < part->ndelays; i++)
		if (!read_us(json_array_get(list, i), &part->delays_us[i]))
			return false;
	return true;
}

static bool
read_backoff(const json_t *object, RetryConfig *backoff)
{
	double		max_tries;

	if (!read_us(json_object_get(object, "delay_ms"), &backoff->delay_us) ||
		!read_us(json_object_get(object, "max_delay_ms"), &backoff->max_delay_us) ||
		!read_number(object, "multiplier", &backoff->multiplier) ||
		!read_number(object, "max_tries", &max_tries))
		return false;
	backoff->max_tries = max_tries >= 1 && max_tries <= PG_INT32_MAX ? (int) max_tries : 1;
	return true;
}

static bool
read_part(const json_t *object, RetryPart *part)
{
	const json_t *list = json_object_get(object, "delays_ms");

	return read_number(object, "jitter", &part->backoff.jitter) &&
		(list != NULL ? read_list(list, part) : read_backoff(object, &part->backoff));
}

static bool
read_parts(const json_t *array, RetryPlan *plan)
{
	for (int i = 0; i < plan->nparts; i++)
		if (!read_part(json_array_get(array, i), &plan->parts[i]))
			return false;
	return true;
}

RetryPlan *
retry_plan_parse(const char *json)
{
	json_t	   *array = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	RetryPlan  *plan = new_plan((int) json_array_size(array));
	bool		is_fine = json_is_array(array) && read_parts(array, plan);

	json_decref(array);
	if (is_fine)
		return plan;
	retry_plan_free(plan);
	return NULL;
}

char *
retry_json(const RetryConfig *retry)
{
	return psprintf("[{\"delay_ms\": " INT64_FORMAT ", \"multiplier\": %.17g, "
					"\"max_delay_ms\": " INT64_FORMAT ", \"max_tries\": %d, \"jitter\": %.17g}]",
					retry->delay_us / 1000, retry->multiplier,
					retry->max_delay_us / 1000, retry->max_tries, retry->jitter);
}
