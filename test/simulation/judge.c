/*-------------------------------------------------------------------------
 *
 * judge.c
 *		What must hold in every run, whatever fails.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "judge.h"
#include "world.h"

/* Far more than any task reaches in a run. */
#define VERSIONS 2000

/* One version of one task. */
typedef struct Life
{
	dlist_node	node;			/* while it runs */
	int			type;
	int			starts;
	int			undone;			/* grabs that a crash has undone */
	int			running;
	const Process *process;		/* that has started it last */
	int64		grabbed_us;
	int			accepted;
	bool		taken_over;
	unsigned	results;		/* a bit for each that the handler has said */
} Life;

static Life *lives;
static dlist_head running;		/* Lives */
static bool late_is_excused;
static int64 light_us;			/* the faults are light since then; -1: they
								 * are not */

void
judge_begin(void)
{
	lives = palloc0(sizeof(Life) * MODEL_TASKS * VERSIONS);
	dlist_init(&running);
	late_is_excused = false;
	light_us = -1;
}

void
judge_excuse_late(void)
{
	late_is_excused = true;
}

void
judge_expect_starts(void)
{
	light_us = world_now_us();
}

static Life *
life(int number, int64 version)
{
	if (version < 0 || version >= VERSIONS)
		world_fail("task %d has version " INT64_FORMAT, number, version);
	return &lives[number * VERSIONS + version];
}

/* Counts a task that begins, or ends. */
static void
count_running(Process *process, const Row *row, Life *of, int n)
{
	if (of->running == 0)
		dlist_push_tail(&running, &of->node);
	of->running += n;
	if (of->running == 0)
		dlist_delete(&of->node);
	of->type = row->type;
	process->running += n;
	process->running_of[row->type] += n;
}

/* Tasks of the type that run under the limit, and belong to their nodes. */
static int
count_under(int limit)
{
	dlist_iter	iter;
	ModelLimit	found;
	int			n = 0;

	dlist_foreach(iter, &running)
	{
		const Life *of = dlist_container(Life, node, iter.cur);

		n += model_limit(limit, of->type, &found) && !of->taken_over && of->grabbed_us >= found.since_us;
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

static void
check_room(const Process *process, const Row *row)
{
	if (process->running_of[row->type] > process->most_of[row->type])
		world_fail("%s runs %d tasks of a handler, which may run %d", process->name, process->running_of[row->type],
				   process->most_of[row->type]);
	if (process->most > 0 && process->running > process->most)
		world_fail("%s runs %d tasks, and may run %d", process->name, process->running, process->most);
}

void
judge_start(Process *process, const Row *row, int64 version)
{
	Life	   *of = life(row->number, version);

	world_count(REACHED_RUNS);
	world_tell("%s starts task %d v" INT64_FORMAT, process->name, row->number, version);
	if (of->running > 0 && of->process == process)
		world_fail("%s runs task %d v" INT64_FORMAT " twice at once", process->name, row->number, version);
	if (of->starts > of->undone)
		world_fail("%s starts task %d v" INT64_FORMAT " a second time", process->name, row->number, version);
	if (of->undone > 0 && row->rule != RULE_RETRY)
		world_fail("the grab of task %d v" INT64_FORMAT " was not durable", row->number, version);
	if (of->taken_over)
	{
		world_count(REACHED_LATE);
		if (!late_is_excused)
			world_fail("%s starts task %d v" INT64_FORMAT ", which was taken over", process->name, row->number,
					   version);
	}
	of->starts++;
	of->process = process;
	count_running(process, row, of, 1);
	check_room(process, row);
	check_limits(process, row);
}

void
judge_result(const Row *row, int64 version, TaskResult result)
{
	life(row->number, version)->results |= 1u << result;
}

void
judge_stop(Process *process, const Row *row, int64 version)
{
	count_running(process, row, life(row->number, version), -1);
}

/* Results that only the handler can know. */
static bool
is_of_handler(const char *result)
{
	return strcmp(result, "done") == 0 || strcmp(result, "delete") == 0 || strcmp(result, "repeat") == 0 ||
		strcmp(result, "accepted") == 0;
}

void
judge_accept(const Row *row, const char *result)
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
	if (strcmp(result, "release") == 0 && of->starts > of->undone && !(of->results & 1u << TASK_RELEASE))
		world_fail("task %d v" INT64_FORMAT " is given back, and its handler had begun", row->number, row->version);
	if (strcmp(result, "accepted") != 0)
		of->accepted++;
}

void
judge_grab(const Row *row)
{
	life(row->number, row->version)->grabbed_us = world_now_us();
}

void
judge_overdue(const Row *row)
{
	const Life *of = life(row->number, row->version);

	if (of->starts == 0 && light_us >= 0 && of->grabbed_us > light_us)
		world_fail("task %d v" INT64_FORMAT " was grabbed at %.6f s, and never started", row->number, row->version,
				   of->grabbed_us / 1e6);
}

void
judge_take_over(const Row *row)
{
	world_count(REACHED_TAKEN_OVER);
	world_tell("task %d v" INT64_FORMAT " is taken over", row->number, row->version);
	life(row->number, row->version)->taken_over = true;
}

void
judge_undo(const Row *row)
{
	world_count(REACHED_UNDONE);
	life(row->number, row->version)->undone++;
}
