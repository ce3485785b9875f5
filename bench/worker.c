/*-------------------------------------------------------------------------
 *
 * worker.c
 *		A worker that does nothing, for measurements.
 *
 * Reads what there is, answers "done" to each line, writes the answers at
 * once.  With a path as argument it first writes there, for each task, its
 * id and the monotonic time in nanoseconds at which it saw it.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char input[1 << 20];
static char output[1 << 20];

static long long
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void
write_all(int fd, const char *data, size_t len)
{
	while (len > 0)
	{
		ssize_t		n = write(fd, data, len);

		if (n <= 0)
			exit(1);
		data += n;
		len -= n;
	}
}

/* Answers one line; returns the length of the answer. */
static size_t
answer(const char *line, char *to, int log_fd)
{
	char		id[37];
	long long	version;

	if (sscanf(line, "{\"id\":\"%36[^\"]\",\"version\":%lld", id, &version) != 2)
		return 0;
	if (log_fd >= 0)
		dprintf(log_fd, "%s %lld\n", id, now_ns());
	return sprintf(to, "{\"id\":\"%s\",\"version\":%lld,\"result\":\"done\"}\n",
				   id, version);
}

/* Answers the whole lines in input; returns how many bytes are left over. */
static size_t
answer_lines(size_t have, int log_fd)
{
	char	   *line = input;
	char	   *end;
	size_t		used = 0;

	while ((end = memchr(line, '\n', input + have - line)) != NULL)
	{
		*end = '\0';
		used += answer(line, output + used, log_fd);
		line = end + 1;
		if (used > sizeof(output) - 256)
		{
			write_all(1, output, used);
			used = 0;
		}
	}
	write_all(1, output, used);
	have -= line - input;
	memmove(input, line, have);
	return have;
}

int
main(int argc, char **argv)
{
	int			log_fd = argc > 1 ? open(argv[1], O_WRONLY) : -1;
	size_t		have = 0;
	ssize_t		n;

	while ((n = read(0, input + have, sizeof(input) - have)) > 0)
		have = answer_lines(have + n, log_fd);
	return 0;
}
