/*-------------------------------------------------------------------------
 *
 * worker_start.c
 *		When a worker process starts again, or why it cannot start.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/worker/worker_start.h"

#define BACKOFF_MIN_US MS_TO_US(100)
#define BACKOFF_MAX_US SECONDS_TO_US(30)

void
worker_start_begin(WorkerStart *start, int64 now_us)
{
	start->count++;
	start->is_useful = false;
	start->last_us = now_us;
}

void
worker_start_set_trouble(WorkerStart *start, WorkerTrouble trouble, char *message)
{
	pfree(start->message);
	start->message = message;
	start->trouble = trouble;
}

void
worker_start_fail(WorkerStart *start, const SpawnFailure *failure)
{
	worker_start_set_trouble(start, failure->is_temporary ? TROUBLE_SHORTAGE : TROUBLE_UNFIT,
							 failure->message);
}

bool
worker_start_is_young(const WorkerStart *start, int64 now_us)
{
	return now_us - start->last_us < BACKOFF_MAX_US;
}

int64
worker_start_delay(WorkerStart *start, int64 now_us)
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
