/*-------------------------------------------------------------------------
 *
 * faults.c
 *		What fails in a run, and what people do meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "connection.h"
#include "faults.h"
#include "judge.h"
#include "machines.h"
#include "model.h"
#include "sim_loop.h"
#include "world.h"

static int64 end_us;			/* no more faults from then on */
static bool are_light;
static bool are_locks;			/* users lock rows */

/* While the faults are light, a lock is no reason to give a statement up. */
#define LIGHT_LOCK_US MS_TO_US(500)

/* A question about a grab is asked again within its timeout. */
#define GRAB_LOCK_US MS_TO_US(1500)

/* Mostly short, at times longer than a lease. */
static int64
some_time_us(void)
{
	if (world_happens(700))
		return world_between(MS_TO_US(1), SECONDS_TO_US(3));
	return world_happens(700) ? world_between(SECONDS_TO_US(3), SECONDS_TO_US(12)) :
		world_between(SECONDS_TO_US(10), SECONDS_TO_US(45));
}

/* ---- kinds of faults; process: at random, NULL if its machine has none now ---- */

static void
break_connection(Process *process)
{
	connection_break(process);
}

static void
end_session(Process *process)
{
	Session    *session = server_any_session(process->name);

	if (session == NULL)
		return;
	act_tell("the server ends session %d", session_pid(session));
	session_end(session);
}

static void
silence_session(Process *process)
{
	Session    *session = server_any_session(process->name);
	int64		us = some_time_us();

	if (session == NULL)
		return;
	act_tell("session %d is silent for %.3f s", session_pid(session), us / 1e6);
	session_silence(session, us);
}

static void
cut_machine(Process *process)
{
	int64		us = some_time_us();

	act_tell("the network of machine %d is cut for %.3f s", process->machine, us / 1e6);
	connection_cut(process->machine, us);
}

static void
freeze(Process *process)
{
	int64		us = some_time_us();

	act_tell("%s is frozen for %.3f s", process->name, us / 1e6);
	sim_loop_freeze(process->loop, us);
}

/* As if the machine stopped while the server executes a grab. */
static void
freeze_at_grab(Process *process)
{
	process->ambush_us = some_time_us();
	act_tell("%s freezes for %.3f s when it has sent its next grab", process->name, process->ambush_us / 1e6);
}

static void
drain(Process *process)
{
	if (sim_loop_is_frozen(process->loop))
		return;
	process_drain(process);
	/* The second time, it ends at once. */
	if (world_happens(100))
		process_drain(process);
}

static void
reload(Process *process)
{
	machines_reload(process);
}

static void
restart_server(void *arg)
{
	act_tell("the server is back");
	server_restart();
}

static void
crash_server(Process *process)
{
	if (!server_is_up())
		return;
	act_tell("the server crashes");
	server_crash();
	(void) world_after(world_happens(500) ? world_between(MS_TO_US(1), MS_TO_US(200)) : Min(some_time_us(), SECONDS_TO_US(6)),
					   restart_server, NULL);
}

static void
crash_now(void *arg)
{
	if (!faults_last() || !server_is_up())
		return;
	act_tell("the server crashes");
	server_crash();
	(void) world_after(world_between(MS_TO_US(1), MS_TO_US(100)), restart_server, NULL);
}

/* Grabs that need not be durable are undone. */
static void
crash_at_grab(Process *process)
{
	act_tell("the server crashes soon after its next grab");
	server_ambush(crash_now);
}

static void
stall_server(Process *process)
{
	int64		us = some_time_us();

	act_tell("the server stalls for %.3f s", us / 1e6);
	server_stall(us);
}

static void
refuse_no_more(void *arg)
{
	server_refuse(0);
}

static void
refuse_calls(Process *process)
{
	act_tell("the server refuses calls");
	server_refuse((int) world_between(1, 300));
	(void) world_after(Min(some_time_us(), SECONDS_TO_US(8)), refuse_no_more, NULL);
}

static void
disturb_triggers(Process *process)
{
	int			lost = world_happens(500) ? 0 : (int) world_between(0, 1000);
	int			doubled = world_happens(500) ? 0 : (int) world_between(0, 500);

	act_tell("from now on, of 1000 triggers %d are lost and %d doubled", lost, doubled);
	model_disturb_triggers(lost, doubled);
}

static void
set_clock(Process *process)
{
	int64		by_us = world_happens(500) ? world_between(SECONDS_TO_US(-3), SECONDS_TO_US(3)) :
		world_between(SECONDS_TO_US(-90), SECONDS_TO_US(90));

	act_tell("the database's clock is set by %.3f s", by_us / 1e6);
	judge_excuse_late();
	model_set_clock(by_us);
}

static void
cancel(Process *process)
{
	if (server_is_up())
		model_cancel_any();
}

static void
pause_or_resume(Process *process)
{
	if (server_is_up())
		model_pause_any();
}

static void
resume_errors(Process *process)
{
	if (!server_is_up())
		return;
	act_tell("a person resumes tasks in ERROR");
	model_resume_errors();
}

static void
change_limit(Process *process)
{
	if (server_is_up())
		model_change_limit();
}

typedef void (*FaultFn) (Process *process);

static const struct
{
	FaultFn		fn;
	bool		is_light;
}			kinds[] = {
	{break_connection, true}, {end_session, true}, {silence_session}, {cut_machine}, {freeze}, {freeze_at_grab},
	{process_kill},
	{drain}, {reload}, {crash_server}, {crash_at_grab}, {stall_server}, {refuse_calls}, {disturb_triggers, true}, {set_clock},
	{cancel, true}, {pause_or_resume}, {change_limit}, {resume_errors, true}
};

static int	weights[lengthof(kinds)];

