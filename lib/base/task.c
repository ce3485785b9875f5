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
	pfree(task->span);
	policy_unref(task->policy);
	pfree(task);
}

typedef struct ResultName
{
	const char *name;
	bool		is_protocol;	/* any kind of handler may report it */
} ResultName;

static const ResultName result_names[] = {
	[TASK_DONE] = {"done", true},
	[TASK_DELETE] = {"delete", true},
	[TASK_RETRY] = {"retry", true},
	[TASK_REPEAT] = {"repeat", true},
	[TASK_ERROR] = {"error", true},
	[TASK_ACCEPTED] = {"accepted", true},
	[TASK_CANCELLED] = {"cancelled", true},
	[TASK_RELEASE] = {"release", false},
	[TASK_FAILURE] = {"failure", false},
};

static bool
parse(const char *name, TaskResult *result)
{
	for (int i = 0; i < (int) lengthof(result_names); i++)
	{
		if (strcmp(name, result_names[i].name) == 0)
		{
			*result = (TaskResult) i;
			return true;
		}
	}
	return false;
}

const char *
task_result_name(TaskResult result)
{
	return result_names[result].name;
}

bool
task_result_parse(const char *name, TaskResult *result)
{
	return parse(name, result) && result_names[*result].is_protocol;
}

bool
task_result_parse_worker(const char *name, TaskResult *result)
{
	return parse(name, result) && *result != TASK_FAILURE;
}
