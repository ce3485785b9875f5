/*-------------------------------------------------------------------------
 *
 * run.c
 *		One run of the simulation, from start to end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>

#include "faults.h"
#include "judge.h"
#include "machines.h"
#include "model.h"
#include "process.h"
#include "run.h"
#include "world.h"

/* After the last fault, and once the clock is back, each task ends within this time. */
#define LIVENESS_US SECONDS_TO_US(600)

/* One node that does the rest alone, without faults. */
#define ALONE_TASKS 15
#define ALONE_US SECONDS_TO_US(200)

/* Schedules go on for so long while it is alone. */
#define SCHEDULES_US SECONDS_TO_US(70)

/* A flood adds tasks so that at least so many wait. */
#define FLOOD_US SECONDS_TO_US(30)
#define FLOOD_WAITING 10

static void
run_for(int64 us)
{
	int64		until_us = world_now_us() + us;

	do
		machines_look();
	while (world_step(until_us));
}

/* As run_for(); the judge looks all along. */
static void
watch_for(int64 us)
{
	int64		until_us = world_now_us() + us;

	while (world_now_us() < until_us)
	{
		run_for(SECONDS_TO_US(1));
		judge_look();
	}
}

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
wait_for_ends(int64 us)
{
	int64		until_us = world_now_us() + us;

	while (!all_have_ended() && world_now_us() < until_us)
	{
		run_for(SECONDS_TO_US(1));
		judge_look();
	}
	check_ends();
}

/* They go on, and end again, since each task shall end. */
static void
run_schedules(void)
{
	if (!model_has_schedules())
		return;
	model_pause_schedules(false);
	watch_for(SCHEDULES_US);
	model_pause_schedules(true);
}

static int
count_waiting(int type, int bucket)
{
	int			n = 0;

	for (int i = 0; i < model_count(); i++)
		n += model_row(i)->status == ROW_SUBMITTED && model_row(i)->type == type && model_row(i)->bucket == bucket;
	return n;
}

/* Urgent work does not run out for a while, and the tasks of its type rise beside it. */
static void
flood(void)
{
	int64		until_us = world_now_us() + FLOOD_US;
	int			type = (int) world_between(0, MODEL_TYPES - 1);
	int			bucket = (int) world_between(0, MODEL_BUCKETS - 1);

	if (model_aging_us(type) == 0)
		return;
	while (world_now_us() < until_us)
	{
		faults_add_to_flood(FLOOD_WAITING - count_waiting(type, bucket), type, bucket);
		run_for(MS_TO_US(500));
		judge_look();
	}
}

/* A node that has stood still while others did its work shows it when they are gone. */
static void
try_alone(void)
{
	int			machine = (int) world_between(0, MACHINES - 1);

	world_tell("---- machine %d goes on alone", machine);
	machines_leave(machine);
	judge_expect_noise();
	run_for(SECONDS_TO_US(30));
	judge_expect_quiet(true);
	faults_add_tasks(ALONE_TASKS);
	faults_add_tasks(ALONE_TASKS);
	if (model_shortest_aging_us() > 0)
		flood();
	run_schedules();
	wait_for_ends(ALONE_US);
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

void
run(uint64 seed, bool is_told, Acts *acts)
{
	bool		is_ring;
	int64		lease_s;

	world_begin(seed, is_told);
	acts_begin(acts);
	/* As spawn.c does. */
	signal(SIGPIPE, SIG_IGN);
	judge_begin();
	is_ring = world_happens(650);
	model_begin(is_ring);
	model_choose_limits();
	if (act_begin(HABIT_SCHEDULES) && world_happens(300))
		model_choose_schedules();
	act_end();
	if (act_begin(HABIT_RATES) && world_happens(300))
		model_choose_rates();
	act_end();
	if (act_begin(HABIT_AGING) && world_happens(300))
		model_choose_agings();
	act_end();
	faults_choose_locks();
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
	model_pause_schedules(true);
	judge_expect_quiet(false);
	wait_for_ends(LIVENESS_US + model_behind_us());
	/* Unwatched, this rest would count as time in which no node works. */
	watch_for(SECONDS_TO_US(20));
	check_ends();
	try_alone();
	stop_machines();
	server_close();
	world_end();
	machines_end();
}
