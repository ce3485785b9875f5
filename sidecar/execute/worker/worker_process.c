/*-------------------------------------------------------------------------
 *
 * worker_process.c
 *		One long-lived process of a worker handler, and its tasks in flight.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "execute/worker/worker_output.h"
#include "execute/worker/worker_process.h"
#include "execute/worker/worker_start.h"

#define NODE_GONE "worker was stopped because its node was declared gone"
#define OTHERS_DEADLINE "worker was stopped because another task passed its deadline"

/* A leaving process has closed a pipe: it gets no more tasks and should exit. */
typedef enum WorkerState
{
	WORKER_DOWN,
	WORKER_RUNNING,
	WORKER_LEAVING,
	WORKER_ENDING
} WorkerState;

struct WorkerProcess
{
	WorkerSetup *setup;
	WorkerState state;
	Child	   *child;			/* NULL when down */
	SpawnPipes	pipes;
	bool		is_ready;		/* the process accepted its hello */
	bool		has_replied;	/* with a word on a task: it works */
	bool		is_retiring;	/* gets no more tasks, and ends when idle */
	bool		has_ignored;	/* a line, and logged it */
	char	   *reason;			/* why we end the process; NULL: it exits by
								 * itself */
	char	   *quote;			/* its faulty line, for the tasks only; or
								 * NULL */
	WorkerStart start;
	WorkerTasks tasks;
	WorkerOutput output;
	LoopTimer  *timer;			/* down: the restart; running: the first task
								 * that must have stopped; leaving: the time
								 * limit for its exit */
};

/* Stops the timer, which belongs to the old state. */
static void
set_state(WorkerProcess *process, WorkerState state)
{
	process->state = state;
	loop_timer_stop(process->timer);
}

/* Whether the process can take input. */
static bool
is_up(const WorkerProcess *process)
{
	return process->state == WORKER_RUNNING || process->state == WORKER_LEAVING;
}

/* Ends the process.  The reason becomes the message of its tasks. */
static void
end_process(WorkerProcess *process, const char *reason)
{
	set_state(process, WORKER_ENDING);
	process->reason = pstrdup(reason);
	spawn_stop(process->child, process->setup->config->grace_us);
}

static void
retire_when_idle(WorkerProcess *process)
{
	if (!process->is_retiring || !is_up(process) || worker_process_load(process) > 0)
		return;
	flights_forget_worker(process->tasks.flights);
	spawn_pipe_close(&process->pipes.in);
	end_process(process, "worker is being replaced");
}

/* ---- tasks ---- */

static void
watch_stops(WorkerProcess *process)
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
	if (!is_up(process))
		return;
	appendStringInfo(&process->tasks.input.lines.bytes, "%s\n", process->setup->config->hello);
	loop_want_turn(process->setup->loop);
}

void
worker_process_ask(WorkerProcess *process, Task *task, const char *why)
{
	if (is_up(process))
		worker_tasks_ask(&process->tasks, task, why);
}

void
worker_process_stop(WorkerProcess *process, Task *task, const char *why)
{
	if (is_up(process) && worker_tasks_stop(&process->tasks, task, why))
		watch_stops(process);
}

/* ---- pipes ---- */

/* The process closed a pipe, so it should exit; the timer ends it otherwise. */
static void
expect_exit(void *arg)
{
	WorkerProcess *process = arg;

	if (process->state != WORKER_RUNNING)
		return;
	set_state(process, WORKER_LEAVING);
	loop_timer_start(process->timer, process->setup->config->grace_us);
}

/* A line that is half written cannot be taken back, so the process is ended. */
void
worker_process_begin(WorkerProcess *process, int64 incarnation)
{
	if (is_up(process) && worker_input_is_of_another(&process->tasks.input, incarnation))
		end_process(process, NODE_GONE);
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

	if (!is_up(process))
		worker_input_hold(input);
	else if (worker_input_flush(input, process->setup->loop, on_writable, process) == LINES_CLOSED)
		expect_exit(process);
}

