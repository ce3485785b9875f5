/*-------------------------------------------------------------------------
 *
 * retry.c
 *		When, if ever, a failed task is tried again.
 *
 *		from: execute.h (failure)		to: finish.h (retry or error)
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include <math.h>

#include "retry.h"

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

bool
retry_delay(const RetryConfig *retry, int tries, double random,
			int64 *delay_us)
{
	int64		delay = backed_off(retry, tries);
	double		cut = (double) delay *
		clamp_part(retry->jitter) * clamp_part(random);

	if (tries >= retry->max_tries)
		return false;
	*delay_us = cut < (double) delay ? delay - (int64) cut : 0;
	return true;
}
