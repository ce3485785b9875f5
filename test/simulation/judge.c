/*-------------------------------------------------------------------------
 *
 * judge.c
 *		What must hold in every run, whatever fails.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "judge.h"
#include "judge_times.h"
#include "machines.h"
#include "world.h"

#define INCARNATIONS 500

/* No configuration has a shorter timeout, so what happens earlier is in time. */
#define IN_TIME_US SECONDS_TO_US(3)

/* Far more than any task reaches in a run. */
#define VERSIONS 2000

/*
 * A reload that lowers a limit ends nothing, and keeps the slots that are booked.  The
 * grab of such a slot is sent after that time at the latest.
 */
#define BOOKED_US SECONDS_TO_US(90)

/* One version of one task. */
typedef struct Life
{
	int			starts;
	int			undone;			/* grabs that a crash has undone */
	bool		was_to_last;	/* one of these had to be durable */
	const Process *process;		/* that has started it last */
	const Process *asker;		/* that has asked for it last */
	int64		asked_us;		/* for the first time */
	int64		grabbed_us;
	int			accepted;
	bool		taken_over;
	int64		taken_over_us;
	bool		is_passed_over; /* by a take-over, for a lock on its row */
	unsigned	results;		/* a bit for each that the handler has said */
	bool		is_expected;	/* in time, while the faults were light */
	int64		incarnation;	/* that grabbed it last */
	bool		has_no_effect;	/* its function has failed */
	bool		has_delay;		/* that the handler has said */
	int64		delay_us;
} Life;

/* A handler at work. */
typedef struct Run
{
	dlist_node	node;
	const Process *process;
	const Life *life;
	int			type;
} Run;

static Life *lives;
static int64 gone_us[INCARNATIONS + 1]; /* 0: not gone */
static dlist_head running;		/* Runs */
static bool late_is_excused;
static int64 light_us;			/* the faults are light since then; -1: they
								 * are not */

void
judge_begin(void)
{
	lives = palloc0(sizeof(Life) * MODEL_TASKS * VERSIONS);
	memset(gone_us, 0, sizeof(gone_us));
	dlist_init(&running);
	late_is_excused = false;
	light_us = -1;
	times_begin();
	rates_begin();
}

void
judge_excuse_late(void)
{
	late_is_excused = true;
	times_excuse();
}

void
judge_expect_starts(void)
{
	light_us = world_now_us();
	times_expect_starts();
}

static Life *
life(int number, int64 version)
{
	if (version < 0 || version >= VERSIONS)
		world_fail("task %d has version " INT64_FORMAT, number, version);
	return &lives[number * VERSIONS + version];
}

static Run *
find_run(const Process *process, const Life *of)
{
	dlist_iter	iter;

	dlist_foreach(iter, &running)
	{
		Run		   *run = dlist_container(Run, node, iter.cur);

		if (run->process == process && run->life == of)
			return run;
	}
	return NULL;
}

static void
add_run(Process *process, const Row *row, const Life *of)
{
	Run		   *run = palloc(sizeof(Run));

	run->process = process;
	run->life = of;
	run->type = row->type;
	dlist_push_tail(&running, &run->node);
	process->running++;
	process->running_of[row->type]++;
}

/*
 * Tasks of the type that run under the limit, and belong to their nodes.  A slot ends with
 * the node of its grab, although a lock may keep the task from its take-over.
 */
static int
count_under(int limit)
{
	dlist_iter	iter;
	ModelLimit	found;
	int			n = 0;

	dlist_foreach(iter, &running)
	{
		const Run  *run = dlist_container(Run, node, iter.cur);
		const Life *of = run->life;

		n += model_limit(limit, run->type, &found) && !of->taken_over && !of->is_passed_over &&
			of->grabbed_us >= found.since_us && of->process == run->process;
	}
	return n;
}

static void
check_limits(const Process *process, const Row *row)
{
	ModelLimit	found;

	for (int limit = 0; limit < model_limits(); limit++)
	{
		int			here = limit < MODEL_TYPES ? process->running_of[limit] : process->running;

		if (!model_limit(limit, row->type, &found))
			continue;
		if (found.of_node >= 0 && here > found.of_node)
			world_fail("%s runs %d tasks under its limit of %s, which is %d", process->name, here, found.name,
					   found.of_node);
		if (found.most >= 0 && count_under(limit) > found.most)
			world_fail("the cluster runs %d tasks under its limit of %s, which is %d", count_under(limit), found.name,
					   found.most);
	}
}

