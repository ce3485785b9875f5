/*-------------------------------------------------------------------------
 *
 * when.h
 *		When a task that is added can run, and the trigger that says so.
 *
 *		from: store.c, claim.c		to: commit.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WHEN_H
#define TWT_WHEN_H

#include "utils/uuid.h"

#include "base/new_task.h"

static inline bool
when_waits(const NewTask *task, TimestampTz now)
{
	return task->run_after > now;
}

/* The time at which the task runs, or counts as late in the queue. */
static inline TimestampTz
when_next(const NewTask *task, TimestampTz now)
{
	return when_waits(task, now) ? task->run_after : now + task->queue_time_us;
}

/* Queues a trigger at the commit.  due: its time to run; up to now: at once. */
extern void when_remember(const NewTask *task, const pg_uuid_t *id, int64 version, TimestampTz due,
						  TimestampTz now);

#endif							/* TWT_WHEN_H */
