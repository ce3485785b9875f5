#include "base/port.h"

#include "base/task.h"
#include "base/policy.h"

void
task_free(Task *task)
{
	pfree(task->type);
	pfree(task->sub_type);
	pfree(task->key);
	pfree(task->bucket);
	pfree(task->deadline_text);
	pfree(task->context);
	pfree(task->data);
	pfree(task->unreadable);
	policy_unref(task->policy);
	pfree(task);
}
