/*-------------------------------------------------------------------------
 *
 * test_slots_random.c
 *		Limits: random histories against plain counters.
 *
 * Jobs book a slot of one limit in a tree, run, free it; or wait, or give
 * up.  A job with a turn is asked in order.  Counters and a linear scan over
 * all jobs say which runs next: waiting must never change that.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "slots/slots.h"

#define LIMITS 7
#define JOBS 40

static const int parents[LIMITS] = {-1, 0, 0, 1, 1, 2, 3};

typedef enum JobState
{
	JOB_IDLE,
	JOB_READY,					/* has a turn */
	JOB_WAITING,
	JOB_RUNNING
} JobState;

typedef struct Job
{
	SlotWaiter	waiter;			/* first */
	int			limit;
	JobState	state;
} Job;

typedef struct History
{
	int			seed;
	int			step;
	Chance		chance;
	Limit	   *limits[LIMITS];
	int			max[LIMITS];	/* the plain counters */
	int			used[LIMITS];
	Job			jobs[JOBS];
	uint64		sequence;
} History;

static void
wake_job(SlotWaiter *waiter)
{
	((Job *) waiter)->state = JOB_READY;
}

/* The lowest full limit by the counters, -1: none. */
static int
counted_full(const History *history, int limit)
{
	for (; limit >= 0; limit = parents[limit])
	{
		if (history->max[limit] > 0 &&
			history->used[limit] >= history->max[limit])
			return limit;
	}
	return -1;
}

static void
count(History *history, int limit, int change)
{
	for (; limit >= 0; limit = parents[limit])
		history->used[limit] += change;
}

static bool
comes_before(const Job *a, const Job *b)
{
	if (b == NULL)
		return true;
	if (a->waiter.priority != b->waiter.priority)
		return a->waiter.priority < b->waiter.priority;
	return a->waiter.sequence < b->waiter.sequence;
}

static Job *
best_ready(History *history)
{
	Job		   *best = NULL;
	int			i;

	for (i = 0; i < JOBS; i++)
	{
		Job		   *job = &history->jobs[i];

		if (job->state == JOB_READY && comes_before(job, best))
			best = job;
	}
	return best;
}

/* By the counters alone: who, ready or waiting, should run next. */
static Job *
best_counted(History *history)
{
	Job		   *best = NULL;
	int			i;

	for (i = 0; i < JOBS; i++)
	{
		Job		   *job = &history->jobs[i];

		if ((job->state == JOB_READY || job->state == JOB_WAITING) &&
			counted_full(history, job->limit) < 0 && comes_before(job, best))
			best = job;
	}
	return best;
}

/* Asks whoever is ready, in order, until one runs or nobody can. */
static Job *
run_next(History *history)
{
	Job		   *job;

	while ((job = best_ready(history)) != NULL)
	{
		int			full = counted_full(history, job->limit);
		Limit	   *refused = slots_book(history->limits[job->limit],
											 job->waiter.priority);

		check_that(history->seed, history->step,
				   refused == (full < 0 ? NULL : history->limits[full]));
		if (refused == NULL)
			return job;
		job->state = JOB_WAITING;
		slots_wait(refused, &job->waiter);
	}
	return NULL;
}

static void
run_and_compare(History *history)
{
	Job		   *expected = best_counted(history);
	Job		   *job = run_next(history);

	check_that(history->seed, history->step, job == expected);
	if (job == NULL)
		return;
	job->state = JOB_RUNNING;
	count(history, job->limit, 1);
}

static void
change_job(History *history, Job *job)
{
	switch (job->state)
	{
		case JOB_IDLE:
			job->limit = chance_below(&history->chance, LIMITS);
			job->waiter.priority = chance_below(&history->chance, 4);
			job->waiter.sequence = ++history->sequence;
			job->state = JOB_READY;
			break;
		case JOB_WAITING:
		case JOB_READY:
			/* gives up, perhaps with a turn */
			if (!chance_percent(&history->chance, 15))
				break;
			if (job->state == JOB_WAITING)
				slots_unwait(&job->waiter);
			job->state = JOB_IDLE;
			slots_yield(history->limits[job->limit]);
			break;
		case JOB_RUNNING:
			job->state = JOB_IDLE;
			count(history, job->limit, -1);
			slots_free(history->limits[job->limit]);
			break;
	}
}

static void
change_limit(History *history)
{
	int			limit = chance_below(&history->chance, LIMITS);

	history->max[limit] = chance_below(&history->chance, 6);
	limit_set_max(history->limits[limit], history->max[limit]);
}

static void
start_history(History *history, int seed)
{
	int			i;

	memset(history, 0, sizeof(*history));
	history->seed = seed;
	chance_init(&history->chance, seed);
	for (i = 0; i < LIMITS; i++)
	{
		Limit	   *parent = i > 0 ? history->limits[parents[i]] : NULL;

		history->max[i] = chance_below(&history->chance, 6);
		history->limits[i] = limit_new("limit", history->max[i], parent);
	}
	for (i = 0; i < JOBS; i++)
		history->jobs[i].waiter.wake = wake_job;
}

static void
end_history(History *history)
{
	int			i;

	for (i = 0; i < JOBS; i++)
	{
		if (history->jobs[i].state == JOB_WAITING)
			slots_unwait(&history->jobs[i].waiter);
		history->jobs[i].state =
			history->jobs[i].state == JOB_RUNNING ? JOB_RUNNING : JOB_IDLE;
	}
	for (i = 0; i < JOBS; i++)
	{
		if (history->jobs[i].state == JOB_RUNNING)
			slots_free(history->limits[history->jobs[i].limit]);
	}
	for (i = LIMITS - 1; i >= 0; i--)
		limit_free(history->limits[i]);
}

static void
test_random_histories(void **state)
{
	static History history;
	int			seed;
	int			i;

	(void) state;
	for (seed = test_seed(); seed < test_seed() + 200; seed++)
	{
		start_history(&history, seed);
		for (history.step = 0; history.step < 3000; history.step++)
		{
			int			choice = chance_below(&history.chance, 100);

			if (choice < 2)
				change_limit(&history);
			else if (choice < 50)
				run_and_compare(&history);
			else
				change_job(&history,
						   &history.jobs[chance_below(&history.chance, JOBS)]);
			for (i = 0; i < LIMITS; i++)
				check_that(seed, history.step,
						   limit_used(history.limits[i]) == history.used[i]);
		}
		end_history(&history);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
