/*-------------------------------------------------------------------------
 *
 * spawn.c
 *		How many processes a second the machine starts and reaps, at best.
 *
 *		spawn SECONDS AT_ONCE PROGRAM
 *
 * Each process gets what twtasksd gives to a command: a pipe with 256 bytes of
 * data as stdin, /dev/null as stdout, a pipe as stderr, which is read to its
 * end, and the same variables.
 *
 * Prints {"added":N,"seconds":S}.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

#define DATA_BYTES 256
#define MAX_AT_ONCE 64
#define LENGTHOF(array) ((int) (sizeof(array) / sizeof((array)[0])))

typedef struct Child
{
	pid_t		pid;			/* 0: a free place */
	int			err;
} Child;

static Child children[MAX_AT_ONCE];
static char data[DATA_BYTES];
static int	null_fd;
static char *program;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* The variables that twtasksd passes on, and those of a task. */
static char **
make_environment(void)
{
	static const char *const passed[] = {
		"PATH", "HOME", "LANG", "LC_ALL", "TZ", "USER", "TMPDIR"
	};
	static char *const task[] = {
		"TWTASKS_ID=01a1f85d-bc20-7ca3-a25e-5df99ce4a320", "TWTASKS_VERSION=1",
		"TWTASKS_TYPE=exec", "TWTASKS_TRIES=1",
		"TWTASKS_DEADLINE=2026-01-31T12:00:00.000000Z"
	};
	static char *made[LENGTHOF(passed) + LENGTHOF(task) + 1];
	int			n = 0;

	for (int i = 0; i < LENGTHOF(passed); i++)
		if (getenv(passed[i]) != NULL &&
			asprintf(&made[n++], "%s=%s", passed[i], getenv(passed[i])) < 0)
			die("asprintf");
	for (int i = 0; i < LENGTHOF(task); i++)
		made[n++] = task[i];
	return made;
}

static void
start(Child *child, char **environment)
{
	char	   *child_argv[2] = {program, NULL};
	posix_spawn_file_actions_t actions;
	int			in[2];
	int			err[2];

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
		die("pipe2");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, null_fd, 1);
	posix_spawn_file_actions_adddup2(&actions, err[1], 2);
	if (posix_spawn(&child->pid, program, &actions, NULL, child_argv, environment) != 0)
		die("posix_spawn");
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(err[1]);
	/* A program that has ended already does not read: EPIPE. */
	(void) !write(in[1], data, sizeof(data));
	close(in[1]);
	child->err = err[0];
}

/* Returns the place of a child that has ended, NULL: there are none. */
static Child *
reap(void)
{
	pid_t		pid = wait(NULL);
	char		block[4096];

	for (int i = 0; pid > 0 && i < MAX_AT_ONCE; i++)
		if (children[i].pid == pid)
		{
			while (read(children[i].err, block, sizeof(block)) > 0)
				;
			close(children[i].err);
			children[i].pid = 0;
			return &children[i];
		}
	return NULL;
}

int
main(int argc, char **argv)
{
	double		seconds = argc == 4 ? atof(argv[1]) : 0;
	int			at_once = argc == 4 ? atoi(argv[2]) : 0;
	char	  **environment = make_environment();
	int64_t		begin = now_ns();
	int			n = 0;

	if (seconds <= 0 || at_once < 1 || at_once > MAX_AT_ONCE)
	{
		fprintf(stderr, "usage: spawn SECONDS AT_ONCE PROGRAM\n");
		return 1;
	}
	program = argv[3];
	memset(data, ' ', sizeof(data));
	null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	signal(SIGPIPE, SIG_IGN);
	for (; now_ns() < begin + seconds * 1e9; n++)
		start(n < at_once ? &children[n] : reap(), environment);
	while (reap() != NULL)
		;
	printf("{\"added\":%d,\"seconds\":%.6f}\n", n, (now_ns() - begin) / 1e9);
	return 0;
}
