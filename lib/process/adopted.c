/*-------------------------------------------------------------------------
 *
 * adopted.c
 *		Kills what a killed supervisor leaves.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/adopted.h"

/* Pause between two rounds, and how many there are at most. */
#define PAUSE_US MS_TO_US(5)
#define MOST_ROUNDS 1000

typedef struct Hunt
{
	LoopTimer  *timer;			/* NULL: none is under way */
	bool		(*is_child) (pid_t pid);
	int			rounds;
} Hunt;

/* One is enough, since it concerns all children of this process. */
static Hunt hunt;

/*
 * The group of such a process is in its session, so all members are below it.
 * Reaps the process if it has died; false: not yet.
 */
static bool
end_process(pid_t pid)
{
	siginfo_t	info = {0};
	pid_t		group = getpgid(pid);

	if (group > 1 && group != getpgrp())
		kill(-group, SIGKILL);
	kill(pid, SIGKILL);
	return waitid(P_PID, pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0;
}

/* Returns whether any were found, or may be there. */
static bool
kill_round(void)
{
	char		path[64];
	FILE	   *list;
	char		word[16];
	bool		found = false;

	/* The first thread gets them. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int) getpid());
	list = fopen(path, "re");
	if (list == NULL)
		return true;
	while (fscanf(list, "%15s", word) == 1)
	{
		int			pid = (int) strtol(word, NULL, 10);

		if (hunt.is_child(pid) || getsid(pid) == getsid(0))
			continue;
		found = true;
		(void) end_process(pid);
	}
	fclose(list);
	return found;
}

static void
hunt_round(void *arg)
{
	(void) arg;
	if (kill_round() && ++hunt.rounds < MOST_ROUNDS)
	{
		loop_timer_start(hunt.timer, PAUSE_US);
		return;
	}
	loop_timer_free(hunt.timer);
	hunt.timer = NULL;
}

void
adopted_kill(Loop *loop, bool (*is_child) (pid_t pid))
{
	if (hunt.timer == NULL)
		hunt.timer = loop_timer_new(loop, hunt_round, NULL);
	hunt.is_child = is_child;
	hunt.rounds = 0;
	hunt_round(NULL);
}

bool
adopted_are_gone(void)
{
	return hunt.timer == NULL;
}
