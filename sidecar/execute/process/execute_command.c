/*-------------------------------------------------------------------------
 *
 * execute_command.c
 *		Handler mode "command": one process per task.
 *
 *		from: execute.h			to: spawn.h, execute.h (done)
 *
 * The task's data goes to stdin, its other facts to the environment.  stdout
 * is discarded; the end of stderr goes into the message of a failure.  The
 * exit status decides the verdict.
 *
 *	 a run is		until									and then
 *	 pending		its timer, as nothing was started		the verdict
 *	 running		the child exits							the verdict
 *	 stopped		the child exits							the verdict
 *
 * A child that has exited has left no process (spawn.h), so what is in the pipe of
 * its stderr is all.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <sysexits.h>
#include <unistd.h>

#include "options/statuses.h"
#include "base/output.h"
#include "process/spawn.h"
#include "execute/runner.h"
#include "execute/variables.h"
#include "base/trace.h"

#define READ_BYTES (64 * 1024)

/* A pipe that somebody else still writes to has no end; it never holds more. */
#define READS_MAX 32

/*
 * A task is given back when the machine is short of resources for its process.
 * It keeps its slot for this time, or it would come back at once.
 */
#define SHORTAGE_US SECONDS_TO_US(1)

/* Without another failure within this time, a shortage counts as over. */
#define SHORTAGE_OVER_US SECONDS_TO_US(5)

/* Variables for the facts of a task, plus the NULL. */
#define ENVIRONMENT_SIZE 10

struct Runner
{
	Loop	   *loop;
	const HandlerConfig *config;
	RunnerDone	done;
	void	   *done_arg;
	dlist_head	runs;
	char	   *trouble;		/* why the last start failed; NULL: it did not */
	int64		trouble_until_us;
	bool		is_draining;
};

typedef enum RunState
{
	RUN_PENDING,
	RUN_RUNNING,
	RUN_STOPPED
} RunState;

typedef struct Run
{
	dlist_node	node;
	Runner	   *runner;
	Task	   *task;
	RunState	state;
	Child	   *child;			/* NULL when pending */
	SpawnPipes	pipes;
	size_t		sent;			/* bytes of the task's data written so far */
	Output		errors;			/* the end of stderr */
	LoopTimer  *timer;
	TaskResult	result;
	char	   *reason;			/* why the run was stopped or not started */
	int64		delay_us;
} Run;

/* ---- verdict ---- */

static void
free_run(Run *run)
{
	spawn_pipe_close(&run->pipes.in);
	spawn_pipe_close(&run->pipes.err);
	if (run->child)
		spawn_free(run->child);
	loop_timer_free(run->timer);
	output_clear(&run->errors);
	pfree(run->reason);
	dlist_delete(&run->node);
	loop_defer_free(run->runner->loop, run);
}

/* The message of a failure: the reason or the exit, then stderr. */
static char *
make_message(const Run *run)
{
	StringInfoData message;
	StringInfoData errors;

	if (run->result == TASK_DONE || run->result == TASK_DELETE)
		return NULL;
	initStringInfo(&message);
	initStringInfo(&errors);
	if (run->reason)
		appendStringInfoString(&message, run->reason);
	else
	{
		appendStringInfoString(&message, "handler ");
		spawn_describe_exit(run->child, &message);
	}
	output_append(&run->errors, &errors);
	if (errors.len > 0)
		appendStringInfo(&message, ": %s", errors.data);
	pfree(errors.data);
	return message.data;
}

static void
report(Run *run)
{
	Runner	   *runner = run->runner;
	Task	   *task = run->task;
	char	   *message = make_message(run);
	Verdict		verdict = {run->result, run->delay_us, message};

	free_run(run);
	runner->done(runner->done_arg, task, &verdict);
	pfree(message);
}

static void
on_timer(void *arg)
{
	report(arg);
}

static TaskResult
judge_exit(const Child *child, char *const *statuses)
{
	TaskResult	result;

	if (statuses_find(statuses, spawn_exit_status(child), &result))
		return result;
	switch (spawn_exit_status(child))
	{
		case EX_OK:
			return TASK_DONE;
		case EX_TEMPFAIL:
			return TASK_RETRY;
		case EX_DATAERR:
			return TASK_ERROR;
		default:
			return TASK_FAILURE;
	}
}

/* ---- pipes ---- */

/* Reads one block; false when there is none now. */
static bool
read_errors(Run *run)
{
	static char block[READ_BYTES];
	ssize_t		n = read(run->pipes.err.fd, block, sizeof(block));

	if (n > 0)
		output_add(&run->errors, block, n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&run->pipes.err);
	return n > 0;
}

