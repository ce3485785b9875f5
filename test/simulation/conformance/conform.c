/*-------------------------------------------------------------------------
 *
 * conform.c
 *		Compares the simulation's model of the database with a server, in random histories.
 *
 *		conform CONNINFO CLOCK FROM COUNT	one history for each seed
 *
 * CLOCK is the file of the server's clock: see frozen_clock.c.  A history that fails is
 * told, with as few steps as it takes to fail.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/wait.h>
#include <unistd.h>

#include "chance.h"
#include "sides.h"
#include "steps.h"
#include "world.h"

#define STEPS 120

static const char *conninfo;
static const char *clock_path;

/* Fails unless both sides are the same after each step that is not left out. */
static void
run(uint64 seed, const bool *left_out, bool is_told)
{
	world_begin(seed, is_told);
	sides_begin();
	steps_begin();
	for (int i = 0; i < STEPS; i++)
	{
		chance_begin(seed, i);
		if (!left_out[i])
			steps_next();
	}
	world_end();
}

/* In a process of its own, which says what failed unless it is silent.  Returns whether all is the same. */
static bool
run_apart(uint64 from, uint64 n, const bool *left_out, bool is_silent, bool is_told)
{
	int			status;
	pid_t		pid = fork();

	if (pid == 0)
	{
		if (is_silent && freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		world_begin(from, false);
		sides_open(conninfo, clock_path);
		for (uint64 seed = from; seed < from + n; seed++)
			run(seed, left_out, is_told);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
	{
		perror("conform");
		exit(2);
	}
	return status == 0;
}

/* Leaves out what the failure does not need, in ever smaller pieces. */
static void
shorten(uint64 seed, bool *left_out)
{
	for (int size = STEPS / 2; size > 0; size /= 2)
		for (int at = 0; at < STEPS; at += size)
		{
			bool		before[STEPS];

			memcpy(before, left_out, sizeof(before));
			memset(left_out + at, true, Min(size, STEPS - at));
			if (memcmp(before, left_out, sizeof(before)) != 0 && run_apart(seed, 1, left_out, true, false))
				memcpy(left_out, before, sizeof(before));
		}
}

int
main(int argc, char **argv)
{
	bool		left_out[STEPS] = {false};
	uint64		from;
	uint64		n;

	if (argc != 5)
	{
		fprintf(stderr, "usage: conform CONNINFO CLOCK FROM COUNT\n");
		return 2;
	}
	conninfo = argv[1];
	clock_path = argv[2];
	from = strtoull(argv[3], NULL, 10);
	n = strtoull(argv[4], NULL, 10);
	if (run_apart(from, n, left_out, true, false))
	{
		printf(UINT64_FORMAT " histories from seed " UINT64_FORMAT "\n", n, from);
		return 0;
	}
	for (uint64 seed = from; seed < from + n; seed++)
	{
		if (run_apart(seed, 1, left_out, true, false))
			continue;
		printf("seed " UINT64_FORMAT " differs\n", seed);
		fflush(stdout);
		shorten(seed, left_out);
		(void) run_apart(seed, 1, left_out, false, true);
		return 1;
	}
	printf("the histories differ only one after the other\n");
	return 1;
}
