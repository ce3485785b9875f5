/*-------------------------------------------------------------------------
 *
 * handler.c
 *		The kind "noop" in the simulation: tasks of any length and any result.
 *
 *		from: execute.h			to: execute.h (done)
 *
 * It takes the place of sidecar/execute/execute_noop.c.  A task may hang until it is
 * stopped, and a stopped one may take its time to end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "acts.h"
#include "execute/runner.h"
#include "judge.h"
#include "sim_loop.h"
#include "world.h"

struct Runner
{
	const HandlerConfig *config;
	RunnerDone	done;
	void	   *done_arg;
	Loop	   *loop;
	Process    *process;
	dlist_head	runs;
};

typedef struct Run
{
	dlist_node	node;
	Runner	   *runner;
	Task	   *task;
	LoopTimer  *timer;
	Verdict		verdict;
} Run;

/* Frees the run, and returns its task. */
static Task *
end_run(Run *run)
{
	Task	   *task = run->task;

	judge_stop(run->runner->process, model_find(task->id), task->version);
	dlist_delete(&run->node);
	loop_timer_free(run->timer);
	pfree(run);
	return task;
}

static void
on_end(void *arg)
{
	Run		   *run = arg;
	Runner	   *runner = run->runner;
	Verdict		verdict = run->verdict;

	judge_result(model_find(run->task->id), run->task->version, verdict.result);
	if (verdict.delay_us != TASK_DELAY_BY_POLICY)
		judge_delay(model_find(run->task->id), run->task->version, verdict.delay_us);
	judge_expect(model_find(run->task->id), run->task->version);
	runner->done(runner->done_arg, end_run(run), &verdict);
}

static Runner *
sim_open(const RunnerParts *parts, const HandlerConfig *config, RunnerDone done, void *done_arg)
{
	Runner	   *runner = palloc0(sizeof(Runner));

	runner->loop = parts->loop;
	runner->process = sim_loop_process(parts->loop);
	runner->config = config;
	runner->done = done;
	runner->done_arg = done_arg;
	dlist_init(&runner->runs);
	return runner;
}

static void
choose_verdict(Verdict *verdict)
{
	static const TaskResult results[] = {TASK_FAILURE, TASK_FAILURE, TASK_FAILURE, TASK_RETRY, TASK_RETRY,
		TASK_REPEAT, TASK_ERROR, TASK_RELEASE, TASK_ACCEPTED, TASK_DELETE, TASK_CANCELLED};

	verdict->result = !acts_happens(HABIT_ODD_RESULTS, 220) ? TASK_DONE : results[world_between(0, lengthof(results) - 1)];
	verdict->delay_us = TASK_DELAY_BY_POLICY;
	if (verdict->result == TASK_RELEASE || (verdict->result == TASK_RETRY && world_happens(500)))
		verdict->delay_us = world_happens(500) ? 0 : world_between(0, SECONDS_TO_US(3));
}

static int64
choose_length(void)
{
	if (world_happens(20))
		return SECONDS_TO_US(3600);
	if (world_happens(50))
		return 0;
	return world_happens(800) ? world_between(100, MS_TO_US(300)) : world_between(MS_TO_US(300), SECONDS_TO_US(4));
}

static void
sim_start(Runner *runner, Task *task)
{
	Run		   *run = palloc0(sizeof(Run));

	judge_start(runner->process, model_find(task->id), task->version, world_now_us());
	run->runner = runner;
	run->task = task;
	task->run = run;
	run->timer = loop_timer_new(runner->loop, on_end, run);
	choose_verdict(&run->verdict);
	loop_timer_start(run->timer, choose_length());
	dlist_push_tail(&runner->runs, &run->node);
}

static void
sim_reload(Runner *runner, const HandlerConfig *config)
{
	runner->config = config;
}

static void
sim_stop_task(Runner *runner, Task *task, const char *why)
{
	Run		   *run = task->run;

	run->verdict = (Verdict)
	{
		TASK_FAILURE, TASK_DELAY_BY_POLICY, "stopped"
	};
	loop_timer_start(run->timer, world_happens(800) ? world_between(0, MS_TO_US(20)) :
					 world_between(0, runner->config->grace_us));
}

static void
sim_close(Runner *runner)
{
	while (!dlist_is_empty(&runner->runs))
		(void) end_run(dlist_head_element(Run, node, &runner->runs));
	loop_defer_free(runner->loop, runner);
}

static const Option options[] = {
	{
		"noop", OPTION_SWITCH,
		.help = "simulated"
	},
	HANDLER_STATUSES,
	HANDLER_CONCURRENCY("1000", ""),
	HANDLER_GRACE,
};

const HandlerKind handler_noop = {
	.options = {options, lengthof(options), sizeof(HandlerConfig), NULL},
	.open = sim_open,
	.reload = sim_reload,
	.start = sim_start,
	.stop_task = sim_stop_task,
	.close = sim_close
};
