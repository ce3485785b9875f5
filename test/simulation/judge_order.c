/*-------------------------------------------------------------------------
 *
 * judge_order.c
 *		Which task goes first, where one node works alone.
 *
 * A node asks for the most urgent task of a type and bucket, and for the one that has
 * been in its priority for longest.  A task rises by one priority when it has been in
 * the one before for the aging of its type, or up to a quarter longer: see column.h.
 *
 * The judge does not see the memory of the node.  It knows the best place that a task can
 * have, counted from when the task could run, and the worst one, counted from when the
 * node has surely heard of it.  A node is wrong that asks for a task, and passes over one
 * whose worst place is before the best place of the task.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "common/trigger.h"
#include "judge.h"
#include "judge_times.h"
#include "machines.h"
#include "table/table.h"
#include "tables.h"
#include "world.h"

/* A task that waits so long is in the memory of the node. */
#define PLACED_US SECONDS_TO_US(8)

/* A timer of the node is late by less. */
#define LATE_US MS_TO_US(5)

/* A task that waits for a node, as seen since then. */
typedef struct Wait
{
	int64		version;
	int64		since_us;
} Wait;

/* A place in the order of a node: a priority, and when the task came there. */
typedef struct Place
{
	int			priority;
	int64		since_us;
} Place;

static Wait waits[MODEL_TASKS];

void
order_begin(void)
{
	for (int i = 0; i < MODEL_TASKS; i++)
		waits[i].version = -1;
}

bool
order_can_run(const Row *row)
{
	return row->status == ROW_SUBMITTED && !model_is_paused(row) && !model_has_expired(row);
}

/* A refused task gets its place back. */
void
order_leave(const Row *row)
{
	waits[row->number].since_us = world_now_us();
}

void
order_look(void)
{
	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);
		Wait	   *wait = &waits[i];

		if (!order_can_run(row))
			wait->version = -1;
		else if (wait->version != row->version)
			*wait = (Wait)
		{
			row->version, world_now_us()
		};
	}
}

/* ---- places ---- */

static Place
place_after(const Row *row, int64 since_us, int64 first_us, int64 next_us)
{
	Place		place = {row->priority, since_us};

	for (int64 us = first_us; next_us > 0 && place.priority > TRIGGER_RISEN; us = next_us)
	{
		if (place.since_us + us > world_now_us())
			break;
		place.since_us += us;
		place.priority--;
	}
	return place;
}

/* Nothing rises early, in memory or where a look at the table finds it. */
static Place
best_place(const Row *row)
{
	int64		aging_us = model_aging_us(row->type);

	return place_after(row, times_world_us(row->runnable_us), aging_us, aging_us);
}

/*
 * A node looks four times in the shortest aging.  For a type with that aging each look is
 * a mark.  The marks of another type are a look late or early each, so the gap between two
 * of them, and the time until a mark counts, may be a few looks longer.  A task comes to
 * its first priority in such a gap, and to the others at a mark.
 */
static Place
worst_place(const Row *row)
{
	int64		aging_us = model_aging_us(row->type);
	int64		look_us = model_shortest_aging_us() / TABLE_AGINGS + LATE_US;
	bool		is_shortest = aging_us == model_shortest_aging_us();
	int64		next_us = is_shortest ? TABLE_AGINGS * look_us : aging_us + 2 * look_us;
	int64		gap_us = is_shortest ? look_us : aging_us / TABLE_AGINGS + 2 * look_us;

	return place_after(row, waits[row->number].since_us + PLACED_US, aging_us == 0 ? 0 : gap_us + next_us, aging_us == 0 ? 0 : next_us);
}

static bool
goes_before(const Place *one, const Place *other)
{
	return one->priority != other->priority ? one->priority < other->priority : one->since_us < other->since_us;
}

/* The node has had the time to hear of the task. */
static bool
has_place(const Row *row)
{
	const Wait *wait = &waits[row->number];

	return order_can_run(row) && wait->version == row->version && world_now_us() - wait->since_us > PLACED_US;
}

static void
check_order(const Process *process, const Row *row, const Row *other)
{
	Place		best = best_place(row);
	Place		worst = worst_place(other);

	if (goes_before(&worst, &best))
		world_fail("%s asks for task %d of priority %d, which counts as %d since %.3f s at best, and passes over task %d of "
				   "priority %d, which counts as %d since %.3f s at least", process->name, row->number, row->priority,
				   best.priority, best.since_us / 1e6, other->number, other->priority, worst.priority, worst.since_us / 1e6);
	if (row->priority > other->priority)
		world_count(REACHED_RISEN);
}

void
order_ask(const Process *process, const Row *row)
{
	if (!times_is_alone() || !machines_keeps_order(process->machine, row->type))
		return;
	for (int i = 0; i < model_count(); i++)
	{
		const Row  *other = model_row(i);

		if (other->type == row->type && other->bucket == row->bucket && has_place(other))
			check_order(process, row, other);
	}
}
