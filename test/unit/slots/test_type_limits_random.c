/*-------------------------------------------------------------------------
 *
 * test_type_limits_random.c
 *		The limits of the database: random histories against a naive model.
 *
 * Jobs book a slot of their type, start or do not, run, and end; or wait, or
 * give up.  Rules come, change and go meanwhile, and time passes.  The model
 * says who runs next: whoever comes first of all who may run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "limits_model.h"
#include "slots/slots.h"

#define JOBS 14
#define SEEDS 600
#define STEPS 2000

static const char *const types[] = {
	"A", "A|x", "A|y", "A|x|1", "A|x|2", "AB", "AB|x", "B", "B|x", "B|y", "C"
};

static const char *const patterns[] = {
	"*", "A*", "A", "A|*", "A|x", "A|x|*", "AB", "B|*", "B|y", "C", "B*"
};

typedef enum JobState
{
	JOB_IDLE,
	JOB_READY,					/* has a turn */
	JOB_WAITING,
	JOB_BOOKED,
	JOB_RUNNING,
	JOB_OVER					/* but the database does not know yet */
} JobState;

typedef struct Job
{
	SlotWaiter	waiter;			/* first */
	const char *type;
	int			handler;
	int			bucket;
	Limit	   *leaf;
	JobState	state;
	int			task;			/* the model's */
} Job;

typedef struct History
{
	int			seed;
	int			step;
	Chance		chance;
	Model		model;
	Limits	   *all;
	Limit	   *node;
	Limit	   *handlers[2];
	Limit	   *buckets[2];
	TypeLimits *limits;
	Job			jobs[JOBS];
	uint64		sequence;
	int			nbooked;
} History;

#define check(condition) check_that(history->seed, history->step, condition)

static int64
model_clock(void *arg)
{
	return ((History *) arg)->model.now_us;
}

static void
wake_job(SlotWaiter *waiter)
{
	((Job *) waiter)->state = JOB_READY;
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

	for (int i = 0; i < JOBS; i++)
		if (history->jobs[i].state == JOB_READY &&
			comes_before(&history->jobs[i], best))
			best = &history->jobs[i];
	return best;
}

/* By the model alone. */
static Job *
best_expected(History *history)
{
	Job		   *best = NULL;

	for (int i = 0; i < JOBS; i++)
	{
		Job		   *job = &history->jobs[i];

		if ((job->state == JOB_READY || job->state == JOB_WAITING) &&
			comes_before(job, best) &&
			model_may_book(&history->model, job->type, job->handler,
						   job->bucket, job->waiter.priority))
			best = job;
	}
	return best;
}

/* Asks whoever is ready, in order, until one has booked or nobody can. */
static Job *
book_next(History *history)
{
	Job		   *job;

	while ((job = best_ready(history)) != NULL)
	{
		Limit	   *full = slots_book(job->leaf, job->waiter.priority);

		check((full == NULL) == model_may_book(&history->model, job->type, job->handler,
											   job->bucket, job->waiter.priority));
		if (full == NULL)
			return job;
		job->state = JOB_WAITING;
		slots_wait(full, &job->waiter);
	}
	return NULL;
}

static void
book_and_compare(History *history)
{
	Job		   *expected;
	Job		   *job;

	limits_tick(history->all);
	expected = best_expected(history);
	job = book_next(history);
	check(job == expected);
	if (job == NULL)
		return;
	job->state = JOB_BOOKED;
	job->task = model_book(&history->model, job->type, job->handler, job->bucket);
	history->nbooked++;
}

static void
come(History *history, Job *job)
{
	int			type = chance_below(&history->chance, lengthof(types));

	job->type = types[type];
	job->handler = type % 2;
	job->bucket = chance_below(&history->chance, 2);
	job->leaf = type_limits_leaf(history->limits, job->type, history->handlers[job->handler],
								 history->buckets[job->bucket]);
	job->waiter.wants = job->leaf;
	job->waiter.priority = chance_below(&history->chance, 4);
	job->waiter.sequence = ++history->sequence;
	job->state = JOB_READY;
}

static void
give_up(History *history, Job *job)
{
	if (job->state == JOB_WAITING)
		slots_unwait(&job->waiter);
	job->state = JOB_IDLE;
	slots_yield(job->leaf);
	limit_release(job->leaf);
}

static void
end(History *history, Job *job)
{
	history->model.tasks[job->task].is_used = false;
	job->state = JOB_IDLE;
	limit_release(job->leaf);
}

/* A job that ended here, and not yet there, takes no other job's place. */
static void
change_job(History *history, Job *job)
{
	Model	   *model = &history->model;

	switch (job->state)
	{
		case JOB_IDLE:
			come(history, job);
			break;
		case JOB_WAITING:
		case JOB_READY:
			if (chance_percent(&history->chance, 10))
				give_up(history, job);
			break;
		case JOB_BOOKED:
			if (chance_percent(&history->chance, 20))
			{
				slots_cancel(job->leaf);
				end(history, job);
				break;
			}
			slots_start(job->leaf);
			model_start(model, job->task);
			job->state = JOB_RUNNING;
			break;
		case JOB_RUNNING:
			slots_free_here(job->leaf);
			model->tasks[job->task].is_over = true;
			job->state = JOB_OVER;
			break;
		case JOB_OVER:
			slots_free_shared(job->leaf);
			end(history, job);
			break;
	}
}

