/*-------------------------------------------------------------------------
 *
 * counters.c
 *		How much processor time the counters of a sidecar cost for each task.
 *
 *		counters TYPES
 *
 * Counts tasks of so many types in random order, as the sidecar does for a task
 * that ends as done: three counters and two histograms.  "kept": by the counters
 * that a table keeps with the triggers of a type; "looked up": by their names for
 * each task.  The loop without counters is subtracted.  Then it writes the figures of
 * 10,000 types, of which 200 have a place and 100 histograms, as for a scrape.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "metrics/metrics_text.h"

#define TASKS 1000000
#define ROUNDS 9

typedef struct Column
{
	char		type[32];
	TypeCounts *counts;
} Column;

typedef struct Done
{
	Column	   *column;
	int64		wait_us;
	int64		run_us;
} Done;

static Done *tasks;
static volatile int64 sink;

static int64
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * INT64CONST(1000000000) + now.tv_nsec;
}

static void
count_none(Metrics *metrics, const Done *task)
{
	sink += task->wait_us + task->run_us + (metrics != NULL) + (intptr_t) task->column->counts;
}

static void
count(TypeCounts *counts, const Done *task)
{
	metrics_count(counts, COUNT_GRABS);
	metrics_count(counts, COUNT_STARTED);
	metrics_time(counts, TIME_WAIT, task->wait_us);
	metrics_time(counts, TIME_RUN, task->run_us);
	metrics_ended(counts, TASK_DONE, NULL);
}

static void
count_kept(Metrics *metrics, const Done *task)
{
	count_none(metrics, task);
	count(task->column->counts, task);
}

static void
count_looked_up(Metrics *metrics, const Done *task)
{
	count_none(metrics, task);
	count(metrics_of(metrics, "default", task->column->type), task);
}

static double
ns_each(Metrics *metrics, void (*fn) (Metrics *metrics, const Done *task))
{
	int64		best = PG_INT64_MAX;

	for (int round = 0; round < ROUNDS; round++)
	{
		int64		before = cpu_ns();

		for (int i = 0; i < TASKS; i++)
			fn(metrics, &tasks[i]);
		best = Min(best, cpu_ns() - before);
	}
	return (double) best / TASKS;
}

/* From microseconds to seconds, as likely in each decade. */
static int64
some_time(void)
{
	int64		us = 1;

	for (int decades = random() % 7; decades > 0; decades--)
		us *= 10;
	return us + random() % (9 * us);
}

static void
scrape(void)
{
	Metrics    *metrics = metrics_open(200, 100, 1);
	char	   *const handlers[] = {"handler=\"PAYOUT\""};
	StringInfoData text;
	char		type[64];
	int64		before;

	for (int i = 0; i < 10000; i++)
	{
		snprintf(type, sizeof(type), "PAYMENTS.OUTGOING|CUSTOMER_%d", i);
		metrics_time(metrics_of(metrics, "default", type), TIME_RUN, some_time());
	}
	before = cpu_ns();
	initStringInfo(&text);
	metrics_write(metrics, &text, handlers, 1);
	printf("a scrape beside 10000 types: %.1f ms, %d kB\n", (cpu_ns() - before) / 1e6, text.len / 1024);
}

int
main(int argc, char **argv)
{
	int			ntypes = argc > 1 ? atoi(argv[1]) : 200;
	Metrics    *metrics = metrics_open(ntypes, ntypes, 0);
	Column	   *columns = palloc0(ntypes * sizeof(Column));
	double		none;

	for (int i = 0; i < ntypes; i++)
	{
		snprintf(columns[i].type, sizeof(columns[i].type), "PAYOUT_%d|ACME", i);
		columns[i].counts = metrics_of(metrics, "default", columns[i].type);
	}
	tasks = palloc(TASKS * sizeof(Done));
	for (int i = 0; i < TASKS; i++)
		tasks[i] = (Done)
	{
		&columns[random() % ntypes], some_time(), some_time()
	};
	none = ns_each(metrics, count_none);
	printf("%d types: kept %.1f ns, looked up %.1f ns a task\n", ntypes,
		   ns_each(metrics, count_kept) - none, ns_each(metrics, count_looked_up) - none);
	if (ntypes == 200)
		scrape();
	return 0;
}
