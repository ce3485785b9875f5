/*-------------------------------------------------------------------------
 *
 * judge_times.c
 *		When a task may start, and when it must move on.
 *
 * All times here are the world's.  Setting the database's clock moves the times of tasks,
 * so the claims about them end there.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "judge.h"
#include "judge_times.h"
#include "machines.h"
#include "tables.h"
#include "world.h"

/* A sidecar looks for WAITING tasks that are due, at the latest, after 10 s. */
#define PROMOTED_US SECONDS_TO_US(20)

/* The leader looks for expired tasks each 30 s. */
#define EXPIRED_US SECONDS_TO_US(45)

/* A node that hears of a request to cancel asks for it, and again while the row is locked. */
#define CANCELLED_US SECONDS_TO_US(8)

/* The traces of faults are gone so long after the last one. */
#define SETTLED_US SECONDS_TO_US(20)

/* A node uses or hands on a slot that it is told of, and offers a slot that it frees. */
#define TURN_US SECONDS_TO_US(5)

/* No node works, and tasks wait. */
#define IDLE_US SECONDS_TO_US(20)

#define LIMITS_MOST (MODEL_TYPES + 1)
#define INCARNATIONS 501

typedef struct Times
{
	bool		is_excused;		/* the clock was set */
	int64		light_us;		/* the faults are light since then; -1: they
								 * are not */
	int64		quiet_us;		/* nothing fails since then; -1: things may */
	bool		is_alone;
	int64		busy_us;		/* a task was running, or none waited */
	int64		due_us[MODEL_TASKS];	/* a task must not start before */
	int64		cancelled_us[MODEL_TASKS];	/* by a person, while it was
											 * SUBMITTED */

	/* Turns not used yet, and slots not offered yet; 0: none. */
	int64		told_us[LIMITS_MOST][INCARNATIONS];
	int64		freed_us[LIMITS_MOST][INCARNATIONS];
	int64		busy_until_us[INCARNATIONS];
} Times;

static Times times;

void
times_begin(void)
{
	memset(&times, 0, sizeof(times));
	judge_schedules_begin();
	order_begin();
	times.light_us = times.quiet_us = -1;
}

void
times_excuse(void)
{
	times.is_excused = true;
}

void
times_expect_starts(void)
{
	times.light_us = world_now_us();
}

static int64
since_us(int64 base_us)
{
	return times.is_excused || base_us < 0 ? -1 : world_now_us() - base_us;
}

/* ---- delays and expiry ---- */

int64
times_world_us(int64 clock_us)
{
	return world_now_us() + clock_us - model_clock_us();
}

void
judge_wait(const Row *row)
{
	times.due_us[row->number] = times_world_us(row->next_us);
}

int64
times_late_us(int64 due_us)
{
	return times.light_us < 0 ? -1 : since_us(Max(due_us, times.light_us));
}

void
judge_promote(const Row *row)
{
	if (times_late_us(Max(times.due_us[row->number], locks_end_us(row))) > PROMOTED_US)
		world_fail("task %d v" INT64_FORMAT " was due at %.3f s, and may run only now", row->number, row->version,
				   times.due_us[row->number] / 1e6);
}

void
judge_expire(const Row *row)
{
	world_tell("task %d v" INT64_FORMAT " has expired", row->number, row->version);
	if (times_late_us(Max(times_world_us(row->expires_us), locks_end_us(row))) > EXPIRED_US)
		world_fail("task %d v" INT64_FORMAT " has expired at %.3f s, and ends only now", row->number, row->version,
				   times_world_us(row->expires_us) / 1e6);
}

void
judge_cancel(const Row *row)
{
	if (row->status == ROW_SUBMITTED)
		times.cancelled_us[row->number] = world_now_us();
}

static void
check_cancel(const Row *row)
{
	int64		since_us = Max(times.cancelled_us[row->number], locks_end_us(row));

	if (tables_is_to_cancel(row) && row->version == row->cancel + 1 && times_late_us(since_us) > CANCELLED_US)
		world_fail("task %d v" INT64_FORMAT " is grabbed, and a person has cancelled it at %.3f s", row->number, row->version,
				   times.cancelled_us[row->number] / 1e6);
}

