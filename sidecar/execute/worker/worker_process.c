/*-------------------------------------------------------------------------
 *
 * worker_process.c
 *		One long-lived process of a worker handler, and its tasks in flight.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/output.h"
#include "execute/worker/worker_process.h"
#include "execute/worker/worker_process_private.h"

#define NODE_GONE "worker was stopped because its node was declared gone"
#define OTHERS_DEADLINE "worker was stopped because another task passed its deadline"

/* Limits for the reading of the hello. */
#define LOOK_MIN_US MS_TO_US(1)
#define LOOK_MAX_US MS_TO_US(100)
#define SLOW_US SECONDS_TO_US(60)
#define GIVE_UP_US SECONDS_TO_US(600)

/* Stops the timer, which belongs to the old state. */
static void
set_state(WorkerProcess *process, WorkerState state)
{
	process->state = state;
	loop_timer_stop(process->timer);
}

bool
worker_process_is_up(const WorkerProcess *process)
{
	return process->state != WORKER_DOWN && process->state != WORKER_ENDING;
}

/* Ends the process, which begins no further task.  The reason is for its tasks. */
void
worker_process_end(WorkerProcess *process, const char *reason)
{
	set_state(process, WORKER_ENDING);
	worker_input_close(&process->tasks.input);
	process->reason = pstrdup(reason);
	spawn_stop(process->child, process->setup->config->grace_us);
}

void
worker_process_retire_idle(WorkerProcess *process)
{
	if (!process->is_retiring || !worker_process_is_up(process) || worker_process_load(process) > 0)
		return;
	flights_forget_worker(process->tasks.flights);
	worker_process_end(process, "worker is being replaced");
}

/* ---- tasks ---- */

void
worker_process_watch_stops(WorkerProcess *process)
{
	int64		until_us;

	if (process->state != WORKER_RUNNING)
		return;
	if (flights_next_stop(process->tasks.flights, &until_us))
		loop_timer_start(process->timer, until_us - loop_now_us(process->setup->loop));
	else
		loop_timer_stop(process->timer);
}

bool
worker_process_has_room(const WorkerProcess *process)
{
	return process->state == WORKER_RUNNING && !process->is_retiring &&
		worker_tasks_have_room(&process->tasks);
}

int
worker_process_load(const WorkerProcess *process)
{
	return worker_tasks_count(&process->tasks);
}

void
worker_process_give(WorkerProcess *process, Task *task, int64 incarnation)
{
	task->run = process;
	worker_tasks_give(&process->tasks, task, incarnation);
}

void
worker_process_greet(WorkerProcess *process)
{
	if (!worker_process_is_up(process))
		return;
	appendStringInfo(&process->tasks.input.lines.bytes, "%s\n", process->setup->config->hello);
	loop_want_turn(process->setup->loop);
}

void
worker_process_ask(WorkerProcess *process, Task *task, const char *why)
{
	if (worker_process_is_up(process))
		worker_tasks_ask(&process->tasks, task, why);
}

void
worker_process_stop(WorkerProcess *process, Task *task, const char *why)
{
	if (worker_process_is_up(process) && worker_tasks_stop(&process->tasks, task, why))
		worker_process_watch_stops(process);
}

/* ---- pipes ---- */

/* The process closed a pipe, so it should exit; the timer ends it otherwise. */
void
worker_process_expect_exit(void *arg)
{
	WorkerProcess *process = arg;

	if (process->state != WORKER_STARTING && process->state != WORKER_RUNNING)
		return;
	set_state(process, WORKER_LEAVING);
	loop_timer_start(process->timer, process->setup->config->grace_us);
}

/* A line that is half written cannot be taken back, so the process is ended. */
void
worker_process_begin(WorkerProcess *process, int64 incarnation)
{
	if (worker_process_is_up(process) && worker_input_is_of_another(&process->tasks.input, incarnation))
		worker_process_end(process, NODE_GONE);
}

static void
on_writable(void *arg, int ready)
{
	(void) ready;
	worker_process_flush(arg);
}

