#include "base/port.h"

#include "base/task.h"
#include "base/policy.h"

void
verdict_clear(Verdict *verdict)
{
	pfree(unconstify(char *, verdict->message));
	pfree(unconstify(char *, verdict->outcome));
	pfree(unconstify(char *, verdict->add));
	verdict->message = verdict->outcome = verdict->add = NULL;
}

void
task_free(Task *task)
{
	pfree(task->unreadable);
	policy_unref(task->policy);
	pfree(task);
}
