/*-------------------------------------------------------------------------
 *
 * execute_noop.c
 *		Handler mode "noop": every task is done at once.
 *
 *		from: execute.h			to: execute.h (done)
 *
 * Tests and benchmarks use it to measure everything but the handler.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/statuses.h"
#include "execute/runner.h"

struct Runner
{
	Loop	   *loop;
	const HandlerConfig *config;
	RunnerDone	done;
	void	   *done_arg;
	dlist_head	tasks;			/* done at the end of the turn */
};

static void
on_turn(void *arg)
{
	Runner	   *runner = arg;
	Verdict		verdict = {TASK_DONE, TASK_DELAY_BY_POLICY, NULL};
	dlist_node *last;
	dlist_node *node;

	if (dlist_is_empty(&runner->tasks))
		return;
	(void) statuses_find(runner->config->statuses, 0, &verdict.result);

	/*
	 * A task that starts in this loop goes to the tail and waits for the next
	 * turn.
	 */
	last = dlist_tail_node(&runner->tasks);
	do
	{
		node = dlist_pop_head_node(&runner->tasks);
		runner->done(runner->done_arg, dlist_container(Task, node, node),
					 &verdict);
	} while (node != last);
}

static Runner *
noop_open(const RunnerParts *parts, const HandlerConfig *config, RunnerDone done, void *done_arg)
{
	Runner	   *runner = palloc0(sizeof(Runner));

	runner->loop = parts->loop;
	runner->config = config;
	runner->done = done;
	runner->done_arg = done_arg;
	dlist_init(&runner->tasks);
	loop_on_turn(runner->loop, on_turn, runner);
	return runner;
}

static void
noop_start(Runner *runner, Task *task)
{
	dlist_push_tail(&runner->tasks, &task->node);
	loop_want_turn(runner->loop);
}

/* Nothing to stop: the task is done at the end of this turn. */
static void
noop_stop_task(Runner *runner, Task *task, const char *why)
{
	(void) runner;
	(void) task;
	(void) why;
}

static void
noop_close(Runner *runner)
{
	loop_off_turn(runner->loop, on_turn, runner);
	loop_defer_free(runner->loop, runner);
}

static bool
noop_settle(void *target, const Place *place)
{
	return handler_settle_statuses(target, place, 0, 255);
}

static const Option options[] = {
	{
		"noop", OPTION_SWITCH,
		.help = "done at once, for tests and measurements"
	},
	HANDLER_STATUSES,
	HANDLER_CONCURRENCY("1000", ""),
};

const HandlerKind handler_noop = {
	.options = {options, lengthof(options), sizeof(HandlerConfig), noop_settle},
	.open = noop_open,
	.start = noop_start,
	.stop_task = noop_stop_task,
	.close = noop_close
};
