/*-------------------------------------------------------------------------
 *
 * steps.c
 *		Random steps of a history: what sidecars call, what people do, what fails.
 *
 * The calls have the parameters that the sidecar's modules give them.  Most of them are
 * what a sidecar would send at that moment; some come too late, twice, or never fit.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "calls_of.h"
#include "chance.h"
#include "common/trigger.h"
#include "sides.h"
#include "steps.h"
#include "tables.h"
#include "world.h"

#define MACHINES_MOST 3

typedef struct Machine
{
	int64		incarnation;	/* 0: none */
	int			session;		/* -1: none */
} Machine;

static Machine machines[MACHINES_MOST];

void
steps_begin(void)
{
	for (int i = 0; i < MACHINES_MOST; i++)
		machines[i] = (Machine)
	{
		.session = -1
	};
	calls_begin();
}

/* ---- machines and their sessions ---- */

static Machine *
any_machine(void)
{
	return &machines[chance_between(0, MACHINES_MOST - 1)];
}

static bool
connect_machine(Machine *machine)
{
	for (int i = 0; i < SESSIONS && machine->session < 0; i++)
	{
		if (sides_has_session(i))
			continue;
		sides_connect(i);
		machine->session = i;
	}
	return machine->session >= 0;
}

static void
start_node(void)
{
	Machine    *machine = any_machine();

	if (machine->incarnation == 0 && connect_machine(machine))
		machine->incarnation = calls_start_node(machine->session);
}

static void
tick(void)
{
	Machine    *machine = any_machine();

	if (machine->incarnation != 0 && connect_machine(machine) && !calls_tick(machine->session, machine->incarnation))
		machine->incarnation = 0;
}

static void
end_node(void)
{
	Machine    *machine = any_machine();

	if (machine->incarnation == 0 || machine->session < 0)
		return;
	calls_end_node(machine->session, machine->incarnation);
	if (chance_happens(500))
		machine->incarnation = 0;
}

/* Its network is cut: the session may stay on the server for a while. */
static void
lose_session(void)
{
	Machine    *machine = any_machine();

	if (machine->session < 0)
		return;
	if (chance_happens(600))
		sides_disconnect(machine->session);
	machine->session = -1;
}

/* The server ends sessions that their machines have left. */
static void
end_left(void)
{
	for (int i = 0; i < SESSIONS; i++)
	{
		bool		is_used = !sides_has_session(i);

		for (int k = 0; k < MACHINES_MOST; k++)
			is_used |= machines[k].session == i;
		if (!is_used)
			sides_disconnect(i);
	}
}

/* ---- calls of one machine ---- */

static void
call_by_any(void (*call) (int session, int64 incarnation))
{
	const Machine *machine = any_machine();

	if (machine->incarnation != 0 && machine->session >= 0)
		call(machine->session, machine->incarnation);
}

static void
grab(void)
{
	call_by_any(calls_grab);
}

static void
resolve_grab(void)
{
	call_by_any(calls_resolve_grab);
}

static void
finish(void)
{
	call_by_any(calls_finish);
}

static void
resolve_finish(void)
{
	call_by_any(calls_resolve_finish);
}

static void
sweep(void)
{
	call_by_any(calls_sweep);
}

static void
policies(void)
{
	call_by_any(calls_policies);
}

static void
promote(void)
{
	call_by_any(calls_promote);
}

static void
expire(void)
{
	call_by_any(calls_expire);
}

static void
run_schedules(void)
{
	call_by_any(calls_schedules);
}

static void
recover(void)
{
	call_by_any(calls_recover);
}

static void
take_cancels(void)
{
	call_by_any(calls_take_cancels);
}

/* ---- people, and time ---- */

static const char *
id_text(const Row *row)
{
	static char text[37];

	trigger_id_text(row->id, text);
	return text;
}

static const char *
time_sql(int64 us)
{
	return psprintf("to_timestamp(0) + '" INT64_FORMAT " us'::interval", us);
}

static void
add_one(void)
{
	int			before = model_count();
	const Row  *row;
	char	   *sql;

	if (!model_add_task())
		return;
	row = model_row(before);
	sql = psprintf("SELECT twtasks.add_task('%s', data => '{}', priority => %d, bucket => '%s', task_id => $1::uuid, "
				   "run_after => %s, expires => %s)", model_types[row->type], row->priority, model_buckets[row->bucket],
				   row->queued ? "NULL" : time_sql(row->next_us), row->expires_us == 0 ? "NULL" : time_sql(row->expires_us));
	world_tell("add task %s, %s, expires %s", id_text(row), model_status_name(row->status),
			   row->expires_us == 0 ? "never" : psprintf("%.6f", (row->expires_us - WORLD_EPOCH_US) / 1e6));
	sides_ask(sql, id_text(row));
	pfree(sql);
}

static void
add(void)
{
	for (int64 n = chance_between(1, 3); n > 0; n--)
		add_one();
}

static void
ask_about_any(const char *sql, void (*fn) (int number))
{
	int			number = (int) chance_between(0, model_count() - 1);

	if (model_count() == 0)
		return;
	world_tell("%s of %s", sql, id_text(model_row(number)));
	fn(number);
	sides_ask(sql, id_text(model_row(number)));
}

static void
cancel(void)
{
	ask_about_any("SELECT twtasks.request_cancel($1::uuid)", model_cancel);
}

