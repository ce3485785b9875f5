/*-------------------------------------------------------------------------
 *
 * execute_worker.c
 *		Handlers with long-lived processes, which have many tasks in flight.
 *
 *		from: execute.h			to: worker_process.h, execute.h (done)
 *
 * Tasks wait here in order of arrival until a process has room; the process
 * with the fewest tasks in flight gets the next line.  Tasks are handed out and
 * written at the end of a turn, so that tasks of one turn go in one write.  No
 * task is handed out while the gate is closed.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "execute/runner.h"
#include "execute/variables.h"
#include "execute/worker/execute_worker.h"
#include "execute/worker/worker_process.h"

/* The time that all idle processes of a closed runner have to exit. */
#define DISMISS_US MS_TO_US(200)

/* If a new process exits within this time, the others are not replaced. */
#define TRIAL_US SECONDS_TO_US(1)

struct Runner
{
	WorkerSetup setup;
	WorkerProcess **processes;
	int			nprocesses;
	dlist_head	waiting;		/* wait for a process with room; run is NULL */
	dlist_head	stopped;		/* stopped while they waited; run is the
								 * runner */
	int			replaced;		/* the process being replaced, or replaced
								 * last */
	int			nleft;			/* processes to replace after it */
	int			starts;			/* starts of that process before its
								 * replacement; -1: no replacement */
	LoopTimer  *trial;			/* until the new process has proved itself */
	bool		is_draining;	/* no task may wait for a process */
};

static WorkerProcess *
choose_process(Runner *runner)
{
	WorkerProcess *best = NULL;
	int			i;

	for (i = 0; i < runner->nprocesses; i++)
	{
		WorkerProcess *process = runner->processes[i];

		if (worker_process_has_room(process) &&
			(best == NULL ||
			 worker_process_load(process) < worker_process_load(best)))
			best = process;
	}
	return best;
}

/* Why none of the processes can be started; NULL: at least one can. */
static const char *
find_trouble(const Runner *runner, bool is_unfit)
{
	const char *trouble = NULL;

	for (int i = 0; i < runner->nprocesses; i++)
	{
		trouble = worker_process_trouble(runner->processes[i], is_unfit);
		if (trouble == NULL)
			return NULL;
	}
	return trouble;
}

static const Verdict released = {TASK_RELEASE, 0, NULL};

/* Reports all tasks of a list; tasks added meanwhile stay in the list. */
static void
report_all(Runner *runner, dlist_head *tasks, const Verdict *verdict)
{
	dlist_node *last;
	dlist_node *node;

	if (dlist_is_empty(tasks))
		return;
	last = dlist_tail_node(tasks);
	do
	{
		node = dlist_pop_head_node(tasks);
		runner->setup.done(runner->setup.done_arg,
						   dlist_container(Task, node, node), verdict);
	} while (node != last);
}

static void
hand_out(Runner *runner)
{
	const RunnerGate *gate = runner->setup.gate;
	int64		incarnation = gate->incarnation(gate->arg);
	WorkerProcess *process;

	if (incarnation == 0)
		return;
	for (int i = 0; i < runner->nprocesses; i++)
		worker_process_begin(runner->processes[i], incarnation);
	while (!dlist_is_empty(&runner->waiting) &&
		   (process = choose_process(runner)))
		worker_process_give(process, &runner->waiting, incarnation);
}

/* ---- replacement, one process after the other ---- */

static void
replace_next(Runner *runner)
{
	WorkerProcess *process;

	runner->starts = -1;
	if (runner->nleft == 0)
	{
		log_line(TWT_LOG_INFO, "worker", "%s: all processes are replaced",
				 runner->setup.config->argv[0]);
		return;
	}
	runner->nleft--;
	runner->replaced = (runner->replaced + 1) % runner->nprocesses;
	process = runner->processes[runner->replaced];
	runner->starts = worker_process_starts(process);
	worker_process_retire(process);
}

/* Replaces the next process if the new one still runs; otherwise stops. */
static void
on_trial(void *arg)
{
	Runner	   *runner = arg;
	const WorkerProcess *process = runner->processes[runner->replaced];

	if (worker_process_is_up(process) &&
		worker_process_starts(process) == runner->starts + 1)
	{
		replace_next(runner);
		return;
	}
	log_line(TWT_LOG_ERROR, "worker",
			 "%s: a new process ended at once, so the others are not replaced",
			 runner->setup.config->argv[0]);
	runner->starts = -1;
	runner->nleft = 0;
}

static void
watch_replacement(Runner *runner)
{
	if (runner->starts >= 0 && !loop_timer_active(runner->trial) &&
		worker_process_starts(runner->processes[runner->replaced]) > runner->starts)
		loop_timer_start(runner->trial, TRIAL_US);
}

/* Replaces all processes: only a new process gets the new settings. */
static void
worker_reload(Runner *runner, const HandlerConfig *config)
{
	runner->setup.config = config;
	runner->nleft = runner->nprocesses;
	if (runner->starts < 0)
		replace_next(runner);
}

static void
on_turn(void *arg)
{
	Runner	   *runner = arg;
	const RunnerGate *gate = runner->setup.gate;
	Verdict		unfit = {TASK_RELEASE, TASK_DELAY_UNFIT, NULL};
	int			i;

	report_all(runner, &runner->stopped, &released);
	hand_out(runner);
	unfit.message = find_trouble(runner, true);
	if (unfit.message != NULL)
		report_all(runner, &runner->waiting, &unfit);
	else if (runner->is_draining || gate->is_shut(gate->arg))
		report_all(runner, &runner->waiting, &released);
	for (i = 0; i < runner->nprocesses; i++)
		worker_process_flush(runner->processes[i]);
	watch_replacement(runner);
}

