/*-------------------------------------------------------------------------
 *
 * runner.h
 *		What a way of executing tasks looks like: command, worker, http, noop.
 *
 *		from: execute.h			to: execute.h (done)
 *
 * There is one Runner per configured handler.  execute.c starts tasks on it;
 * the runner reports each started task exactly once through the done
 * function, never from inside start().  It may be asked to end a task whose
 * deadline passed or that an operator cancelled, and to end itself.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RUNNER_H
#define TWT_RUNNER_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"

typedef struct Runner Runner;

/* The task is the callee's again; verdict and its message are the runner's. */
typedef void (*RunnerDone) (void *arg, Task *task, const Verdict *verdict);

/*
 * Asked before anything is started that has waited in a runner: the incarnation
 * under which it may be; 0: nothing may now, and what waits goes on waiting.
 * Whatever waits when an incarnation is over belongs to others.
 */
typedef struct RunnerGate
{
	int64		(*incarnation) (void *arg);
	int64		(*until_us) (void *arg);	/* it may be until then, by the
											 * loop's clock */
	void	   *arg;
} RunnerGate;

typedef struct RunnerOps
{
	/* Never fails: what cannot be started now is told task by task. */
	Runner	   *(*open) (Loop *loop, const HandlerConfig *config,
						 const RunnerGate *gate, RunnerDone done,
						 void *done_arg);

	/*
	 * A reload: the same handler with other figures, for what is started from
	 * now on.  NULL: none that a reload changes are the runner's.
	 */
	void		(*reload) (Runner *runner, const HandlerConfig *config);

	/*
	 * Replaces its processes, so that they run the code that there is now; no
	 * task is lost.  NULL: it has none that stay.
	 */
	void		(*replace) (Runner *runner);

	/*
	 * Takes the task, its node and its run; done is called later, in another
	 * callback or turn.
	 */
	void		(*start) (Runner *runner, Task *task);

	/*
	 * The deadline passed, or the node is gone: end it now.  Its verdict
	 * still comes through done.
	 */
	void		(*stop_task) (Runner *runner, Task *task, const char *why);

	/*
	 * An operator wants it to end.  NULL: stop_task() does.  Unlike that it
	 * must not harm other tasks, and the handler need not obey.
	 */
	void		(*cancel_task) (Runner *runner, Task *task, const char *why);

	/*
	 * Ends whatever runs at once, without verdicts, and frees the runner.
	 * After a drain nothing runs any more; tasks that it still has are the
	 * caller's again.  May wait for killed processes to be gone.
	 */
	void		(*close) (Runner *runner);
} RunnerOps;

extern const RunnerOps runner_command;
extern const RunnerOps runner_worker;
extern const RunnerOps runner_http;
extern const RunnerOps runner_noop;

#endif							/* TWT_RUNNER_H */
