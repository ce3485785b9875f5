/*-------------------------------------------------------------------------
 *
 * rate.h
 *		A rate limit: a number of starts per period, and a burst.
 *
 *		from: slots.h (slots_book)		to: slots.h (slots_start)
 *
 * Any interval has at most a burst of starts, plus one for each step in the
 * interval.  A step is the period divided by the rate, rounded up.
 *
 * A rate keeps one time, "spent": when the starts so far would end if each
 * took one step.  A start moves "spent" on by one step.  It is allowed while
 * "spent" is less than a burst of steps ahead of now.  Pending starts count as
 * if they happened now.
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

/* starts 0: no limit.  Earlier starts still count, each with the new step. */
extern void rate_set(Rate *rate, int starts, int64 period_us, int burst,
					 int64 now_us);

/*
 * The time from which one more start is allowed, by the same clock, rounded
 * up.
 */
extern int64 rate_next_us(const Rate *rate, int64 now_us);

extern void rate_start(Rate *rate, int64 now_us);

/* Whether no earlier start affects the rate any more. */
extern bool rate_is_rested(const Rate *rate, int64 now_us);

#endif							/* TWT_RATE_H */
