/*-------------------------------------------------------------------------
 *
 * pace.c
 *		When a node ticks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "node/pace.h"
#include "calls/calls.h"

#define TICK_US SECONDS_TO_US(6)
#define WATCHFUL_TICK_US SECONDS_TO_US(3)
#define LATE_US SECONDS_TO_US(1)

int64
pace_period(QueueKind queue, int64 lease_us)
{
	return Min(queue == QUEUE_NOTIFY ? WATCHFUL_TICK_US : TICK_US, lease_us / 4);
}

int64
pace_next(int64 period_us, const PGresult *result)
{
	int64		look_us;

	if (PQgetisnull(result, 0, TICK_LOOK_MS))
		return period_us;
	look_us = MS_TO_US(wire_get_int(result, 0, TICK_LOOK_MS));
	if (look_us < 0)
		return Min(period_us, LATE_US); /* the leader is late */
	return Min(look_us, period_us + period_us / 4);
}
