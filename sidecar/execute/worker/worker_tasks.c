/*-------------------------------------------------------------------------
 *
 * worker_tasks.c
 *		The tasks of one worker process, from their line to their verdict.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/worker/worker_tasks.h"
#include "node/task_clock.h"

/* No more tasks are given while this many bytes wait to be written. */
#define UNWRITTEN_MAX (1024 * 1024)

static const Verdict released = {TASK_RELEASE, 0, NULL};

static int64
now(const WorkerTasks *tasks)
{
	return loop_now_us(tasks->setup->loop);
}

static void
report(const WorkerTasks *tasks, Task *task, const Verdict *verdict)
{
	tasks->setup->done(tasks->setup->done_arg, task, verdict);
}

void
worker_tasks_init(WorkerTasks *tasks, const WorkerSetup *setup, SpawnPipe *pipe)
{
	tasks->setup = setup;
	tasks->flights = flights_new();
	line_writer_init(&tasks->input.lines);
	tasks->input.pipe = pipe;
	tasks->input.gate = setup->gate;
}

void
worker_tasks_clear(WorkerTasks *tasks)
{
	flights_free(tasks->flights);
	line_writer_clear(&tasks->input.lines);
}

bool
worker_tasks_have_room(const WorkerTasks *tasks)
{
	return worker_tasks_count(tasks) < tasks->setup->config->prefetch &&
		lines_unwritten(&tasks->input.lines) < UNWRITTEN_MAX;
}

int
worker_tasks_count(const WorkerTasks *tasks)
{
	return flights_count(tasks->flights);
}

void
worker_tasks_give(WorkerTasks *tasks, Task *task, int64 incarnation)
{
	const RunnerGate *gate = tasks->setup->gate;
	LineWriter *lines = &tasks->input.lines;

	tasks->input.given_under = incarnation;
	flights_add(tasks->flights, task, lines_position(lines), now(tasks));
	worker_protocol_encode(&lines->bytes, task, gate->until_us(gate->arg));
}

void
worker_tasks_ask(WorkerTasks *tasks, const Task *task, const char *why)
{
	worker_protocol_encode_cancel(&tasks->input.lines.bytes, task, why);
	loop_want_turn(tasks->setup->loop);
}

bool
worker_tasks_stop(WorkerTasks *tasks, Task *task, const char *why)
{
	if (!flights_stop(tasks->flights, task, why, now(tasks) + tasks->setup->config->grace_us))
		return false;
	worker_tasks_ask(tasks, task, why);
	return true;
}

static void
finish(WorkerTasks *tasks, Task *task, const WorkerReply *reply)
{
	Verdict		verdict = {reply->result, reply->delay_us, reply->message, .outcome = reply->outcome, .add = reply->add};
	char	   *why = flights_remove(tasks->flights, task);

	flights_go_on(tasks->flights, now(tasks));
	if (reply->result == TASK_RELEASE)
		verdict.delay_us = Max(reply->delay_us, 0);
	if (reply->at_us != WORKER_NO_TIME)
		verdict.delay_us = Max(reply->at_us - task_clock_us(), 0);
	if (reply->result == TASK_CANCELLED && reply->message == NULL)
		verdict.message = why;
	report(tasks, task, &verdict);
	pfree(why);
}

WorkerTasksReply
worker_tasks_reply(WorkerTasks *tasks, const WorkerReply *reply)
{
	Task	   *task = flights_find(tasks->flights, reply->id, reply->version);

	if (task == NULL)
		return WORKER_REPLY_STRAY;
	if (reply->word == WORKER_STARTED)
	{
		flights_take_up(tasks->flights, task, now(tasks));
		return WORKER_REPLY_BEGUN;
	}
	finish(tasks, task, reply);
	return WORKER_REPLY_FINISHED;
}

void
worker_tasks_last_reply(WorkerTasks *tasks, const WorkerReply *reply)
{
	Task	   *task = flights_find(tasks->flights, reply->id, reply->version);

	if (reply->word == WORKER_STARTED && task != NULL)
		flights_take_up(tasks->flights, task, now(tasks));
}

/* Bytes that were written, whether the process has read them or not. */
static int64
written(const WorkerTasks *tasks)
{
	return tasks->input.lines.sent + tasks->input.taken_back;
}

int
worker_tasks_fail(WorkerTasks *tasks, const char *message, int nlogged)
{
	Task	   *task;
	int			nreleased = 0;

	while ((task = flights_first(tasks->flights)) != NULL)
	{
		bool		is_read = flights_may_have_run(tasks->flights, task, tasks->input.lines.sent);
		bool		is_written = flights_may_have_run(tasks->flights, task, written(tasks));
		char	   *why = flights_remove(tasks->flights, task);
		bool		has_run = why != NULL ? is_written : is_read;
		Verdict		failed = {
			TASK_FAILURE, 0, why != NULL ? why : message, .nlogged = why != NULL ? 0 : nlogged
		};

		report(tasks, task, has_run ? &failed : &released);
		nreleased += !has_run;
		pfree(why);
	}
	return nreleased;
}

void
worker_tasks_give_back(WorkerTasks *tasks)
{
	Task	   *task;

	while ((task = flights_last(tasks->flights)) != NULL &&
		   !flights_was_sent(tasks->flights, task, tasks->input.lines.sent))
	{
		pfree(flights_remove(tasks->flights, task));
		report(tasks, task, &released);
	}
}
