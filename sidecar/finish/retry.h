/*-------------------------------------------------------------------------
 *
 * retry.h
 *		When, if ever, a failed task is tried again.
 *
 *		from: outcome.h (failure)		to: finish.h (retry or error)
 *
 * A plan has parts, one used up after the other.  A part is a list of delays,
 * or it backs off: delay * multiplier^(n - 1) after its try number n, never
 * above max_delay.  Less a random part of at most jitter of it.  All
 * arithmetic saturates; no plan can yield a negative or absurd time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RETRY_H
#define TWT_RETRY_H

#include "config/config.h"

/* Never changes once it is made. */
typedef struct RetryPlan RetryPlan;

/*
 * True, with the delay in microseconds, when a task that was tried tries
 * times gets another one; false when its tries are used up.  random is in
 * [0,1).
 */
extern bool retry_delay(const RetryConfig *retry, int tries, double random,
						int64 *delay_us) MUSTCHECK;

/* What retry_plan_parse() reads, of one part.  To be freed by the caller. */
extern char *retry_json(const RetryConfig *retry);

/* A plan of one part, or of none: no retries. */
extern RetryPlan *retry_plan_new(const RetryConfig *retry);
extern RetryPlan *retry_plan_copy(const RetryPlan *plan);
extern void retry_plan_free(RetryPlan *plan);

/*
 * The plan that twtasks_internal.retry_in_ms() writes as JSON.  NULL when the text is
 * not as it should be.
 */
extern RetryPlan *retry_plan_parse(const char *json) MUSTCHECK;

/* As retry_delay(), for the whole plan. */
extern bool retry_plan_delay(const RetryPlan *plan, int tries, double random,
							 int64 *delay_us) MUSTCHECK;

/* Tries in all, the first one included. */
extern int	retry_plan_tries(const RetryPlan *plan);

#endif							/* TWT_RETRY_H */
