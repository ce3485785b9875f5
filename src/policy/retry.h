/*-------------------------------------------------------------------------
 *
 * retry.h
 *		Whether and when a failed task is retried.
 *
 *		from: sql/policy/retry.sql		to: judge.h
 *
 * A retry policy is the JSON that configure_type() takes: "none", an object, or
 * a list of objects.  Each object is a part with tries of its own, and the last
 * try of a part is the first one of the next.
 *
 * Errors of all functions: 22023 when the JSON is not a retry policy, or what
 * the input functions of its numbers and intervals raise.  check_retry()
 * refuses such JSON before it is stored.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RETRY_H
#define TWT_RETRY_H

#include "utils/jsonb.h"

/* How often a task is tried in all, the first try included. */
extern int32 retry_tries(Jsonb *retry);

/* In place of a number of tries: a repeat waits as for a first retry, even if there is none. */
#define BEFORE_REPEAT 0

/*
 * Milliseconds from try number tries to the next one; -1: no more tries.  A
 * part that backs off waits delay * multiplier ^ (n - 1) after its try n, and
 * at most max_delay.  A random share of at most jitter is taken off.
 */
extern int64 retry_delay_ms(Jsonb *retry, int32 tries);

#endif							/* TWT_RETRY_H */
