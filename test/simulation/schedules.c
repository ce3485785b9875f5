/*-------------------------------------------------------------------------
 *
 * schedules.c
 *		The model's schedules, which add tasks by the clock.
 *
 * As sql/schedule documents them, with periods in place of cron expressions.  An
 * occurrence is a whole multiple of the period since 1970, as it is for each period of
 * minutes that divides an hour.  A schedule that cannot run is left out.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "calls/calls.h"
#include "judge.h"
#include "tables.h"
#include "values.h"
#include "world.h"

/* Occurrences that one schedule adds in a run, at most. */
#define RUNS_MOST 200

/* An occurrence that is later than that was missed. */
#define MISSED_US SECONDS_TO_US(60)

typedef struct Schedule
{
	ScheduleTerms terms;
	bool		exists;
	bool		is_paused;
	int64		next_us;		/* by the database's clock, as those below */
	int64		runs[RUNS_MOST];	/* occurrences that were added */
	int			nruns;
} Schedule;

static Schedule schedules[MODEL_SCHEDULES];

void
schedules_begin(void)
{
	memset(schedules, 0, sizeof(schedules));
}

static bool
is_active(const Schedule *schedule)
{
	return schedule->exists && !schedule->is_paused;
}

/* The first occurrence later than that. */
static int64
following_us(const Schedule *schedule, int64 after_us)
{
	return (after_us / schedule->terms.period_us + 1) * schedule->terms.period_us;
}

static bool
has_run(const Schedule *schedule, int64 at_us)
{
	for (int i = 0; i < schedule->nruns; i++)
		if (schedule->runs[i] == at_us)
			return true;
	return false;
}

/* False: it was added before. */
static bool
add_occurrence(int number, int64 at_us)
{
	Schedule   *schedule = &schedules[number];
	const ScheduleTerms *terms = &schedule->terms;
	Row		   *row;

	if (has_run(schedule, at_us))
		return false;
	if (schedule->nruns == RUNS_MOST)
		world_fail("schedule %d has more than %d occurrences", number, RUNS_MOST);
	schedule->runs[schedule->nruns++] = at_us;
	row = tables_new_row();
	server_choose_id(number, at_us, row->id);
	row->is_scheduled = true;
	row->size = MODEL_SCHEDULED_SIZE;
	row->type = terms->type;
	row->bucket = terms->bucket;
	row->priority = terms->priority;
	row->queued = true;
	row->status = ROW_SUBMITTED;
	row->runnable_us = row->next_us = model_clock_us();
	row->expires_us = terms->expires_us == 0 ? 0 : at_us + terms->expires_us;
	judge_occurrence(number, at_us);
	tables_trigger(row, -1);
	return true;
}

/* Returns the number of tasks that it adds. */
static int
run(int number, int64 now_us, bool *has_missed)
{
	Schedule   *schedule = &schedules[number];
	const ScheduleTerms *terms = &schedule->terms;
	int			wanted = terms->missed == MISSED_ALL ? terms->missed_limit : 1;
	int64		last_us = following_us(schedule, now_us) - terms->period_us;
	int64		first_us = Max(schedule->next_us, last_us - (wanted - 1) * terms->period_us);
	int			n = 0;

	*has_missed = first_us > schedule->next_us;
	if (terms->missed == MISSED_SKIP && first_us < now_us - MISSED_US)
	{
		*has_missed = true;
		first_us = last_us + terms->period_us;
	}
	judge_schedule(number, schedule->next_us);
	for (int64 at_us = first_us; at_us <= last_us; at_us += terms->period_us)
		n += add_occurrence(number, at_us);
	schedule->next_us = last_us + terms->period_us;
	return n;
}

int64
schedules_next_us(void)
{
	int64		next_us = -1;

	for (int i = 0; i < MODEL_SCHEDULES; i++)
		if (is_active(&schedules[i]))
			next_us = next_us < 0 ? schedules[i].next_us : Min(next_us, schedules[i].next_us);
	return next_us;
}

PGresult *
schedules_run(void)
{
	PGresult   *result = result_new(SCHEDULES_NEXT_MS + 1);
	int64		now_us = model_clock_us();
	int64		next_us;
	int			added = 0;
	int			missed = 0;
	bool		has_missed;

	for (int i = 0; i < MODEL_SCHEDULES; i++)
	{
		if (!is_active(&schedules[i]) || schedules[i].next_us > now_us)
			continue;
		added += run(i, now_us, &has_missed);
		missed += has_missed;
	}
	result_int(result, 0, SCHEDULES_ADDED, added);
	result_int(result, 0, SCHEDULES_MISSED, missed);
	result_int(result, 0, SCHEDULES_FAILED, 0);
	next_us = schedules_next_us();
	if (next_us < 0)
		result_null(result, 0, SCHEDULES_NEXT_MS);
	else
		result_int(result, 0, SCHEDULES_NEXT_MS, (next_us - now_us + 999) / 1000);
	tables_commit(true);
	return result;
}

/* ---- people ---- */

/* There is no such task: only the time counts. */
static void
tell_time(const Schedule *schedule)
{
	Row			row = {.type = schedule->terms.type, .bucket = schedule->terms.bucket};

	tables_trigger(&row, schedule->next_us);
}

static void
start(int number)
{
	Schedule   *schedule = &schedules[number];

	schedule->next_us = following_us(schedule, model_clock_us());
	judge_schedule_starts(number, schedule->next_us);
	tables_commit(true);
	tell_time(schedule);
}

void
model_add_schedule(int number, const ScheduleTerms *terms)
{
	Schedule   *schedule = &schedules[number];

	schedule->terms = *terms;
	schedule->exists = true;
	start(number);
}

const ScheduleTerms *
model_schedule(int number)
{
	return schedules[number].exists ? &schedules[number].terms : NULL;
}

void
model_choose_schedules(void)
{
	static const int periods[] = {5, 7, 10, 20, 30, 60};

	for (int i = 0; i < MODEL_SCHEDULES; i++)
	{
		ScheduleTerms terms = {
			.period_us = SECONDS_TO_US(periods[world_between(0, lengthof(periods) - 1)]),
			.missed = (Missed) world_between(0, MISSED_COUNT - 1),
			.missed_limit = (int) world_between(1, 6),
			.type = (int) world_between(0, MODEL_TYPES - 1),
			.bucket = (int) world_between(0, MODEL_BUCKETS - 1),
			.priority = (int) world_between(0, 9),
			.expires_us = world_happens(700) ? 0 : world_between(1, SECONDS_TO_US(40))
		};

		if (world_happens(600))
			model_add_schedule(i, &terms);
	}
}

void
model_pause_schedule(int number, bool is_paused)
{
	Schedule   *schedule = &schedules[number];

	if (!schedule->exists || schedule->is_paused == is_paused)
		return;
	schedule->is_paused = is_paused;
	act_tell("schedule %d %s", number, is_paused ? "is paused" : "goes on");
	if (is_paused)
		judge_schedule_ends(number);
	else
		start(number);
}

void
model_pause_any_schedule(void)
{
	int			number = (int) world_between(0, MODEL_SCHEDULES - 1);

	model_pause_schedule(number, !schedules[number].is_paused);
}

void
model_pause_schedules(bool is_paused)
{
	for (int i = 0; i < MODEL_SCHEDULES; i++)
		model_pause_schedule(i, is_paused);
}

bool
model_has_schedules(void)
{
	for (int i = 0; i < MODEL_SCHEDULES; i++)
		if (schedules[i].exists)
			return true;
	return false;
}

int64
model_schedule_next_us(int number)
{
	return schedules[number].is_paused ? -1 : schedules[number].next_us;
}
