/*-------------------------------------------------------------------------
 *
 * retry.h
 *		When, if ever, a failed task is tried again.
 *
 *		from: execute.h (failure)		to: finish.h (retry or error)
 *
 * Exponential back-off: delay * multiplier^(tries - 1), never above
 * max_delay, less a random part of at most jitter of it.  All arithmetic
 * saturates; a policy can never yield a negative or absurd time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RETRY_H
#define TWT_RETRY_H

#include "config.h"

/*
 * True, with the delay in microseconds, when a task that was tried tries
 * times gets another one; false when its tries are used up.  random is in
 * [0,1).
 */
extern bool retry_delay(const RetryConfig *retry, int tries, double random,
						int64 *delay_us) MUSTCHECK;

#endif							/* TWT_RETRY_H */
