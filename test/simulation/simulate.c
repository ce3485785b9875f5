/*-------------------------------------------------------------------------
 *
 * simulate.c
 *		Runs sidecars on a simulated server, for each seed, until something is wrong.
 *
 *		simulate FROM COUNT			a process for each seed; names the seeds that fail,
 *									and shortens the history of the first one
 *		simulate --first FROM COUNT	ends at the first seed that fails
 *		simulate --minimize SEED	shortens its history
 *		simulate --tell SEED [ACTS]	one seed, with its history on stderr; with these acts alone
 *
 * Three machines run the sidecar's own modules.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minimize.h"
#include "run.h"
#include "world.h"

/* A child runs one seed with them. */
static Acts acts;

/* ---- many runs ---- */

static const char *const count_names[REACHED_COUNT] = {
	"tasks", "runs of handlers", "processes of workers", "processes of commands", "runs of functions", "faults", "tasks taken over", "grabs refused by a limit", "calls lost",
	"grabs undone by a crash", "late starts", "occurrences of schedules", "lines through the door", "waits for a lock", "triggers through Kafka",
	"tasks ahead of more urgent ones"
};

/* In a process of its own; adds what it has reached.  False: something was wrong. */
static bool
run_apart(uint64 seed, int64 *counts)
{
	int			ends[2];
	int64		reached[REACHED_COUNT];
	int			status;
	pid_t		pid;
	bool		is_told;
	static const struct rlimit limit = {RUN_SECONDS, RUN_SECONDS};

	if (pipe(ends) != 0 || (pid = fork()) < 0)
	{
		perror("simulate");
		exit(2);
	}
	if (pid == 0)
	{
		setrlimit(RLIMIT_CPU, &limit);
		run(seed, false, &acts);
		_exit(write(ends[1], world_counts(), sizeof(reached)) == sizeof(reached) ? 0 : 2);
	}
	close(ends[1]);
	is_told = read(ends[0], reached, sizeof(reached)) == sizeof(reached);
	close(ends[0]);
	waitpid(pid, &status, 0);
	for (int i = 0; i < REACHED_COUNT && is_told; i++)
		counts[i] += reached[i];
	if (WIFSIGNALED(status))
		fprintf(stderr, "seed " UINT64_FORMAT ": ended by signal %d\n", seed, WTERMSIG(status));
	return is_told && status == 0;
}

static int
run_all(uint64 from, uint64 n, bool ends_at_first)
{
	int64		counts[REACHED_COUNT] = {0};
	int			failed = 0;
	uint8		any;

	/* OpenSSL begins here, and not in each child. */
	if (!pg_strong_random(&any, sizeof(any)))
		fprintf(stderr, "no strong chance\n");
	for (uint64 seed = from; seed < from + n; seed++)
	{
		if (run_apart(seed, counts))
			continue;
		printf("seed " UINT64_FORMAT " failed; its history: make simulate SEED=" UINT64_FORMAT "\n", seed, seed);
		fflush(stdout);
		if (ends_at_first)
			return 1;
		if (failed++ == 0)
			minimize(seed);
	}
	printf(UINT64_FORMAT " seeds from " UINT64_FORMAT ", %d failed", n, from, failed);
	for (int i = 0; i < REACHED_COUNT; i++)
		printf(", " INT64_FORMAT " %s", counts[i], count_names[i]);
	putchar('\n');
	return failed == 0 ? 0 : 1;
}

static int
tell(const char *seed, const char *kept)
{
	if (kept != NULL && !minimize_parse(kept, &acts))
	{
		fprintf(stderr, "acts are given as \"1,5-7\" or \"none\"\n");
		return 2;
	}
	run(strtoull(seed, NULL, 10), true, &acts);
	printf("seed %s: history " UINT64_FORMAT "\n", seed, world_hash());
	return 0;
}

int
main(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "--tell") == 0)
		return tell(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "--minimize") == 0)
	{
		minimize(strtoull(argv[2], NULL, 10));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "--first") == 0)
		return run_all(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), true);
	if (argc == 3)
		return run_all(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), false);
	fprintf(stderr, "usage: simulate [--first] FROM COUNT | simulate --minimize SEED | simulate --tell SEED [ACTS]\n");
	return 2;
}