Runner *
worker_open(const RunnerParts *parts, const HandlerConfig *config, RunnerDone done, void *done_arg)
{
	Loop	   *loop = parts->loop;
	Runner	   *runner = palloc0(sizeof(Runner));

	runner->setup.loop = loop;
	runner->setup.config = config;
	runner->setup.gate = &parts->gate;
	runner->setup.metrics = parts->metrics;
	runner->setup.progress = parts->progress;
	runner->setup.clock = parts->clock;
	runner->setup.done = done;
	runner->setup.done_arg = done_arg;
	runner->setup.crashes = crashes_new();
	dlist_init(&runner->waiting);
	dlist_init(&runner->stopped);

	runner->processes = palloc(config->processes * sizeof(WorkerProcess *));
	while (runner->nprocesses < config->processes)
		runner->processes[runner->nprocesses++] =
			worker_process_new(&runner->setup);
	runner->starts = -1;
	runner->trial = loop_timer_new(loop, on_trial, runner);
	loop_on_turn(loop, on_turn, runner);
	return runner;
}

/* A bundled worker accepts new settings while it runs. */
void
worker_greet(Runner *runner, const HandlerConfig *config)
{
	runner->setup.config = config;
	for (int i = 0; i < runner->nprocesses; i++)
		worker_process_greet(runner->processes[i]);
}

void
worker_start(Runner *runner, Task *task)
{
	task->run = NULL;
	dlist_push_tail(&runner->waiting, &task->node);
	loop_want_turn(runner->setup.loop);
}

/* No process has the task yet: keeps it from all processes. */
static void
keep_back(Runner *runner, Task *task)
{
	dlist_delete(&task->node);
	dlist_push_tail(&runner->stopped, &task->node);
	task->run = runner;
	loop_want_turn(runner->setup.loop);
}

void
worker_stop_task(Runner *runner, Task *task, const char *why)
{
	if (task->run == NULL)
		keep_back(runner, task);
	else if (task->run != runner)
		worker_process_stop(task->run, task, why);
}

void
worker_cancel_task(Runner *runner, Task *task, const char *why)
{
	if (task->run == NULL)
		keep_back(runner, task);
	else if (task->run != runner)
		worker_process_ask(task->run, task, why);
}

const char *
worker_trouble(const Runner *runner)
{
	return find_trouble(runner, false);
}

const char *
worker_crashes(const Runner *runner)
{
	return crashes_text(runner->setup.crashes, loop_now_us(runner->setup.loop));
}

void
worker_give_back(Runner *runner)
{
	runner->is_draining = true;
	loop_want_turn(runner->setup.loop);
}

void
worker_close(Runner *runner)
{
	Loop	   *loop = runner->setup.loop;
	int64		until_us = loop_now_us(loop) + DISMISS_US;
	int			i;

	loop_off_turn(loop, on_turn, runner);
	report_all(runner, &runner->stopped, &released);
	report_all(runner, &runner->waiting, &released);
	for (i = 0; i < runner->nprocesses; i++)
		worker_process_dismiss(runner->processes[i]);
	for (i = 0; i < runner->nprocesses; i++)
	{
		WorkerProcess *process = runner->processes[i];
		int64		left_us = until_us - loop_now_us(loop);

		if (worker_process_load(process) > 0)
			left_us = 0;
		worker_process_free(process, Max(left_us, 0) / 1000);
	}
	loop_timer_free(runner->trial);
	crashes_free(runner->setup.crashes);
	pfree(runner->processes);
	loop_defer_free(loop, runner);
}

static const Section no_options;

static bool
worker_settle(void *target, const Place *place)
{
	HandlerConfig *config = target;

	config->told = &no_options;
	config->waits_for = config->prefetch;
	if (config->concurrency == 0)
		config->concurrency = Min((int64) config->processes * config->prefetch * Max(config->batch, 1),
								  HANDLER_CONCURRENCY_MAX);
	return handler_settle_argv(config, place) && variables_settle(config, place);
}

static const Option worker_options[] = {
	HANDLER_ARGV("worker", "program and arguments, processes that stay and speak JSON lines"),
	{
		"settings", OPTION_SETTINGS, offsetof(HandlerConfig, settings),
		.help = "any keys and values, sent to each process of the worker in its first line"
	},
	HANDLER_ENV,
	HANDLER_DIRECTORY,
	HANDLER_PROCESSES,
	HANDLER_PREFETCH("1"),
	HANDLER_BATCH(10000),
	HANDLER_CONCURRENCY(NULL, "; default: processes times prefetch times batch"),
	HANDLER_GRACE,
	HANDLER_MAX_OUTPUT,
};

const HandlerKind handler_worker = {
	.options = {
		worker_options, lengthof(worker_options), sizeof(HandlerConfig),
		worker_settle, variables_release
	},
	.open = worker_open,
	.reload = worker_reload,
	.start = worker_start,
	.stop_task = worker_stop_task,
	.cancel_task = worker_cancel_task,
	.trouble = worker_trouble,
	.crashes = worker_crashes,
	.give_back = worker_give_back,
	.close = worker_close
};