/* ---- replies ---- */

/*
 * The quote may have data of a task, so it goes to the tasks but not to the
 * log.
 */
static void
on_fault(void *arg, const char *what, char *quote)
{
	WorkerProcess *process = arg;
	char	   *reason;

	if (!is_up(process))
	{
		pfree(quote);
		return;
	}
	reason = psprintf("worker broke the protocol: %s", what);
	log_line(TWT_LOG_WARN, "worker", "%s[%d]: %s",
			 process->setup->config->argv[0], spawn_pid(process->child), reason);
	process->quote = quote;
	end_process(process, reason);
	pfree(reason);
}

/* A worker may refuse reloaded settings.  Then its old settings stay. */
static void
refuse_hello(WorkerProcess *process, const char *message)
{
	char	   *reason = psprintf("worker refused its settings: %s", message);

	log_line(TWT_LOG_ERROR, "worker", "%s[%d]: %s", process->setup->config->argv[0],
			 spawn_pid(process->child), reason);
	if (!process->is_ready)
	{
		worker_start_set_trouble(&process->start, TROUBLE_UNFIT, pstrdup(reason));
		end_process(process, reason);
	}
	pfree(reason);
}

/* Such a line may stand for a task that now waits until its deadline. */
static void
ignore_line(WorkerProcess *process, const char *why)
{
	if (!process->has_ignored)
		log_line(TWT_LOG_WARN, "worker", "%s[%d]: ignores a line that is not a reply: %s",
				 process->setup->config->argv[0], spawn_pid(process->child), why);
	process->has_ignored = true;
}

static void
take_reply(WorkerProcess *process, const WorkerReply *reply)
{
	WorkerTasksReply what = worker_tasks_reply(&process->tasks, reply);

	process->has_replied |= what != WORKER_REPLY_STRAY;
	switch (what)
	{
		case WORKER_REPLY_STRAY:
			ignore_line(process, "it names a task that is not in flight");
			break;
		case WORKER_REPLY_BEGUN:
			break;
		case WORKER_REPLY_FINISHED:
			process->start.is_useful = true;
			watch_stops(process);
			retire_when_idle(process);
			break;
	}
}

static void
on_reply(void *arg, const WorkerReply *reply)
{
	WorkerProcess *process = arg;

	if (!is_up(process))
		worker_tasks_last_reply(&process->tasks, reply);
	else if (reply->word == WORKER_READY)
		process->is_ready = true;
	else if (reply->word == WORKER_REFUSED && (process->is_ready || !process->has_replied))
		refuse_hello(process, reply->message);
	else if (reply->word == WORKER_REFUSED || reply->word == WORKER_STRANGE)
		ignore_line(process, reply->word == WORKER_STRANGE ? reply->message : "it has an error but no task");
	else
		take_reply(process, reply);
}

static const WorkerOutputEvents output_events = {on_reply, on_fault, expect_exit};

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
	int64		delay_us = worker_start_delay(&process->start, now_us);

	if (process->is_retiring)
		delay_us = process->start.backoff_us = 0;
	process->is_retiring = false;
	loop_timer_start(process->timer, delay_us);
	loop_want_turn(process->setup->loop);
}

/* Tasks without a reply fail; those that have not begun are given back. */
static void
fail_tasks(WorkerProcess *process, const char *message, int nlogged)
{
	int			nreleased = process->start.trouble == TROUBLE_UNFIT ?
		worker_tasks_give_back(&process->tasks) :
		worker_tasks_fail(&process->tasks, message, nlogged);

	if (nreleased > 0)
		log_line(TWT_LOG_WARN, "worker",
				 "%s[%d]: %.*s; tasks given back that had not begun: %d",
				 process->setup->config->argv[0], spawn_pid(process->child),
				 nlogged, message, nreleased);
}

/* The process and all its descendants are gone. */
static void
on_gone(void *arg)
{
	WorkerProcess *process = arg;
	StringInfoData message;
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
	fail_tasks(process, message.data, nlogged);
	pfree(message.data);
	reset_process(process);
	schedule_restart(process);
}

