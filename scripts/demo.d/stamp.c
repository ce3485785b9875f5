/*
 * stamp.c
 *		A worker that does nothing, and says when it got the task.
 *
 * See examples/worker.c; the message is kept with the task.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int
main(void)
{
	char	   *line = NULL;
	size_t		size = 0;
	char		id[37];
	long long	version;
	struct timespec now;

	while (getline(&line, &size, stdin) > 0)
	{
		clock_gettime(CLOCK_REALTIME, &now);
		if (sscanf(line, "{\"id\":\"%36[^\"]\",\"version\":%lld", id, &version) != 2)
			continue;
		printf("{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\",\"message\":\"%lld.%06ld\"}\n",
			   id, version, (long long) now.tv_sec, now.tv_nsec / 1000);
		fflush(stdout);
	}
	free(line);
	return 0;
}