/* Tasks that the process runs and has asked for since a time; type -1: of all types. */
static int
count_since(const Process *process, int type, int64 since_us)
{
	dlist_iter	iter;
	int			n = 0;

	dlist_foreach(iter, &running)
	{
		const Run  *run = dlist_container(Run, node, iter.cur);

		n += run->process == process && (type < 0 || run->type == type) && run->life->asked_us > since_us;
	}
	return n;
}

static void
check_room(const Process *process, int type, const Room *room)
{
	int			n = count_since(process, type, room->lowered_us + BOOKED_US);

	if (room->most > 0 && n > room->most)
		world_fail("%s runs %d tasks of %s, and may run %d", process->name, n, type < 0 ? "all types" : model_types[type],
				   room->most);
}

void
judge_ask(const Process *process, const Row *row, int64 version)
{
	Life	   *of = life(row->number, version);

	order_ask(process, row);
	if (of->asker == process)
		return;
	of->asker = process;
	of->asked_us = world_now_us();
}

void
judge_start(Process *process, const Row *row, int64 version, int64 given_us)
{
	Life	   *of = life(row->number, version);

	world_count(REACHED_RUNS);
	world_tell("%s starts task %d v" INT64_FORMAT, process->name, row->number, version);
	if (find_run(process, of) != NULL)
		world_fail("%s runs task %d v" INT64_FORMAT " twice at once", process->name, row->number, version);
	if (of->starts > of->undone)
		world_fail("%s starts task %d v" INT64_FORMAT " a second time", process->name, row->number, version);
	if (of->was_to_last)
		world_fail("the grab of task %d v" INT64_FORMAT " was not durable", row->number, version);
	if (of->taken_over && given_us >= of->taken_over_us)
	{
		world_count(REACHED_LATE);
		if (!late_is_excused)
			world_fail("%s starts task %d v" INT64_FORMAT ", which was taken over", process->name, row->number,
					   version);
	}
	of->starts++;
	of->process = process;
	add_run(process, row, of);
	check_room(process, row->type, &process->room_of[row->type]);
	check_room(process, -1, &process->room);
	check_limits(process, row);
}

void
judge_result(const Row *row, int64 version, TaskResult result)
{
	life(row->number, version)->results |= 1u << result;
}

void
judge_delay(const Row *row, int64 version, int64 delay_us)
{
	life(row->number, version)->has_delay = true;
	life(row->number, version)->delay_us = delay_us;
}

bool
judge_is_in_time(const Row *row, int64 version)
{
	int64		grabbed_us = life(row->number, version)->grabbed_us;

	return light_us >= 0 && !late_is_excused && row->version == version && row->status == ROW_PROCESSING &&
		grabbed_us > light_us && world_now_us() < grabbed_us + IN_TIME_US;
}

void
judge_expect(const Row *row, int64 version)
{
	if (judge_is_in_time(row, version))
		life(row->number, version)->is_expected = true;
}

void
judge_hand(const Process *process, const Row *row, int64 version, int64 given_us)
{
	const Life *of = life(row->number, version);

	if (of->undone == 0 && gone_us[of->incarnation] > 0 && given_us > gone_us[of->incarnation] && !late_is_excused)
		world_fail("%s hands task %d v" INT64_FORMAT " to a worker, and its incarnation has ended", process->name,
				   row->number, version);
}

void
judge_end_worker(const Process *process, const Row *row, int64 version)
{
	if (judge_is_in_time(row, version))
		world_fail("%s ends the worker of task %d v" INT64_FORMAT " without a reason", process->name, row->number,
				   version);
}

void
judge_effect(const Row *row, TaskResult result)
{
	Life	   *of = life(row->number, row->version);

	world_count(REACHED_FUNCTIONS);
	world_tell("a function runs for task %d v" INT64_FORMAT, row->number, row->version);
	if (of->starts > of->undone)
		world_fail("a function runs for task %d v" INT64_FORMAT " a second time", row->number, row->version);
	of->starts++;
	of->results |= 1u << result;
	of->has_no_effect = result == TASK_FAILURE;
}

void
judge_stop(Process *process, const Row *row, int64 version)
{
	Run		   *run = find_run(process, life(row->number, version));

	world_tell("%s has left task %d v" INT64_FORMAT, process->name, row->number, version);
	process->running--;
	process->running_of[row->type]--;
	dlist_delete(&run->node);
	pfree(run);
}

/* Results that only the handler can know. */
static bool
is_of_handler(const char *result)
{
	return strcmp(result, "done") == 0 || strcmp(result, "delete") == 0 || strcmp(result, "repeat") == 0 ||
		strcmp(result, "accepted") == 0;
}