static void
on_stderr(void *arg, int ready)
{
	(void) ready;
	read_errors(arg);
}

/* A handler may close stdin without reading all of its data. */
static void
send_data(Run *run)
{
	Task	   *task = run->task;
	ssize_t		n = 0;

	if (run->sent < task->data_len)
		n = write(run->pipes.in.fd, task->data + run->sent,
				  task->data_len - run->sent);
	if (n > 0)
		run->sent += n;
	if (run->sent == task->data_len ||
		(n < 0 && errno != EAGAIN && errno != EINTR))
		spawn_pipe_close(&run->pipes.in);
}

static void
on_stdin(void *arg, int ready)
{
	(void) ready;
	send_data(arg);
}

/* ---- exit ---- */

static void
set_trouble(Runner *runner, char *trouble, int64 until_us)
{
	pfree(runner->trouble);
	runner->trouble = trouble;
	runner->trouble_until_us = until_us;
}

static void
not_started(Run *run, const SpawnFailure *failure)
{
	if (failure->is_temporary || failure->is_unfit)
		set_trouble(run->runner, pstrdup(failure->message), failure->is_unfit ? PG_INT64_MAX :
					loop_now_us(run->runner->loop) + SHORTAGE_OVER_US);
	run->state = RUN_PENDING;
	run->result = failure->is_temporary || failure->is_unfit ? TASK_RELEASE : TASK_RETRY;
	run->delay_us = failure->is_unfit ? TASK_DELAY_UNFIT : TASK_DELAY_BY_POLICY;
	pfree(run->reason);
	run->reason = failure->message;
	loop_timer_start(run->timer, failure->is_temporary && !run->runner->is_draining ?
					 SHORTAGE_US : 0);
}

/* A late failure of the start is the same as an early one. */
static void
on_exited(void *arg)
{
	Run		   *run = arg;
	SpawnFailure failure;

	if (spawn_never_ran(run->child, &failure))
	{
		not_started(run, &failure);
		return;
	}
	for (int i = 0; i < READS_MAX && run->pipes.err.fd >= 0; i++)
		if (!read_errors(run))
			break;
	if (run->state == RUN_RUNNING)
		run->result = judge_exit(run->child, run->runner->config->statuses);
	report(run);
}

/* ---- start ---- */

static void
add_fact(char ***next, const char *name, const char *value)
{
	if (value)
		*(*next)++ = psprintf("TWTASKS_%s=%s", name, value);
}

/* Uses the names that tracing libraries look for. */
static void
add_trace(char ***next, const Task *task)
{
	Trace		trace;

	trace_init(&trace, task->context);
	if (trace.parent != NULL)
		*(*next)++ = psprintf("TRACEPARENT=%s", trace.parent);
	if (trace.state != NULL)
		*(*next)++ = psprintf("TRACESTATE=%s", trace.state);
	trace_clear(&trace);
}

/* environment has room for ENVIRONMENT_SIZE entries. */
static void
make_environment(const Task *task, char **environment)
{
	char		version[32];
	char		tries[32];

	snprintf(version, sizeof(version), INT64_FORMAT, task->version);
	snprintf(tries, sizeof(tries), "%d", task->tries);
	add_fact(&environment, "ID", task->id_text);
	add_fact(&environment, "VERSION", version);
	add_fact(&environment, "TYPE", task->type);
	add_fact(&environment, "SUB_TYPE", task->sub_type);
	add_fact(&environment, "TRIES", tries);
	add_fact(&environment, "DEADLINE", task->deadline_text);
	add_fact(&environment, "CONTEXT", task->context);
	add_trace(&environment, task);
	*environment = NULL;
}

static void
spawn_run(Run *run, char **environment, SpawnFailure *failure)
{
	SpawnRequest request = {
		.argv = run->runner->config->argv,
		.directory = run->runner->config->directory,
		.environment = environment,
		.variables = run->runner->config->variables,
		.wants_stdout = false,
		.is_awaited = run->runner->trouble != NULL,
		.exited = on_exited,
		.arg = run
	};

	run->child = spawn_start(run->runner->loop, &request, &run->pipes, failure);
}

static void
started(Run *run)
{
	Loop	   *loop = run->runner->loop;

	set_trouble(run->runner, NULL, 0);
	run->state = RUN_RUNNING;
	spawn_pipe_watch(&run->pipes.err, loop, LOOP_READ, on_stderr, run);
	send_data(run);
	if (run->pipes.in.fd >= 0)
		spawn_pipe_watch(&run->pipes.in, loop, LOOP_WRITE, on_stdin, run);
}

/*
 * The kernel refuses a longer environment entry at every attempt, so a retry
 * is useless.  NULL: the context fits.
 */
