/*-------------------------------------------------------------------------
 *
 * door.c
 *		The price of what src/queue/door.c asks of the kernel at a commit, in ns.
 *
 *		door DIRECTORY		makes a pipe there, and removes it
 *
 * Each line is the least of some rounds, since other work only adds to it.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 200
#define CALLS 500
#define LINE_BYTES 80

static char path[4096];
static char line[LINE_BYTES];
static int	reading = -1;
static int	writing = -1;

static long
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void
drain(void)
{
	char		bytes[65536];

	while (read(reading, bytes, sizeof(bytes)) > 0)
		;
}

static void
fill(void)
{
	while (write(writing, line, sizeof(line)) > 0)
		;
}

static void
pass(void)
{
	struct sigaction action;

	if (sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		(void) !write(writing, line, sizeof(line));
}

static int
open_pipe(void)
{
	struct stat found;
	int			fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISFIFO(found.st_mode)))
		exit(1);
	return fd;
}

static void
open_and_close(void)
{
	int			fd = open_pipe();

	if (fd >= 0)
		close(fd);
}

static void
measure(const char *name, void (*before) (void), void (*call) (void))
{
	long		least = -1;

	for (int round = 0; round < ROUNDS; round++)
	{
		long		began;
		long		took;

		if (before != NULL)
			before();
		began = now_ns();
		for (int i = 0; i < CALLS; i++)
			call();
		took = (now_ns() - began) / CALLS;
		least = least < 0 || took < least ? took : least;
	}
	printf("%-40s %5ld ns\n", name, least);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/door", argv[1]);
	memset(line, 'x', sizeof(line));
	signal(SIGPIPE, SIG_IGN);
	if (mkfifo(path, 0600) != 0)
		return 1;
	measure("open of a pipe that nobody reads", NULL, open_and_close);
	reading = open(path, O_RDONLY | O_NONBLOCK);
	measure("open and close of a pipe that is read", NULL, open_and_close);
	writing = open_pipe();
	measure("line to a pipe with room", drain, pass);
	measure("line to a full pipe", fill, pass);
	close(reading);
	measure("line to a pipe that lost its reader", NULL, pass);
	unlink(path);
	return 0;
}
