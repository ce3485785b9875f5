/*-------------------------------------------------------------------------
 *
 * minimize.c
 *		The shortest history that is found for a seed that fails.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minimize.h"
#include "run.h"
#include "world.h"

/* All tries take no more processor time. */
#define SECONDS_MOST 30

static const char *const habit_names[HABIT_COUNT] = {
	"the network is slow at times", "the server is slow at times", "workers break the protocol, hang and die",
	"workers cannot be started", "handlers have other results than done", "schedules add tasks", "limits have rates", "transactions lock rows",
	"Kafka and its helpers fail", "tasks rise"
};

/* A run in a process of its own, which shares this with us. */
typedef struct Trial
{
	Acts		acts;
	char		claim[200];		/* empty: the run did not fail */
} Trial;

typedef struct Search
{
	uint64		seed;
	Trial	   *trial;
	char		claim[200];
	int			kept[ACTS_END];
	int			nkept;
	int			ntries;
	int64		begun_s;		/* spent by children before */
} Search;

static Trial *shared;

/* ---- one try ---- */

static void
note_failure(const char *claim, const char *text)
{
	strlcpy(shared->claim, claim, sizeof(shared->claim));
}

static void
print_failure(const char *claim, const char *text)
{
	printf("%s\n", text);
	note_failure(claim, text);
}

/* Only the last run, whose acts are listed, may also say what the product says. */
static void
run_in_child(uint64 seed, WorldFailFn on_fail)
{
	static const struct rlimit limit = {RUN_SECONDS, RUN_SECONDS};
	int			null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (!shared->acts.are_listed)
		(void) dup2(null, STDERR_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
	setrlimit(RLIMIT_CPU, &limit);
	world_on_fail(on_fail);
	run(seed, false, &shared->acts);
	fflush(stdout);
	_exit(0);
}

/* Fills acts.done and claim. */
static void
run_trial(uint64 seed, WorldFailFn on_fail)
{
	int			status;
	pid_t		pid;

	memset(shared->acts.done, 0, sizeof(shared->acts.done));
	shared->claim[0] = '\0';
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_in_child(seed, on_fail);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
	{
		perror("simulate");
		exit(2);
	}
	if (WIFSIGNALED(status))
		snprintf(shared->claim, sizeof(shared->claim), "ended by signal %d", WTERMSIG(status));
}

/* ---- the search ---- */

/* Processor time of all children so far: other seeds may have run before the search. */
static int64
spent_s(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return PG_INT64_MAX;
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
}

static bool
has_time(const Search *search)
{
	return spent_s() - search->begun_s < SECONDS_MOST;
}

static void
leave_out(Search *search, int from, int n, bool left_out)
{
	for (int i = from; i < from + n; i++)
		search->trial->acts.left_out[search->kept[i]] = left_out;
}

/* The acts that the last run did: it has failed before it came to the others. */
static void
keep_done(Search *search)
{
	Acts	   *acts = &search->trial->acts;

	search->nkept = 0;
	for (int i = 0; i < ACTS_END; i++)
	{
		acts->left_out[i] = !acts->done[i];
		if (acts->done[i])
			search->kept[search->nkept++] = i;
	}
}

/* True: the run fails without these as well. */
static bool
can_go(Search *search, int from, int n)
{
	leave_out(search, from, n, true);
	run_trial(search->seed, note_failure);
	search->ntries++;
	if (strcmp(search->trial->claim, search->claim) == 0)
	{
		keep_done(search);
		return true;
	}
	leave_out(search, from, n, false);
	return false;
}

/* From the last ones on, since a failure comes soon after what has caused it. */
static bool
drop_chunks(Search *search, int size)
{
	bool		has_dropped = false;

	for (int end = search->nkept; end > 0 && has_time(search); end = Min(end, search->nkept))
	{
		int			n = Min(size, end);

		end -= n;
		has_dropped |= can_go(search, end, n);
	}
	return has_dropped;
}

static void
shorten(Search *search)
{
	int			size = Max(1, search->nkept / 2);

	while (has_time(search))
	{
		bool		has_dropped = drop_chunks(search, size);

		if (size == 1 && !has_dropped)
			break;
		size = Max(1, size / 2);
	}
}

/* ---- what is left ---- */

static void
print_kept(const Search *search)
{
	if (search->nkept == 0)
		printf("none");
	for (int i = 0; i < search->nkept; i++)
	{
		int			from = search->kept[i];

		while (i + 1 < search->nkept && search->kept[i + 1] == search->kept[i] + 1)
			i++;
		printf("%s%d", from == search->kept[0] ? "" : ",", from);
		if (search->kept[i] > from)
			printf("-%d", search->kept[i]);
	}
}

static void
print_history(Search *search)
{
	int			nacts = 0;

	for (int i = 0; i < search->nkept; i++)
		nacts += search->kept[i] >= ACTS_AT_ONCE;
	printf("a history of %d acts fails in the same way, after %d tries:\n", nacts, search->ntries);
	for (int i = 0; i < HABIT_COUNT; i++)
		if (!search->trial->acts.left_out[i])
			printf("   all along %s\n", habit_names[i]);
	search->trial->acts.are_listed = true;
	run_trial(search->seed, print_failure);
	if (search->trial->claim[0] == 'e')
		printf("%s\n", search->trial->claim);
	printf("all of it: make simulate SEED=" UINT64_FORMAT " ACTS=", search->seed);
	print_kept(search);
	putchar('\n');
	fflush(stdout);
}

void
minimize(uint64 seed)
{
	Search	   *search = palloc0(sizeof(Search));

	shared = mmap(NULL, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
	{
		perror("simulate");
		exit(2);
	}
	search->seed = seed;
	search->trial = shared;
	search->begun_s = spent_s();
	run_trial(seed, note_failure);
	strlcpy(search->claim, shared->claim, sizeof(search->claim));
	if (search->claim[0] == '\0')
		printf("seed " UINT64_FORMAT " does not fail\n", seed);
	else
	{
		keep_done(search);
		shorten(search);
		print_history(search);
	}
	munmap(shared, sizeof(Trial));
	pfree(search);
}

bool
minimize_parse(const char *kept, Acts *acts)
{
	memset(acts->left_out, true, sizeof(acts->left_out));
	if (strcmp(kept, "none") == 0)
		return true;
	for (const char *at = kept;; at++)
	{
		char	   *end;
		long		from = strtol(at, &end, 10);
		long		to = from;

		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (end == at || from < 0 || to >= ACTS_END)
			return false;
		for (long i = from; i <= to; i++)
			acts->left_out[i] = false;
		at = end;
		if (*at != ',')
			return *at == '\0';
	}
}
