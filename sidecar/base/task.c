#include "base/port.h"

#include "base/task.h"
#include "base/policy.h"

void
task_free(Task *task)
{
	pfree(task->unreadable);
	policy_unref(task->policy);
	pfree(task);
}