/* ---- their order ---- */

/* Does one of the kinds that this run has, if it has any. */
static void
do_one(Process *process)
{
	int			sum = 0;
	int64		pick;

	for (size_t i = 0; i < lengthof(kinds); i++)
		sum += weights[i];
	pick = world_between(1, sum);
	for (size_t i = 0; i < lengthof(kinds); i++)
	{
		pick -= weights[i];
		if (pick > 0)
			continue;
		world_count(REACHED_FAULTS);
		kinds[i].fn(process);
		return;
	}
}

/* When the next one comes, and on which machine, does not depend on what this one does. */
static void
next_fault(void *arg)
{
	int			number;
	bool		is_kept;
	Process    *process;

	if (world_now_us() >= end_us)
		return;
	number = acts_next();
	is_kept = act_begin(number);
	(void) world_after(world_between(MS_TO_US(1), world_happens(300) ? MS_TO_US(50) : SECONDS_TO_US(3)), next_fault, NULL);
	process = process_on((int) world_between(0, MACHINES - 1));
	if (is_kept && process != NULL)
		do_one(process);
	act_end();
}

static void
tell_added(void)
{
	Row		   *row = model_find(model_row(model_count() - 1)->id);

	row->padding = world_happens(800) ? 0 : (int) world_between(500, 4000);
	act_tell("task %d of type %s and priority %d is added, %s", row->number, model_types[row->type], row->priority,
			 model_status_name(row->status));
}

static void
add_task(int number)
{
	if (act_begin(number) && server_is_up() && model_add_task())
		tell_added();
	act_end();
}

void
faults_add_tasks(int n)
{
	int			number = acts_next();

	for (int i = 1; i <= n; i++)
		add_task(number + i);
}

void
faults_add_to_flood(int n, int type, int bucket)
{
	int			number = acts_next();

	for (int i = 1; i <= Min(n, ACTS_AT_ONCE - 1); i++)
	{
		if (act_begin(number + i) && model_add_to_flood(type, bucket))
			tell_added();
		act_end();
	}
}

static void
next_tasks(void *arg)
{
	int			number;
	int			n;

	if (world_now_us() >= end_us)
		return;
	number = acts_next();
	world_enter(number);
	n = (int) world_between(1, ACTS_AT_ONCE - 1);
	(void) world_after(world_between(MS_TO_US(10), SECONDS_TO_US(4)), next_tasks, NULL);
	world_leave();
	for (int i = 1; i <= n; i++)
		add_task(number + i);
}

/* People pause schedules, and let them go on. */
static void
next_schedule_act(void *arg)
{
	int			number;

	if (world_now_us() >= end_us)
		return;
	number = acts_next();
	if (act_begin(number) && server_is_up())
		model_pause_any_schedule();
	(void) world_after(world_between(SECONDS_TO_US(1), SECONDS_TO_US(40)), next_schedule_act, NULL);
	act_end();
}

/* People let tasks rise sooner, later or not at all. */
static void
next_aging(void *arg)
{
	if (world_now_us() >= end_us)
		return;
	if (act_begin(acts_next()) && server_is_up())
		model_change_any_aging();
	(void) world_after(world_between(SECONDS_TO_US(1), SECONDS_TO_US(60)), next_aging, NULL);
	act_end();
}

static void
next_lock(void *arg)
{
	if (world_now_us() >= end_us)
		return;
	if (act_begin(acts_next_lock()) && server_is_up())
	{
		if (world_happens(150))
			model_lock_at_grab(world_between(1, GRAB_LOCK_US));
		else
			model_lock_tasks(are_light ? world_between(1, LIGHT_LOCK_US) : some_time_us());
	}
	(void) world_after(world_between(MS_TO_US(10), SECONDS_TO_US(2)), next_lock, NULL);
	act_end();
}

void
faults_choose_locks(void)
{
	are_locks = act_begin(HABIT_LOCKS) && world_happens(350);
	act_end();
}

static void
begin_acts(EventFn next)
{
	world_enter(acts_next());
	(void) world_after(world_between(0, SECONDS_TO_US(30)), next, NULL);
	world_leave();
}

void
faults_begin(int64 us, bool is_light)
{
	end_us = world_now_us() + us;
	are_light = is_light;
	if (are_locks)
		next_lock(NULL);
	world_enter(acts_next());
	for (size_t i = 0; i < lengthof(kinds); i++)
		weights[i] = (is_light && !kinds[i].is_light) || world_happens(500) ? 0 : (int) world_between(1, 10);
	(void) world_after(world_between(0, SECONDS_TO_US(3)), next_fault, NULL);
	(void) world_after(world_between(0, SECONDS_TO_US(2)), next_tasks, NULL);
	world_leave();
	if (model_has_schedules())
		begin_acts(next_schedule_act);
	if (model_shortest_aging_us() > 0)
		begin_acts(next_aging);
}

void
faults_end(void)
{
	world_tell("---- the faults have ended");
	if (!server_is_up())
		server_restart();
	server_stall(0);
	server_ambush(NULL);
	server_refuse(0);
	model_disturb_triggers(0, 0);
	model_resume_types();
	model_open_limits();
	model_unlock_tasks();
	for (int i = 0; i < MACHINES; i++)
	{
		connection_heal(i);
		if (process_on(i) != NULL)
		{
			process_on(i)->ambush_us = 0;
			sim_loop_thaw(process_on(i)->loop);
		}
	}
}

bool
faults_last(void)
{
	return world_now_us() < end_us;
}

int64
faults_down_us(void)
{
	return faults_last() ? world_between(MS_TO_US(10), world_happens(800) ? SECONDS_TO_US(2) : SECONDS_TO_US(12)) :
		MS_TO_US(10);
}
