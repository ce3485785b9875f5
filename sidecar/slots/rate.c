/*-------------------------------------------------------------------------
 *
 * rate.c
 *		A rate limit: a number of starts per period, and a burst.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "slots/rate.h"

/* The longest time that a rate looks back or ahead. */
#define LONGEST_NS (PG_INT64_MAX / 4)

void
rate_set(Rate *rate, int starts, int64 period_us, int burst, int64 now_us)
{
	int64		before = rate->step_ns;
	double		used_up = 0;

	rate->burst = burst;
	rate->step_ns = starts <= 0 ? 0 :
		Max((period_us * 1000 + starts - 1) / starts, 1);
	if (rate->step_ns == before || rate->step_ns == 0)
		return;
	if (before > 0 && rate->spent_ns > now_us * 1000)
		used_up = (double) (rate->spent_ns - now_us * 1000) / before;
	used_up = Min(used_up, (double) LONGEST_NS / rate->step_ns);
	rate->spent_ns = now_us * 1000 +
		(int64) (Min(used_up, burst) * rate->step_ns);
}

/* How far ahead of now "spent" may be while one more start is allowed. */
static int64
reach_ns(const Rate *rate)
{
	return Min(rate->burst - 1, LONGEST_NS / rate->step_ns) * rate->step_ns;
}

int64
rate_next_us(const Rate *rate, int64 now_us)
{
	int64		spent = rate->spent_ns;

	if (rate->step_ns == 0)
		return now_us;
	if (rate->pending > 0)
		spent = Max(spent, now_us * 1000) + rate->pending * rate->step_ns;
	return (spent - reach_ns(rate) + 999) / 1000;
}

void
rate_start(Rate *rate, int64 now_us)
{
	if (rate->step_ns > 0)
		rate->spent_ns = Max(rate->spent_ns, now_us * 1000) + rate->step_ns;
}

bool
rate_is_rested(const Rate *rate, int64 now_us)
{
	return rate->step_ns == 0 || rate->spent_ns <= now_us * 1000;
}
