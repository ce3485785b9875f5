/*-------------------------------------------------------------------------
 *
 * reaper.c
 *		Reaps the processes that the kernel gives to this one.
 *
 * The kernel names one process that has exited, and the same one again until it is
 * reaped.  So a child of our own is reaped here too, if it is the one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/program.h"
#include "process/reaper.h"
#include "process/spawn.h"

static void
on_child_signal(void *arg)
{
	siginfo_t	info = {0};

	(void) arg;
	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
	{
		pid_t		pid = info.si_pid;

		if (!spawn_note_exit(pid))
			waitid(P_PID, pid, &info, WEXITED | WNOHANG);
		info.si_pid = 0;
	}
}

void
reaper_open(Loop *loop)
{
	if (program_gets_orphans())
		loop_on_signal(loop, SIGCHLD, on_child_signal, NULL);
}