void
worker_process_flush(WorkerProcess *process)
{
	WorkerInput *input = &process->tasks.input;

	if (!worker_process_is_up(process))
		worker_input_hold(input);
	else if (worker_input_flush(input, process->setup->loop, on_writable, process) == LINES_CLOSED)
		worker_process_expect_exit(process);
}

/* The program works, as far as we can tell: it may have tasks. */
void
worker_process_begin_tasks(WorkerProcess *process)
{
	set_state(process, WORKER_RUNNING);
	helper_start_set_trouble(&process->start, TROUBLE_NONE, NULL);
	loop_want_turn(process->setup->loop);
}

/* ---- end ---- */

static void
reset_process(WorkerProcess *process)
{
	spawn_free(process->child);
	process->child = NULL;
	set_state(process, WORKER_DOWN);
	pfree(process->reason);
	process->reason = NULL;
	pfree(process->quote);
	process->quote = NULL;
	worker_input_reset(&process->tasks.input);
}

static void
schedule_restart(WorkerProcess *process)
{
	int64		now_us = loop_now_us(process->setup->loop);
	int64		delay_us = helper_start_delay(&process->start, now_us);

	if (process->is_retiring)
		delay_us = process->start.backoff_us = 0;
	process->is_retiring = false;
	loop_timer_start(process->timer, delay_us);
	loop_want_turn(process->setup->loop);
}

/*
 * Tasks without a reply fail; those that have not begun are given back.  Returns
 * whether any may have begun.
 */
static bool
fail_tasks(WorkerProcess *process, const char *message, int nlogged)
{
	int			n = worker_process_load(process);
	int			nreleased = worker_tasks_fail(&process->tasks, message, nlogged);

	if (nreleased > 0)
		log_line(TWT_LOG_WARN, "worker",
				 "%s[%d]: %.*s; tasks given back that had not begun: %d",
				 process->setup->config->argv[0], spawn_pid(process->child),
				 nlogged, message, nreleased);
	return nreleased < n;
}

/* A program that ends at once has seen no task, so its words may be told. */
static void
judge_start(WorkerProcess *process, StringInfo message)
{
	int			len;
	const char *last = helper_log_last(process->output.log, &len);

	if (process->is_retiring || process->is_ready || process->has_replied ||
		process->has_refused ||
		!helper_start_is_young(&process->start, loop_now_us(process->setup->loop)))
		return;
	if (len > 0)
	{
		appendStringInfoString(message, ": ");
		output_escape(message, last, len, SIZE_MAX);
	}
	helper_start_set_trouble(&process->start, TROUBLE_UNFIT, pstrdup(message->data));
}

/*
 * The process and all its descendants are gone.  A late failure of the start is the
 * same as an early one.
 */
static void
on_gone(WorkerProcess *process)
{
	StringInfoData message;
	SpawnFailure failure;
	bool		has_begun;
	int			nlogged;

	initStringInfo(&message);
	if (process->reason)
		appendStringInfoString(&message, process->reason);
	else
	{
		appendStringInfoString(&message, "worker ");
		spawn_describe_exit(process->child, &message);
	}
	nlogged = message.len;
	if (process->quote)
		appendStringInfo(&message, ": \"%s\"", process->quote);
	has_begun = fail_tasks(process, message.data, nlogged);
	if (spawn_never_ran(process->child, &failure))
		helper_start_fail(&process->start, &failure);
	else if (!has_begun)
		judge_start(process, &message);
	pfree(message.data);
	reset_process(process);
	schedule_restart(process);
}

static void
close_pipes(WorkerProcess *process)
{
	worker_input_close(&process->tasks.input);
	spawn_pipe_close(&process->pipes.out);
	spawn_pipe_close(&process->pipes.err);
}

static void
on_exited(void *arg)
{
	WorkerProcess *process = arg;

	helper_output_end(&process->output);
	set_state(process, WORKER_ENDING);
	close_pipes(process);
	on_gone(process);
}

/* ---- replacement ---- */