static void
close_pipes(WorkerProcess *process)
{
	spawn_pipe_close(&process->pipes.in);
	spawn_pipe_close(&process->pipes.out);
	spawn_pipe_close(&process->pipes.err);
}

static void
on_exited(void *arg)
{
	WorkerProcess *process = arg;
	bool		was_ended;

	worker_output_end(&process->output);
	was_ended = process->state == WORKER_ENDING;
	set_state(process, WORKER_ENDING);
	close_pipes(process);
	if (was_ended)
		leftovers_kill(process->setup->leftovers, spawn_token(process->child), on_gone, process);
	else
		on_gone(process);
}

/* ---- replacement ---- */

void
worker_process_retire(WorkerProcess *process)
{
	process->is_retiring = true;
	if (process->state == WORKER_DOWN)
		schedule_restart(process);
	retire_when_idle(process);
}

int
worker_process_starts(const WorkerProcess *process)
{
	return process->start.count;
}

bool
worker_process_runs(const WorkerProcess *process)
{
	return is_up(process);
}

/* ---- start ---- */

/* Logs a failure once for all processes of the handler; NULL: no failure. */
static void
say_once(WorkerSetup *setup, const char *message)
{
	if (message && (setup->said == NULL || strcmp(setup->said, message) != 0))
		log_line(TWT_LOG_WARN, "worker", "%s", message);
	pfree(setup->said);
	setup->said = message ? pstrdup(message) : NULL;
}

static void
start_process(WorkerProcess *process)
{
	WorkerSetup *setup = process->setup;
	SpawnFailure failure;
	SpawnRequest request = {
		.argv = setup->config->argv,
		.directory = setup->config->directory,
		.wants_stdout = true,
		.exited = on_exited,
		.arg = process
	};

	process->is_ready = process->has_replied = process->has_ignored = false;
	worker_start_begin(&process->start, loop_now_us(setup->loop));
	process->child = spawn_start(setup->loop, &request, &process->pipes, &failure);
	if (process->child == NULL)
	{
		say_once(setup, failure.message);
		worker_start_fail(&process->start, &failure);
		schedule_restart(process);
		return;
	}
	say_once(setup, NULL);
	worker_start_set_trouble(&process->start, TROUBLE_NONE, NULL);
	set_state(process, WORKER_RUNNING);
	worker_output_begin(&process->output, spawn_pid(process->child));
	worker_process_greet(process);
}

static void
on_timer(void *arg)
{
	WorkerProcess *process = arg;

	if (process->state == WORKER_DOWN)
		start_process(process);
	else if (process->state == WORKER_LEAVING)
		end_process(process, "worker closed its pipes");
	else
		end_process(process, OTHERS_DEADLINE);
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
	process->output.events = &output_events;
	process->output.arg = process;
	worker_output_init(&process->output, setup->config->argv[0]);
	process->timer = loop_timer_new(setup->loop, on_timer, process);
	start_process(process);
	return process;
}

const char *
worker_process_trouble(const WorkerProcess *process)
{
	return process->start.trouble == TROUBLE_SHORTAGE ? NULL : process->start.message;
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
	spawn_pipe_close(&process->pipes.in);
	spawn_stop(process->child, process->setup->config->grace_us);
}

void
worker_process_free(WorkerProcess *process, int patience_ms)
{
	if (process->child)
	{
		spawn_wait(process->child, patience_ms);
		if (!spawn_has_exited(process->child))
			leftovers_kill(process->setup->leftovers,
						   spawn_token(process->child), NULL, NULL);
		close_pipes(process);
		spawn_free(process->child);
	}
	loop_timer_free(process->timer);
	worker_tasks_clear(&process->tasks);
	worker_output_clear(&process->output);
	pfree(process->reason);
	pfree(process->quote);
	pfree(process->start.message);
	loop_defer_free(process->setup->loop, process);
}