static void
resume(void)
{
	int			number = (int) chance_between(0, model_count() - 1);

	/* A WAITING task can be resumed, too; the model has no such person. */
	for (int i = 0; i < model_count(); i++)
		if (model_row((number + i) % model_count())->status == ROW_ERROR)
		{
			number = (number + i) % model_count();
			world_tell("resume %s", id_text(model_row(number)));
			model_resume(number);
			sides_ask("SELECT twtasks.resume_task($1::uuid)", id_text(model_row(number)));
			return;
		}
}

static void
pause_or_resume(void)
{
	bool		is_type = chance_happens(700);
	int			which = (int) chance_between(0, (is_type ? MODEL_TYPES : MODEL_BUCKETS) - 1);
	const char *what = is_type ? "type" : "bucket";

	world_tell("pause or resume %s %d", what, which);
	(is_type ? model_pause_type : model_pause_bucket) (which);
	sides_ask(psprintf("SELECT CASE WHEN NOT twtasks.pause_%s($1) THEN twtasks.resume_%s($1) END", what, what),
			  is_type ? model_types[which] : model_buckets[which]);
}

static void
change_aging(void)
{
	static const int ms[] = {0, 100, 700, 3000, 20000};
	int			type = (int) chance_between(0, MODEL_TYPES - 1);
	int			aging_ms = ms[chance_between(0, lengthof(ms) - 1)];

	world_tell("tasks of type %s rise after %d ms", model_types[type], aging_ms);
	model_set_aging(type, MS_TO_US(aging_ms));
	sides_ask(psprintf("SELECT twtasks.configure_type($1, aging => '%d ms')", aging_ms), model_types[type]);
}

/* Periods of minutes that a cron expression can name. */
static ScheduleTerms
any_terms(void)
{
	static const int minutes[] = {1, 2, 5};

	return (ScheduleTerms)
	{
		.period_us = SECONDS_TO_US(60) * minutes[chance_between(0, lengthof(minutes) - 1)],
			.missed = (Missed) chance_between(0, MISSED_COUNT - 1),
			.missed_limit = (int) chance_between(1, 3),
			.type = (int) chance_between(0, MODEL_TYPES - 1),
			.bucket = (int) chance_between(0, MODEL_BUCKETS - 1),
			.priority = (int) chance_between(0, 9),
			.expires_us = chance_happens(500) ? 0 : chance_between(1, SECONDS_TO_US(200))
	};
}

static void
add_schedule(int number, const char *name)
{
	static const char *const rules[] = {"skip", "once", "all"};
	ScheduleTerms terms = any_terms();
	char	   *sql = psprintf("SELECT twtasks.schedule($1, '*/%d * * * *', '%s', '{}', missed => '%s', missed_limit => %d, "
							   "bucket => '%s', priority => %d, expires_after => nullif('" INT64_FORMAT " us'::interval, '0'))",
							   (int) (terms.period_us / SECONDS_TO_US(60)), model_types[terms.type], rules[terms.missed],
							   terms.missed_limit, model_buckets[terms.bucket], terms.priority, terms.expires_us);

	world_tell("%s", sql);
	model_add_schedule(number, &terms);
	sides_ask(sql, name);
	pfree(sql);
}

/* Adds a schedule, pauses it, or lets it go on. */
static void
change_schedule(void)
{
	int			number = (int) chance_between(0, MODEL_SCHEDULES - 1);
	char	   *name = psprintf("%d", number);

	if (model_schedule(number) == NULL)
		add_schedule(number, name);
	else
	{
		model_pause_schedule(number, model_schedule_next_us(number) >= 0);
		sides_ask("SELECT CASE WHEN twtasks.pause_schedule($1) <> 'paused' THEN twtasks.resume_schedule($1) END", name);
	}
	pfree(name);
}

static void
pass_minutes(void)
{
	int64		us = chance_between(1, SECONDS_TO_US(600));

	world_tell("%.6f s pass", us / 1e6);
	(void) world_step(world_now_us() + us);
}

static void
pass_time(void)
{
	int64		us = chance_happens(500) ? chance_between(1, SECONDS_TO_US(3)) : chance_between(SECONDS_TO_US(1), SECONDS_TO_US(25));

	world_tell("%.6f s pass", us / 1e6);
	(void) world_step(world_now_us() + us);
}

static void
set_clock(void)
{
	int64		by_us = chance_happens(500) ? chance_between(SECONDS_TO_US(-3), SECONDS_TO_US(3)) :
	chance_between(SECONDS_TO_US(-40), SECONDS_TO_US(40));

	world_tell("the clock is set by %.6f s", by_us / 1e6);
	model_set_clock(by_us);
}

/* ---- their order ---- */

static const struct
{
	void		(*fn) (void);
	int			weight;
}			kinds[] = {
	{start_node, 4}, {tick, 8}, {end_node, 1}, {lose_session, 2}, {end_left, 1},
	{grab, 12}, {resolve_grab, 2}, {finish, 10}, {resolve_finish, 3}, {sweep, 4}, {policies, 1}, {promote, 4}, {expire, 2}, {recover, 6},
	{take_cancels, 2}, {run_schedules, 4}, {add, 7}, {change_schedule, 3}, {cancel, 3}, {resume, 2}, {pause_or_resume, 1}, {change_aging, 2}, {pass_time, 10}, {pass_minutes, 1}, {set_clock, 1}
};

void
steps_next(void)
{
	int			sum = 0;
	int64		pick;
	size_t		i = 0;

	for (size_t k = 0; k < lengthof(kinds); k++)
		sum += kinds[k].weight;
	for (pick = chance_between(1, sum); pick > kinds[i].weight; i++)
		pick -= kinds[i].weight;
	kinds[i].fn();
	sides_show_time();
	sides_compare();
}
