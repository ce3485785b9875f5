/*-------------------------------------------------------------------------
 *
 * helper_start.c
 *		When a process that stays starts again, or why it cannot start.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "helper/helper_start.h"

#define BACKOFF_MIN_US MS_TO_US(100)
#define BACKOFF_MAX_US SECONDS_TO_US(30)

void
helper_start_begin(HelperStart *start, int64 now_us)
{
	start->count++;
	start->is_useful = false;
	start->last_us = now_us;
}

void
helper_start_set_trouble(HelperStart *start, HelperTrouble trouble, char *message)
{
	pfree(start->message);
	start->message = message;
	start->trouble = trouble;
}

void
helper_start_fail(HelperStart *start, const SpawnFailure *failure)
{
	helper_start_set_trouble(start, failure->is_temporary ? TROUBLE_SHORTAGE : TROUBLE_UNFIT,
							 failure->message);
}

bool
helper_start_is_young(const HelperStart *start, int64 now_us)
{
	return now_us - start->last_us < HELPER_YOUNG_US;
}

int64
helper_start_delay(HelperStart *start, int64 now_us)
{
	int64		delay_us = Max(start->backoff_us, BACKOFF_MIN_US);

	if (!start->is_useful)
	{
		start->backoff_us = Min(2 * delay_us, BACKOFF_MAX_US);
		return delay_us;
	}
	start->backoff_us = 0;
	return start->last_us + BACKOFF_MIN_US - now_us;
}
