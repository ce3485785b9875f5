/*
 * worker.c -- a worker in C: cc -O2 -o worker worker.c
 *
 * Each line begins with id and version, in this order, so this worker finds
 * them without a JSON parser.  Your own code may need one for the data.
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
			continue;			/* a hello or a cancel: nothing to do */
		printf("{\"id\":\"%s\",\"version\":%lld,\"started\":true}\n", id, version);
		fflush(stdout);
		/* put your work here */
		printf("{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\"}\n", id, version);
		fflush(stdout);
	}
	free(line);
	return 0;
}