void
times_grab(const Row *row)
{
	times.busy_us = world_now_us();
	check_cancel(row);
	if (model_has_expired(row))
		world_fail("task %d v" INT64_FORMAT " is grabbed, and has expired", row->number, row->version);
	if (!times.is_excused && world_now_us() < times.due_us[row->number])
		world_fail("task %d v" INT64_FORMAT " is grabbed before its time, which is %.6f s", row->number, row->version,
				   times.due_us[row->number] / 1e6);
}

bool
times_is_alone(void)
{
	return times.is_alone && times.quiet_us >= 0;
}

/* ---- offers ---- */

/* The node lives, and has not acted since then. */
static bool
is_slow(const int64 *since, int64 incarnation)
{
	return since[incarnation] > 0 && nodes_live(incarnation) && since_us(since[incarnation]) > TURN_US;
}

void
judge_turn(int limit, int64 incarnation)
{
	if (times.quiet_us >= 0 && times.told_us[limit][incarnation] == 0)
		times.told_us[limit][incarnation] = world_now_us();
}

void
judge_free(int limit, int64 incarnation)
{
	if (times.quiet_us >= 0 && times.freed_us[limit][incarnation] == 0)
		times.freed_us[limit][incarnation] = world_now_us();
}

void
judge_offer(int limit, int64 incarnation)
{
	times.told_us[limit][incarnation] = times.freed_us[limit][incarnation] = 0;
}

void
judge_use_turn(int limit, int64 incarnation)
{
	times.told_us[limit][incarnation] = 0;
}

/* A node that may use a slot of one limit may wait for another limit. */
static bool
is_only_limit(int limit)
{
	for (int other = 0; other < LIMITS_MOST; other++)
		if (other != limit && limits_is_shared(other))
			return false;
	return true;
}

void
judge_busy(int64 incarnation, int64 length_us)
{
	times.busy_until_us[incarnation] = Max(times.busy_until_us[incarnation], world_now_us() + length_us);
}

/*
 * A turn may be told of a slot that is in use again: a node that loses the race for a task
 * hands its turn on, and another has the slot by then.  A node that has all slots itself
 * cannot use the turn, and neither can those to whom it would hand it on.  The turn counts
 * anew when it has ended one of its tasks.
 */
static void
excuse_turn(int limit, int64 incarnation)
{
	int64	   *told_us = &times.told_us[limit][incarnation];

	if (*told_us > 0 && limits_are_all_used_by(limit, incarnation))
		*told_us = world_now_us();
}

static void
check_offers(void)
{
	for (int limit = 0; limit < LIMITS_MOST; limit++)
		for (int64 i = 1; i < INCARNATIONS; i++)
		{
			excuse_turn(limit, i);
			if (is_only_limit(limit) && is_slow(times.told_us[limit], i) && since_us(times.busy_until_us[i]) > TURN_US)
				world_fail("incarnation " INT64_FORMAT " was told of a slot of limit %d, and does not use it or hand it on",
						   i, limit);
			if (is_slow(times.freed_us[limit], i) && limits_have_line(limit, i))
				world_fail("incarnation " INT64_FORMAT " has freed a slot of limit %d, and does not offer it to those who wait",
						   i, limit);
		}
}

/* ---- nobody works ---- */

static void
check_idle(void)
{
	int			nwaiting = 0;
	bool		is_busy = false;

	for (int i = 0; i < model_count(); i++)
	{
		const Row  *row = model_row(i);

		nwaiting += order_can_run(row);
		is_busy |= row->status == ROW_PROCESSING && row->incarnation != 0;
	}
	/* A trigger may have been lost before the faults ended. */
	if (is_busy || nwaiting == 0 || (machines_sweep_rarely() && !times.is_alone))
		times.busy_us = world_now_us();
	else if (since_us(times.busy_us) > IDLE_US)
		world_fail("no node works since %.3f s, and %d tasks wait", times.busy_us / 1e6, nwaiting);
}

void
judge_expect_quiet(bool is_alone)
{
	memset(times.told_us, 0, sizeof(times.told_us));
	memset(times.freed_us, 0, sizeof(times.freed_us));
	times.quiet_us = times.busy_us = world_now_us() + (is_alone ? 0 : SETTLED_US);
	times.is_alone = is_alone;
}

void
judge_expect_noise(void)
{
	times.quiet_us = -1;
}

void
judge_look(void)
{
	order_look();
	judge_schedules_look();
	if (times.quiet_us < 0 || world_now_us() < times.quiet_us)
		return;
	check_idle();
	check_offers();
}