void
worker_process_retire(WorkerProcess *process)
{
	process->is_retiring = true;
	if (process->state == WORKER_DOWN)
		schedule_restart(process);
	worker_process_retire_idle(process);
}

int
worker_process_starts(const WorkerProcess *process)
{
	return process->start.count;
}

/* ---- start ---- */

static void
start_process(WorkerProcess *process)
{
	WorkerSetup *setup = process->setup;
	SpawnFailure failure;
	SpawnRequest request = {
		.argv = setup->config->argv,
		.directory = setup->config->directory,
		.wants_stdout = true,
		.is_awaited = true,
		.exited = on_exited,
		.arg = process
	};

	process->is_ready = process->has_replied = process->has_ignored = process->has_refused = false;
	helper_start_begin(&process->start, loop_now_us(setup->loop));
	process->child = spawn_start(setup->loop, &request, &process->pipes, &failure);
	if (process->child == NULL)
	{
		helper_start_fail(&process->start, &failure);
		schedule_restart(process);
		return;
	}
	set_state(process, WORKER_STARTING);
	helper_output_begin(&process->output, process->child);
	worker_process_greet(process);
	loop_timer_start(process->timer, LOOK_MIN_US);
}

/* No event tells that a pipe is read.  The pause grows with the age of the process. */
static void
look_at_start(WorkerProcess *process)
{
	HelperStart *start = &process->start;
	int64		age_us = loop_now_us(process->setup->loop) - start->last_us;

	if (worker_input_is_read(&process->tasks.input))
		worker_process_begin_tasks(process);
	else if (age_us >= GIVE_UP_US)
		worker_process_end(process, "worker did not read its first line");
	else
	{
		if (age_us >= SLOW_US && start->trouble == TROUBLE_NONE)
			helper_start_set_trouble(start, TROUBLE_UNFIT,
									 pstrdup("worker has not read its first line yet"));
		loop_timer_start(process->timer, Min(Max(age_us, LOOK_MIN_US), LOOK_MAX_US));
	}
}

static void
on_timer(void *arg)
{
	WorkerProcess *process = arg;

	if (process->state == WORKER_DOWN)
		start_process(process);
	else if (process->state == WORKER_STARTING)
		look_at_start(process);
	else if (process->state == WORKER_LEAVING)
		worker_process_end(process, "worker closed its pipes");
	else
		worker_process_end(process, OTHERS_DEADLINE);
}

WorkerProcess *
worker_process_new(WorkerSetup *setup)
{
	WorkerProcess *process = palloc0(sizeof(WorkerProcess));

	process->setup = setup;
	process->state = WORKER_DOWN;
	worker_tasks_init(&process->tasks, setup, &process->pipes.in);
	process->output.loop = setup->loop;
	process->output.pipes = &process->pipes;
	process->output.events = &worker_replies;
	process->output.arg = process;
	helper_output_init(&process->output, setup->config->argv[0]);
	process->timer = loop_timer_new(setup->loop, on_timer, process);
	start_process(process);
	return process;
}

const char *
worker_process_trouble(const WorkerProcess *process)
{
	return process->start.message;
}

bool
worker_process_is_unfit(const WorkerProcess *process)
{
	return process->start.trouble == TROUBLE_UNFIT;
}

void
worker_process_dismiss(WorkerProcess *process)
{
	if (process->child == NULL)
		return;
	worker_input_close(&process->tasks.input);
	worker_tasks_give_back(&process->tasks);
	spawn_stop(process->child, process->setup->config->grace_us);
}

void
worker_process_free(WorkerProcess *process, int patience_ms)
{
	if (process->child)
	{
		spawn_wait(process->child, patience_ms);
		close_pipes(process);
		spawn_free(process->child);
	}
	loop_timer_free(process->timer);
	worker_tasks_clear(&process->tasks);
	helper_output_clear(&process->output);
	pfree(process->reason);
	pfree(process->quote);
	pfree(process->start.message);
	loop_defer_free(process->setup->loop, process);
}
