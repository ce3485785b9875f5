/*-------------------------------------------------------------------------
 *
 * rate.h
 *		How often something may start: so many per period, so many at once.
 *
 *		from: slots.h (slots_book)		to: slots.h (slots_start)
 *
 * In any stretch of time there are at most a burst of starts, and one more
 * for each step of that time; a step is the period divided by the rate,
 * rounded up.
 *
 * It is kept as one time, "spent": up to when the starts made so far would
 * last if they came evenly, a step apart.  A start moves it on by one step,
 * and may be made as long as it lies less than a burst of steps ahead.  What
 * may still be started (pending) counts as if it had been started now.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RATE_H
#define TWT_RATE_H

/* Begins as zeros: no limit. */
typedef struct Rate
{
	int64		step_ns;		/* 0: no limit */
	int			burst;
	int			pending;		/* kept by the owner */
	int64		spent_ns;
} Rate;

/* starts 0: no limit.  What was used up before stays so, at the new pace. */
extern void rate_set(Rate *rate, int starts, int64 period_us, int burst,
					 int64 now_us);

/* From when one more may start, by the same clock; never rounded down. */
extern int64 rate_next_us(const Rate *rate, int64 now_us);

extern void rate_start(Rate *rate, int64 now_us);

/* Whether it is as if nothing had ever started. */
extern bool rate_is_rested(const Rate *rate, int64 now_us);

#endif							/* TWT_RATE_H */
