/*-------------------------------------------------------------------------
 *
 * command.c
 *		The program of a command in the simulation: one task, and an exit status.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sysexits.h>

#include "acts.h"
#include "base/task.h"
#include "command.h"
#include "common/trigger.h"
#include "judge.h"
#include "world.h"

struct Command
{
	Process    *process;
	const Row  *row;
	int64		version;
	CommandExit exit;
	void	   *arg;
	Event	   *work;			/* NULL: none, or for ever */
	int			status;
};

/* A status, and the result that the sidecar makes of it. */
static const struct
{
	int			status;
	TaskResult	result;
}			ends[] = {
	{EX_OK, TASK_DONE}, {EX_TEMPFAIL, TASK_RETRY}, {EX_DATAERR, TASK_ERROR}, {1, TASK_FAILURE}, {80, TASK_REPEAT}
};

static void
on_end(void *arg)
{
	Command    *command = arg;
	int			end = acts_happens(HABIT_ODD_RESULTS, 200) ? (int) world_between(0, lengthof(ends) - 1) : 0;

	command->work = NULL;
	judge_result(command->row, command->version, ends[end].result);
	judge_expect(command->row, command->version);
	command->exit(command->arg, ends[end].status);
}

static const char *
find_fact(char **environment, const char *name)
{
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, name, strlen(name)) == 0)
			return *environment + strlen(name);
	world_fail("a command gets no %s", name);
}

Command *
command_new(Process *process, char **environment, CommandExit exit, void *arg)
{
	Command    *command = palloc0(sizeof(Command));
	const char *text = find_fact(environment, "TWTASKS_ID=");
	uint8		id[16];

	if (!trigger_id_parse(text, id) || (command->row = model_find(id)) == NULL)
		world_fail("a command gets an unknown task: %s", text);
	command->process = process;
	command->version = strtoll(find_fact(environment, "TWTASKS_VERSION="), NULL, 10);
	command->exit = exit;
	command->arg = arg;
	judge_start(process, command->row, command->version, world_now_us());
	if (!acts_happens(HABIT_BAD_WORKERS, 20))
		command->work = world_after(world_happens(800) ? world_between(MS_TO_US(1), MS_TO_US(300)) :
									world_between(MS_TO_US(300), MS_TO_US(2500)), on_end, command);
	return command;
}

void
command_free(Command *command)
{
	if (command->work != NULL)
		world_cancel(command->work);
	judge_stop(command->process, command->row, command->version);
	pfree(command);
}