static LimitTerms
random_terms(History *history)
{
	Chance	   *chance = &history->chance;
	LimitTerms	terms = {.max = chance_below(chance, 5) - (chance_below(chance, 4) == 0)};

	if (terms.max >= 0 && chance_percent(chance, 40))
	{
		terms.stretch = 1 + chance_below(chance, 3);
		terms.stretch_priority = chance_below(chance, 3);
	}
	if (chance_percent(chance, 35))
	{
		terms.rate = 1 + chance_below(chance, 7);
		terms.period_us = 1000 * (1 + chance_below(chance, 50));
		terms.burst = 1 + chance_below(chance, 4);
	}
	return terms;
}

static int
find_rule(const Model *model, const char *pattern, bool is_shared)
{
	int			i = 0;

	while (i < model->nrules && (strcmp(model->rules[i].pattern, pattern) != 0 ||
								 model->rules[i].is_shared != is_shared))
		i++;
	return i;
}

/*
 * A rule comes or goes, or changes all but its rate: what a changed rate means
 * for what was before is not in the model.  Nor is it what becomes of the
 * starts of a key that gets a limit of its own or loses it, so those have no
 * rate.
 */
static void
change_rules(History *history)
{
	Chance	   *chance = &history->chance;
	Model	   *model = &history->model;
	const char *pattern = patterns[chance_below(chance, lengthof(patterns))];
	bool		is_shared = chance_percent(chance, 25);
	int			i = find_rule(model, pattern, is_shared);
	LimitTerms	terms = random_terms(history);

	if (i < model->nrules && chance_percent(chance, 40))
	{
		model->nrules--;
		model->rules[i] = model->rules[model->nrules];
		model->since_us[i] = model->since_us[model->nrules];
	}
	else
	{
		if (i == model->nrules)
			model->since_us[model->nrules++] = model->now_us;
		else
		{
			terms.rate = model->rules[i].terms.rate;
			terms.period_us = model->rules[i].terms.period_us;
			terms.burst = model->rules[i].terms.burst;
		}
		if (strpbrk(pattern, "|") != NULL && strcmp(pattern, "A|x|*") != 0)
			terms.rate = 0;
		model->rules[i] = (LimitRule)
		{
			pattern, is_shared, terms
		};
	}
	/* two events of one moment have no order */
	model->now_us++;
	type_limits_set(history->limits, model->rules, model->nrules);
}

static void
change_maxima(History *history)
{
	Chance	   *chance = &history->chance;
	int			which = chance_below(chance, 4);
	int			max = chance_below(chance, 8);

	if (which == 3)
	{
		LimitTerms	terms = {.max = chance_below(chance, 7) - 1};

		which = chance_below(chance, 2);
		history->model.bucket_max[which] = terms.max;
		limit_set_terms(history->buckets[which], &terms);
		return;
	}
	if (which == 2)
		history->model.node_max = max;
	else
		history->model.handler_max[which] = max;
	limit_set_max(which == 2 ? history->node : history->handlers[which], max);
}

/* Somebody answers at once and says that the slots are ours again. */
static void
offer_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
	(void) arg;
	(void) is_wanted;
	limit_grant(limit);
}

static void
start_history(History *history, int seed)
{
	memset(history, 0, sizeof(*history));
	history->seed = seed;
	chance_init(&history->chance, seed);
	history->model.now_us = 1000000;
	history->all = limits_new(model_clock, history);
	history->node = limit_new_root(history->all, "node", 0);
	for (int i = 0; i < 2; i++)
	{
		history->handlers[i] = limit_new("handler", 0, history->node);
		history->buckets[i] = limit_new("bucket", 0, history->node);
		history->model.bucket_max[i] = -1;
	}
	history->limits = type_limits_new(history->node);
	for (int i = 0; i < JOBS; i++)
		history->jobs[i].waiter.wake = wake_job;
}

static void
end_history(History *history)
{
	for (int i = 0; i < JOBS; i++)
	{
		Job		   *job = &history->jobs[i];

		if (job->state == JOB_READY || job->state == JOB_WAITING)
			give_up(history, job);
		while (job->state != JOB_IDLE)
			change_job(history, job);
	}
	limits_take_freed(history->all, offer_freed, NULL);
	assert_int_equal(limit_used(history->node), 0);
	type_limits_free(history->limits);
	for (int i = 0; i < 2; i++)
	{
		limit_free(history->handlers[i]);
		limit_free(history->buckets[i]);
	}
	limit_free(history->node);
	limits_free(history->all);
}

static void
step(History *history)
{
	Chance	   *chance = &history->chance;
	int			choice = chance_below(chance, 100);

	if (choice < 1)
		change_rules(history);
	else if (choice < 3)
		change_maxima(history);
	else if (choice < 15)
		history->model.now_us += chance_below(chance, 8000);
	else if (choice < 55)
		book_and_compare(history);
	else
		change_job(history, &history->jobs[chance_below(chance, JOBS)]);
	limits_take_freed(history->all, offer_freed, NULL);
	check(limit_used(history->node) == model_used(&history->model, -1));
	check(limit_used(history->handlers[1]) == model_used(&history->model, 1));
}

static void
test_random_histories(void **state)
{
	static History history;
	int64		nbooked = 0;

	(void) state;
	for (int seed = test_seed(); seed < test_seed() + SEEDS; seed++)
	{
		start_history(&history, seed);
		for (history.step = 0; history.step < STEPS; history.step++)
			step(&history);
		nbooked += history.nbooked;
		end_history(&history);
	}
	/* that it was not all refusals */
	assert_true(nbooked > SEEDS * 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
