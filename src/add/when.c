/*-------------------------------------------------------------------------
 *
 * when.c
 *		The trigger of a task that is added.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "add/when.h"
#include "base/unix_time.h"
#include "commit/commit.h"

void
when_remember(const NewTask *task, const pg_uuid_t *id, int64 version, TimestampTz due,
			  TimestampTz now)
{
	TaskTrigger trigger;

	memset(&trigger, 0, offsetof(TaskTrigger, type));
	memcpy(trigger.id, id, sizeof(trigger.id));
	trigger.version = version;
	trigger.due_us = due > now ? unix_us(due) : 0;
	trigger.size = task->size;
	trigger.priority = task->priority;
	commit_remember_task(task->bucket, task->type, &trigger);
}
