/*-------------------------------------------------------------------------
 *
 * pace.h
 *		When a node ticks.
 *
 *		from: node.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PACE_H
#define TWT_PACE_H

#include "config/config.h"
#include "libpq-fe.h"

/*
 * The microseconds between two ticks.  Without shared memory the end of a node's
 * session is not reported, so nodes tick more often.
 */
extern int64 pace_period(QueueKind queue, int64 lease_us);

/*
 * The microseconds until the next tick, by the result of the last one.  A follower
 * ticks a moment after the leader must have ticked.  So it soon notices a leader
 * that hangs, without more ticks.
 */
extern int64 pace_next(int64 period_us, const PGresult *result);

#endif							/* TWT_PACE_H */
