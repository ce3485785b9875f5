/*-------------------------------------------------------------------------
 *
 * simulate.c
 *		Runs sidecars on a simulated server, for each seed, until something is wrong.
 *
 *		simulate FROM COUNT		a process for each seed; names the seeds that fail
 *		simulate --first FROM COUNT		ends at the first seed that fails
 *		simulate --tell SEED	one seed, with its history on stderr
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

#include "faults.h"
#include "judge.h"
#include "machines.h"
#include "model.h"
#include "process.h"
#include "world.h"

/* After the last fault, and once the clock is back, each task ends within this time. */
#define LIVENESS_US SECONDS_TO_US(600)

/* Nothing takes a run so long, of its own processor time. */
#define RUN_SECONDS 60

static void
run_for(int64 us)
{
	int64		until_us = world_now_us() + us;

	do
		machines_look();
	while (world_step(until_us));
}

/* ---- one run ---- */

static bool
all_have_ended(void)
{
	for (int i = 0; i < model_count(); i++)
		if (model_row(i)->status < ROW_ERROR)
			return false;
	return true;
}

static void
check_ends(void)
{
	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);

		if (row->status < ROW_ERROR)
			world_fail("task %d v" INT64_FORMAT " of type %s is still %s, of incarnation " INT64_FORMAT,
					   i, row->version, model_types[row->type], model_status_name(row->status), row->incarnation);
	}
}

static void
stop_machines(void)
{
	machines_stop();
	run_for(SECONDS_TO_US(30));
	for (int i = 0; i < MACHINES; i++)
		if (process_on(i) != NULL)
			world_fail("%s does not stop", process_on(i)->name);
}

static void
run(uint64 seed, bool is_told)
{
	bool		is_ring;
	int64		lease_s;
	int64		until_us;

	world_begin(seed, is_told);
	/* As spawn.c does. */
	signal(SIGPIPE, SIG_IGN);
	judge_begin();
	is_ring = world_happens(650);
	model_begin(is_ring);
	model_choose_limits();
	lease_s = world_happens(500) ? 30 : world_between(5, 12);
	machines_begin(is_ring, lease_s);
	faults_begin(world_between(SECONDS_TO_US(5), SECONDS_TO_US(60)), false);
	run_for(SECONDS_TO_US(60));
	faults_end();
	machines_complete();
	run_for(SECONDS_TO_US(20));
	judge_expect_starts();
	faults_begin(SECONDS_TO_US(20), true);
	run_for(SECONDS_TO_US(20));
	faults_end();
	until_us = world_now_us() + LIVENESS_US + model_behind_us();
	while (!all_have_ended() && world_now_us() < until_us)
		run_for(SECONDS_TO_US(1));
	check_ends();
	run_for(SECONDS_TO_US(20));
	check_ends();
	stop_machines();
	server_close();
	world_end();
	machines_end();
}

/* ---- many runs ---- */

static const char *const count_names[REACHED_COUNT] = {
	"tasks", "runs of handlers", "processes of workers", "faults", "tasks taken over", "grabs refused by a limit", "calls lost",
	"grabs undone by a crash", "late starts"
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
		run(seed, false);
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

	for (uint64 seed = from; seed < from + n; seed++)
	{
		if (run_apart(seed, counts))
			continue;
		printf("seed " UINT64_FORMAT " failed; its history: make simulate SEED=" UINT64_FORMAT "\n", seed, seed);
		fflush(stdout);
		failed++;
		if (ends_at_first)
			break;
	}
	printf(UINT64_FORMAT " seeds from " UINT64_FORMAT ", %d failed", n, from, failed);
	for (int i = 0; i < REACHED_COUNT; i++)
		printf(", " INT64_FORMAT " %s", counts[i], count_names[i]);
	putchar('\n');
	return failed == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--tell") == 0)
	{
		run(strtoull(argv[2], NULL, 10), true);
		printf("seed %s: history " UINT64_FORMAT "\n", argv[2], world_hash());
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "--first") == 0)
		return run_all(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), true);
	if (argc == 3)
		return run_all(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), false);
	fprintf(stderr, "usage: simulate [--first] FROM COUNT | simulate --tell SEED\n");
	return 2;
}
