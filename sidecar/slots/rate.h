/*-------------------------------------------------------------------------
 *
 * rate.h
 *		How often something may start: so many per period, so many at once.
 *
 *		from: slots.h (slots_book)		to: slots.h (slots_start)
 *
 * Any stretch of time has at most a burst of starts, and one more for each
 * step of that time.  A step is the period divided by the rate, rounded up.
 *
 * A rate keeps one time, "spent": the end of the starts made so far, if they
 * had come evenly, a step apart.  A start moves it on by one step, and is
 * allowed while it lies less than a burst of steps ahead.  Starts that may
 * still happen (pending) count as if they had happened now.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RATE_H
#define TWT_RATE_H

/* All zeros: no limit. */
typedef struct Rate
{
	int64		step_ns;		/* 0: no limit */
	int			burst;
	int			pending;		/* kept by the owner */
	int64		spent_ns;
} Rate;

/* starts 0: no limit.  Earlier starts stay counted, at the new pace. */
extern void rate_set(Rate *rate, int starts, int64 period_us, int burst,
					 int64 now_us);

/*
 * The time from which one more may start, by the same clock; never rounded
 * down.
 */
extern int64 rate_next_us(const Rate *rate, int64 now_us);

extern void rate_start(Rate *rate, int64 now_us);

/* Whether the rate is as if nothing had ever started. */
extern bool rate_is_rested(const Rate *rate, int64 now_us);

#endif							/* TWT_RATE_H */