/* Results that mean a failure.  The sidecar takes a cancel for one that nobody asked for. */
#define FAILED_BITS (1u << TASK_FAILURE | 1u << TASK_RETRY | 1u << TASK_ERROR | 1u << TASK_CANCELLED)

static bool
is_of_sidecar(const char *result)
{
	return strcmp(result, "retry") == 0 || strcmp(result, "error") == 0;
}

/* The delay of a failure, by the policy of all handlers. */
static int64
policy_delay_us(int tries)
{
	return SECONDS_TO_US(Min((int64) MACHINES_DELAY_S << (tries - 1), MACHINES_MAX_DELAY_S));
}

/* A task whose handler has ended it in time fails, and may run again. */
static void
check_delay(const Row *row, const Life *of, const char *result, int64 delay_us)
{
	int64		most_us = of->has_delay ? of->delay_us : policy_delay_us(row->tries);
	int64		least_us = of->has_delay ? most_us : most_us - most_us / MACHINES_JITTER;

	if (!of->has_delay && !(of->results & FAILED_BITS))
		return;
	if (strcmp(result, "error") == 0 && !(of->results & 1u << TASK_ERROR) && row->tries < MACHINES_TRIES)
		world_fail("task %d v" INT64_FORMAT " is given up after %d tries", row->number, row->version, row->tries);
	if ((strcmp(result, "retry") == 0 || (of->has_delay && strcmp(result, "release") == 0)) &&
		(delay_us < least_us - MS_TO_US(1) || delay_us > most_us + MS_TO_US(1)))
		world_fail("task %d v" INT64_FORMAT " waits for %.3f s, in place of %.3f s", row->number, row->version,
				   delay_us / 1e6, most_us / 1e6);
}

void
judge_accept(const Row *row, const char *result, int64 delay_us)
{
	Life	   *of = life(row->number, row->version);
	TaskResult	said;

	world_tell("task %d v" INT64_FORMAT " ends: %s", row->number, row->version, result);
	if (of->accepted > 0)
		world_fail("task %d v" INT64_FORMAT " has a second outcome: %s", row->number, row->version, result);
	if (!task_result_parse_worker(result, &said))
		world_fail("task %d has an unknown outcome: %s", row->number, result);
	if (is_of_handler(result) && !(of->results & 1u << said))
		world_fail("task %d v" INT64_FORMAT ": its handler never said %s", row->number, row->version, result);
	if (strcmp(result, "release") == 0 && of->starts > of->undone && !(of->results & 1u << TASK_RELEASE) &&
		!of->has_no_effect)
		world_fail("task %d v" INT64_FORMAT " is given back, and its handler had begun", row->number, row->version);
	if (of->is_expected && is_of_sidecar(result) && !(of->results & FAILED_BITS))
		world_fail("task %d v" INT64_FORMAT " ends as %s, which its handler never said", row->number, row->version, result);
	if (of->is_expected)
		check_delay(row, of, result, delay_us);
	if (strcmp(result, "accepted") != 0)
		of->accepted++;
}

void
judge_grab(const Row *row, int64 sent_us)
{
	Life	   *of = life(row->number, row->version);

	times_grab(row);
	of->grabbed_us = world_now_us();
	if (light_us >= 0 && !late_is_excused)
		rates_grab(row, sent_us, light_us);
	of->incarnation = row->incarnation;
}

void
judge_overdue(const Row *row)
{
	const Life *of = life(row->number, row->version);

	if (of->starts == 0 && light_us >= 0 && of->grabbed_us > light_us)
		world_fail("task %d v" INT64_FORMAT " was grabbed at %.6f s, and never started", row->number, row->version,
				   of->grabbed_us / 1e6);
	if (of->is_expected && of->accepted == 0)
		world_fail("task %d v" INT64_FORMAT " is overdue, and its handler has ended in time", row->number, row->version);
}

void
judge_gone(int64 incarnation)
{
	gone_us[incarnation] = world_now_us();
}

void
judge_take_over(const Row *row)
{
	Life	   *of = life(row->number, row->version);

	world_count(REACHED_TAKEN_OVER);
	world_tell("task %d v" INT64_FORMAT " is taken over", row->number, row->version);
	of->taken_over = true;
	of->taken_over_us = world_now_us();
}

void
judge_pass_over(const Row *row)
{
	world_tell("a lock keeps task %d v" INT64_FORMAT " from its take-over", row->number, row->version);
	life(row->number, row->version)->is_passed_over = true;
}

void
judge_undo(const Row *row)
{
	Life	   *of = life(row->number, row->version);

	world_count(REACHED_UNDONE);
	of->undone++;
	of->was_to_last |= row->rule != RULE_RETRY;
}
