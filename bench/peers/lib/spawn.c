/*-------------------------------------------------------------------------
 *
 * spawn.c
 *		How many processes a second the machine starts and reaps, at best.
 *
 *		spawn N AT_ONCE PROGRAM
 *
 * Prints {"added":N,"seconds":S}.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "clock.h"

int
main(int argc, char **argv)
{
	char	   *child_argv[2] = {argc == 4 ? argv[3] : NULL, NULL};
	char	   *child_envp[1] = {NULL};
	int			n = argc == 4 ? atoi(argv[1]) : 0;
	int			at_once = argc == 4 ? atoi(argv[2]) : 0;
	int			running = 0;
	int64_t		begin = now_ns();
	pid_t		pid;

	if (n < 1 || at_once < 1)
	{
		fprintf(stderr, "usage: spawn N AT_ONCE PROGRAM\n");
		return 1;
	}
	for (int i = 0; i < n; i++)
	{
		if (running == at_once && wait(NULL) > 0)
			running--;
		if (posix_spawn(&pid, argv[3], NULL, NULL, child_argv, child_envp) != 0)
		{
			perror("spawn");
			return 1;
		}
		running++;
	}
	while (wait(NULL) > 0)
		;
	printf("{\"added\":%d,\"seconds\":%.6f}\n", n, (now_ns() - begin) / 1e9);
	return 0;
}
