/*-------------------------------------------------------------------------
 *
 * judge_schedules.c
 *		Each occurrence of a schedule is added once, soon, and none is lost.
 *
 * The judge keeps its own list of what was due.  A clock that is set moves the times of
 * occurrences, so the claims about their delay and their order end there.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "judge.h"
#include "judge_times.h"
#include "tables.h"
#include "world.h"

/* Any node looks when the earliest one is due; a leader that has no reason, each 10 s. */
#define SCHEDULED_US SECONDS_TO_US(5)

/* A schedule of the product is due at whole minutes: see duties_due_at(). */
#define MINUTE_US SECONDS_TO_US(60)

/* A tick tells of each time. */
#define TICK_US SECONDS_TO_US(6)

typedef struct Expected
{
	bool		is_active;
	int64		next_us;		/* the next occurrence, by the database's
								 * clock */
	int64		last_us;		/* that was added; 0: none */
	int64		since_us;		/* it is expected since then, by the world's
								 * clock */
} Expected;

static Expected expected[MODEL_SCHEDULES];

void
judge_schedules_begin(void)
{
	memset(expected, 0, sizeof(expected));
}

/*
 * The trigger of a start brings a node to look at a whole minute alone.  The first
 * occurrence of the model at another time is heard of by the next tick.
 */
void
judge_schedule_starts(int schedule, int64 next_us)
{
	expected[schedule] = (Expected)
	{
		.is_active = true, .next_us = next_us, .last_us = expected[schedule].last_us,
			.since_us = world_now_us() + (next_us % MINUTE_US == 0 ? 0 : TICK_US)
	};
}

/* An occurrence that is due for long must have been added. */
static void
check_due(int schedule)
{
	const Expected *of = &expected[schedule];

	if (of->is_active && times_late_us(Max(times_world_us(of->next_us), of->since_us)) > SCHEDULED_US)
		world_fail("schedule %d is due since %.3f s, and its task is not added", schedule,
				   times_world_us(of->next_us) / 1e6);
}

void
judge_schedule_ends(int schedule)
{
	check_due(schedule);
	expected[schedule].is_active = false;
}

void
judge_schedule(int schedule, int64 due_us)
{
	if (due_us != expected[schedule].next_us)
		world_fail("schedule %d is at another occurrence than the one that is due", schedule);
	check_due(schedule);
	expected[schedule].next_us = model_schedule(schedule)->period_us *
		(model_clock_us() / model_schedule(schedule)->period_us + 1);
}

void
judge_occurrence(int schedule, int64 at_us)
{
	Expected   *of = &expected[schedule];

	world_count(REACHED_OCCURRENCES);
	world_tell("schedule %d adds its task of %.3f s", schedule, times_world_us(at_us) / 1e6);
	if (at_us > model_clock_us())
		world_fail("schedule %d adds the task of an occurrence before its time", schedule);
	if (of->last_us == at_us)
		world_fail("schedule %d adds the task of an occurrence twice", schedule);
	of->last_us = at_us;
}

void
judge_schedules_look(void)
{
	for (int i = 0; i < MODEL_SCHEDULES; i++)
		check_due(i);
}
