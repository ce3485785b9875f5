/*-------------------------------------------------------------------------
 *
 * notify_command.c
 *		A message given to a program, as JSON on its stdin.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/bare.h"
#include "workers/notify/notify_command.h"

#define TIMEOUT_US SECONDS_TO_US(10)

/* The status of a program whose end was not seen: neither an exit nor a signal. */
#define NO_STATUS (-1)

/* The time between two looks at it. */
#define LOOK_US MS_TO_US(20)

typedef struct Command
{
	Loop	   *loop;
	LoopTimer  *timer;
	pid_t		pid;
	int64		end_us;
	NotifyCommandDone done;
	void	   *arg;
} Command;

/* In a group of its own; nobody reads its output. */
static void
become(char *const *argv, int in, pid_t parent)
{
	int			null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (setpgid(0, 0) == 0)
		bare_become(argv, in, null, parent);
	_exit(127);
}

static pid_t
start(char *const *argv, int in)
{
	pid_t		self = getpid();
	pid_t		pid = in < 0 ? -1 : fork();

	if (pid == 0)
		become(argv, in, self);
	return pid;
}

static char *
describe(int status, bool is_late)
{
	if (is_late)
		return psprintf("did not end within %d s", (int) (TIMEOUT_US / SECONDS_TO_US(1)));
	if (WIFSIGNALED(status))
		return psprintf("ended by signal %d", WTERMSIG(status));
	if (!WIFEXITED(status))
		return pstrdup("ended, and its status is lost");
	return psprintf("exited with status %d", WEXITSTATUS(status));
}

static void
end(Command *command, int status, bool is_late)
{
	bool		is_fine = !is_late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	char	   *answer = describe(status, is_late);

	command->done(command->arg, is_fine, answer);
	loop_timer_free(command->timer);
	pfree(answer);
	pfree(command);
}

static void
on_look(void *arg)
{
	Command    *command = arg;
	bool		is_late = loop_now_us(command->loop) >= command->end_us;
	int			status = NO_STATUS;
	pid_t		ended = waitpid(command->pid, &status, WNOHANG);

	if (ended < 0 && errno == EINTR)
		ended = 0;
	if (ended == 0 && is_late)
	{
		(void) kill(-command->pid, SIGKILL);
		(void) kill(command->pid, SIGKILL);
		while (waitpid(command->pid, &status, 0) < 0 && errno == EINTR)
			;
		end(command, status, true);
	}
	else if (ended == 0)
		loop_timer_start(command->timer, LOOK_US);
	else
		end(command, status, false);
}

bool
notify_command(Loop *loop, char *const *argv, const char *input, NotifyCommandDone done, void *arg)
{
	int			in = bare_input(input);
	pid_t		pid = start(argv, in);
	Command    *command;

	if (in >= 0)
		close(in);
	if (pid < 0)
		return false;
	command = palloc0(sizeof(Command));
	command->loop = loop;
	command->pid = pid;
	command->end_us = loop_now_us(loop) + TIMEOUT_US;
	command->done = done;
	command->arg = arg;
	command->timer = loop_timer_new(loop, on_look, command);
	loop_timer_start(command->timer, LOOK_US);
	return true;
}
