/*-------------------------------------------------------------------------
 *
 * runner.h
 *		A kind of handler: its options, and how it runs tasks.
 *
 *		from: execute.h			to: execute.h (done)
 *
 * There is one Runner per configured handler.  execute.c starts tasks on it;
 * the runner reports each started task exactly once through the done
 * function, never from inside start().  It may be asked to end a task whose
 * deadline passed or that an operator cancelled, and to end itself.
 *
 * A kind may grab its tasks itself.  Then its runners take triggers instead of
 * tasks, and report to the database themselves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RUNNER_H
#define TWT_RUNNER_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"
#include "config/statuses.h"
#include "finish/finish.h"
#include "node/cancels.h"
#include "slots/offers.h"
#include "table/table.h"

typedef struct Runner Runner;

/* The task is the callee's again; verdict and its message are the runner's. */
typedef void (*RunnerDone) (void *arg, Task *task, const Verdict *verdict);

/*
 * A runner in which tasks wait asks the gate before it starts one.  The gate
 * tells the incarnation under which tasks may start now; 0: none may, and they
 * go on waiting.  Tasks that wait when an incarnation is over belong to others.
 */
typedef struct RunnerGate
{
	int64		(*incarnation) (void *arg);
	int64		(*until_us) (void *arg);	/* tasks may start until then, by
											 * the loop's clock */
	void	   *arg;
} RunnerGate;

/* The parts of the sidecar that runners use; they outlive the runners. */
typedef struct RunnerParts
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Finish	   *finish;
	Offers	   *offers;
	RunnerGate	gate;
} RunnerParts;

/* How the runners of a kind work that grab their tasks themselves. */
typedef struct RunnerGrabs
{
	/* Takes the trigger and its booked slot. */
	void		(*take) (Runner *runner, Table *table, TableEntry *entry);

	/* Sends what can be sent; at the end of each turn. */
	void		(*pump) (Runner *runner);

	/* An operator wants the task to end.  False: it does not run here. */
	bool		(*cancel) (Runner *runner, const CancelWish *wish);

	/* Triggers without a known outcome. */
	int			(*running) (const Runner *runner);

	/* A drain: gives back the triggers that it has not begun to grab. */
	void		(*give_back) (Runner *runner);

	/* The incarnation is gone: nothing under way is ours. */
	void		(*forget) (Runner *runner);
} RunnerGrabs;

/* The row of a kind.  A member that does not apply to it is NULL. */
typedef struct HandlerKind
{
	/*
	 * First: a HandlerConfig names its kind by it.  The first option has the
	 * name of the kind.
	 */
	Section		options;

	/* Never fails: what cannot be started now is told task by task. */
	Runner	   *(*open) (const RunnerParts *parts, const HandlerConfig *config,
						 RunnerDone done, void *done_arg);

	/*
	 * The handler has other figures, for what is started from now on.
	 * Replaces its processes, so that they run the code that there is now; no
	 * task is lost.
	 */
	void		(*reload) (Runner *runner, const HandlerConfig *config);

	/* NULL: tasks are grabbed before they come, by start(). */
	const RunnerGrabs *grabs;

	/*
	 * Takes the task, its node and its run; done is called later, in another
	 * callback or turn.
	 */
	void		(*start) (Runner *runner, Task *task);

	/*
	 * The deadline passed, or the node is gone: end the task now.  Its
	 * verdict still comes through done.
	 */
	void		(*stop_task) (Runner *runner, Task *task, const char *why);

	/*
	 * An operator wants the task to end.  NULL: stop_task() does.  Unlike
	 * that it must not harm other tasks, and the handler need not obey.
	 */
	void		(*cancel_task) (Runner *runner, Task *task, const char *why);

	/*
	 * Ends whatever runs at once, without verdicts, and frees the runner.
	 * After a drain nothing runs any more; tasks that it still has are the
	 * caller's again.  May wait for killed processes to be gone.
	 */
	void		(*close) (Runner *runner);
} HandlerKind;

/* All kinds, in the order in which the documentation shows them. */
#define HANDLER_KINDS(KIND) \
	KIND(handler_command) \
	KIND(handler_worker) \
	KIND(handler_sql) \
	KIND(handler_http) \
	KIND(handler_kafka) \
	KIND(handler_noop)

#define DECLARE_KIND(kind) extern const HandlerKind kind;
HANDLER_KINDS(DECLARE_KIND)

/* Their options, for config_read(). */
extern const Section *const handler_kinds[];

/* The kind of a handler of the configuration. */
extern const HandlerKind *handler_kind(const HandlerConfig *config);

/* For tables of options: what is wrong with a path; NULL: nothing. */
extern const char *handler_check_path(const char *path);

/* For settle functions: the program is named by its absolute path. */
extern bool handler_settle_argv(const HandlerConfig *config, const Place *place);

/* For settle functions: statuses are from min to max. */
extern bool handler_settle_statuses(const HandlerConfig *config,
									const Place *place, int min, int max);

/* Options that several kinds have; they fill members of HandlerConfig. */
#define HANDLER_ARGV(name, text) \
	{ \
		name, OPTION_ARGV, offsetof(HandlerConfig, argv), \
		.needs_restart = true, .is_required = true, .min = 1, .max = 1000, \
		.help = text \
	}
#define HANDLER_DIRECTORY \
	{ \
		"directory", OPTION_TEXT, offsetof(HandlerConfig, directory), \
		.fallback = "/", .needs_restart = true, .min = 1, .max = 4095, \
		.check = handler_check_path, .help = "where the processes start" \
	}
#define HANDLER_STATUSES \
	{ \
		"statuses", OPTION_WORDS, offsetof(HandlerConfig, statuses), \
		.needs_restart = true, .min = 1, .max = 1000, .check = statuses_check, \
		.help = "what a status means: STATUS=RESULT, such as 80=repeat or 4xx=error" \
	}
#define HANDLER_PROCESSES \
	{ \
		"processes", OPTION_INTEGER, offsetof(HandlerConfig, processes), \
		.fallback = "1", .needs_restart = true, .min = 1, .max = 1000, \
		.help = "worker processes, or connections of a function" \
	}
#define HANDLER_PREFETCH(default) \
	{ \
		"prefetch", OPTION_INTEGER, offsetof(HandlerConfig, prefetch), \
		.fallback = default, .needs_restart = true, .min = 1, .max = 10000, \
		.help = "tasks in flight per worker process, or in one statement" \
	}
#define HANDLER_CONCURRENCY(default, computed) \
	{ \
		"concurrency", OPTION_INTEGER, offsetof(HandlerConfig, concurrency), \
		.fallback = default, .min = 1, .max = 10000000, \
		.help = "tasks of this handler that run at once on this node" computed \
	}
#define HANDLER_GRACE \
	{ \
		"grace", OPTION_DURATION, offsetof(HandlerConfig, grace_us), \
		.fallback = "5s", .needs_restart = true, .min = 0, \
		.max = SECONDS_TO_US(3600), \
		.help = "time between asking a process or function to end and killing it" \
	}
#define HANDLER_MAX_OUTPUT \
	{ \
		"max_output", OPTION_SIZE, offsetof(HandlerConfig, max_output), \
		.fallback = "64kB", .needs_restart = true, .min = 0, \
		.max = 16 * 1024 * 1024, \
		.help = "how much of the end of stderr, or of an answer, a task keeps" \
	}

#endif							/* TWT_RUNNER_H */
