/*
 * worker.c -- a worker in C: cc -O2 -o worker worker.c
 *
 * The members come in the order of the documentation, id and version first,
 * so that finding them needs no JSON parser; your work may.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
	char	   *line = NULL;
	size_t		size = 0;
	char		id[37];
	long long	version;

	while (getline(&line, &size, stdin) > 0)
	{
		if (sscanf(line, "{\"id\":\"%36[^\"]\",\"version\":%lld", id, &version) != 2)
			continue;			/* the hello, or a cancel: nothing to stop */
		printf("{\"id\":\"%s\",\"version\":%lld,\"started\":true}\n", id, version);
		fflush(stdout);
		/* your work */
		printf("{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\"}\n", id, version);
		fflush(stdout);
	}
	free(line);
	return 0;
}