static char *
refuse_context(const Task *task)
{
	size_t		most = 32 * sysconf(_SC_PAGESIZE) - sizeof("TWTASKS_CONTEXT=");

	if (task->context == NULL || strlen(task->context) <= most)
		return NULL;
	return psprintf("its context of %zu bytes is too large for a command, "
					"which takes at most %zu", strlen(task->context), most);
}

static void
command_start(Runner *runner, Task *task)
{
	char	   *environment[ENVIRONMENT_SIZE];
	char	  **entry;
	SpawnFailure failure;
	Run		   *run = palloc0(sizeof(Run));

	task->run = run;
	run->runner = runner;
	run->task = task;
	run->timer = loop_timer_new(runner->loop, on_timer, run);
	run->delay_us = TASK_DELAY_BY_POLICY;
	output_init(&run->errors, runner->config->max_output);
	dlist_push_tail(&runner->runs, &run->node);

	run->reason = refuse_context(task);
	if (run->reason != NULL)
	{
		run->state = RUN_PENDING;
		run->result = TASK_ERROR;
		loop_timer_start(run->timer, 0);
		return;
	}
	make_environment(task, environment);
	spawn_run(run, environment, &failure);
	if (run->child)
		started(run);
	else
		not_started(run, &failure);
	for (entry = environment; *entry; entry++)
		pfree(*entry);
}

/* ---- the runner ---- */

static Runner *
command_open(const RunnerParts *parts, const HandlerConfig *config, RunnerDone done, void *done_arg)
{
	Runner	   *runner = palloc0(sizeof(Runner));

	runner->loop = parts->loop;
	runner->config = config;
	runner->done = done;
	runner->done_arg = done_arg;
	dlist_init(&runner->runs);
	return runner;
}

/* Running tasks end as they began, since the other options need a restart. */
static void
command_reload(Runner *runner, const HandlerConfig *config)
{
	runner->config = config;
}

/*
 * The exit status of a handler that exited in time counts, even while processes that
 * it has left are dying.  The signal wakes a supervisor that somebody has stopped.
 */
static void
command_stop_task(Runner *runner, Task *task, const char *why)
{
	Run		   *run = task->run;

	if (run->state == RUN_PENDING)
		loop_timer_start(run->timer, 0);
	if (run->state != RUN_RUNNING)
		return;
	if (spawn_has_ended(run->child))
	{
		spawn_kill(run->child);
		return;
	}
	run->state = RUN_STOPPED;
	run->result = TASK_FAILURE;
	run->reason = pstrdup(why);
	spawn_stop(run->child, runner->config->grace_us);
}

static const char *
command_trouble(const Runner *runner)
{
	return loop_now_us(runner->loop) < runner->trouble_until_us ? runner->trouble : NULL;
}

static void
command_give_back(Runner *runner)
{
	dlist_iter	iter;

	runner->is_draining = true;
	dlist_foreach(iter, &runner->runs)
	{
		const Run  *run = dlist_container(Run, node, iter.cur);

		if (run->state == RUN_PENDING)
			loop_timer_start(run->timer, 0);
	}
}

/* All are asked before the first is waited for. */
static void
command_close(Runner *runner)
{
	dlist_iter	iter;

	dlist_foreach(iter, &runner->runs)
	{
		const Run  *run = dlist_container(Run, node, iter.cur);

		if (run->state != RUN_PENDING)
			spawn_kill(run->child);
	}
	while (!dlist_is_empty(&runner->runs))
	{
		Run		   *run = dlist_head_element(Run, node, &runner->runs);

		if (run->state == RUN_PENDING)
			report(run);
		else
			free_run(run);
	}
	pfree(runner->trouble);
	loop_defer_free(runner->loop, runner);
}

static bool
command_settle(void *target, const Place *place)
{
	return handler_settle_statuses(target, place, 0, 255) && handler_settle_argv(target, place) &&
		variables_settle(target, place);
}

static const Option options[] = {
	HANDLER_ARGV("command", "program and arguments, one process for each task"),
	HANDLER_STATUSES,
	HANDLER_ENV,
	HANDLER_DIRECTORY,
	HANDLER_CONCURRENCY("10", ""),
	HANDLER_GRACE,
	HANDLER_MAX_OUTPUT,
};

const HandlerKind handler_command = {
	.options = {options, lengthof(options), sizeof(HandlerConfig), command_settle, variables_release},
	.open = command_open,
	.reload = command_reload,
	.start = command_start,
	.stop_task = command_stop_task,
	.trouble = command_trouble,
	.give_back = command_give_back,
	.close = command_close
};
