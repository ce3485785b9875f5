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
#include "options/statuses.h"
#include "finish/finish.h"
#include "metrics/metrics.h"
#include "node/progress.h"
#include "node/cancels.h"
#include "slots/offers.h"
#include "table/table.h"

typedef struct Runner Runner;

/*
 * Passes the task back to the callee.  The verdict and its message stay the
 * runner's.
 */
typedef void (*RunnerDone) (void *arg, Task *task, const Verdict *verdict);

/*
 * A runner with waiting tasks asks the gate before it starts one.  The gate
 * returns the incarnation under which tasks may start now; 0: none may start,
 * and they keep waiting, unless only a new incarnation can start them: then the runner
 * gives them back.  When an incarnation ends, its waiting tasks no longer belong to
 * this node.
 */
typedef struct RunnerGate
{
	int64		(*incarnation) (void *arg);
	bool		(*is_shut) (void *arg); /* only a new incarnation may start
										 * tasks */
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
	TaskClock  *clock;			/* the node's */
	Finish	   *finish;
	Offers	   *offers;
	Metrics    *metrics;
	Progress   *progress;
	struct Spans *spans;
	struct LostGrabs *lost;		/* takes grabs whose outcome stays unknown */
	RunnerGate	gate;
} RunnerParts;

/* The functions of runners that grab their tasks themselves. */
typedef struct RunnerGrabs
{
	/* Takes over the trigger and its booked slot. */
	void		(*take) (Runner *runner, Table *table, TableEntry *entry);

	/* Sends what can be sent.  Called at the end of each turn. */
	void		(*pump) (Runner *runner);

	/* An operator cancelled the task.  False: it does not run here. */
	bool		(*cancel) (Runner *runner, const CancelRequest *request);

	/* The number of triggers without a known outcome. */
	int			(*running) (const Runner *runner);

	/* A drain begins: gives back the triggers whose grab was not sent. */
	void		(*give_back) (Runner *runner);

	/* The incarnation is gone: forgets all triggers and statements. */
	void		(*forget) (Runner *runner);
} RunnerGrabs;

/* One row per kind.  A member that does not apply is NULL. */
typedef struct HandlerKind
{
	/*
	 * Must be first: a HandlerConfig names its kind by this section.  Its
	 * first option has the name of the kind.
	 */
	Section		options;

	/*
	 * Never fails: if the program cannot start, each task fails or is given
	 * back.
	 */
	Runner	   *(*open) (const RunnerParts *parts, const HandlerConfig *config,
						 RunnerDone done, void *done_arg);

	/*
	 * Applies new settings to tasks that start from now on.  Replaces the
	 * processes, so that they run the current program; no task is lost.
	 */
	void		(*reload) (Runner *runner, const HandlerConfig *config);

	/* NULL: start() gets tasks that are already grabbed. */
	const RunnerGrabs *grabs;

	/*
	 * Takes over the task, and uses its node and run members.  Calls done
	 * later, in another callback or turn.
	 */
	void		(*start) (Runner *runner, Task *task);

	/*
	 * Ends the task now, since its deadline passed or the node is gone.  The
	 * verdict still comes through done.
	 */
	void		(*stop_task) (Runner *runner, Task *task, const char *why);

	/*
	 * An operator cancelled the task.  NULL: stop_task() ends it.  Unlike
	 * stop_task() it must not harm other tasks, and the handler may ignore
	 * it.
	 */
	void		(*cancel_task) (Runner *runner, Task *task, const char *why);

	/*
	 * Why the runner cannot start its program now; NULL: it can, or has not
	 * tried.  NULL in place of the function: no program of its own.
	 */
	const char *(*trouble) (const Runner *runner);

	/*
	 * Its processes end again and again, each with its tasks: the last end;
	 * NULL: they do not, or there are none.
	 */
	const char *(*crashes) (const Runner *runner);

	/*
	 * A drain begins: from now on, tasks that wait for a process are released
	 * at once.  NULL: none wait.
	 */
	void		(*give_back) (Runner *runner);

	/*
	 * Ends all running tasks at once, and frees the runner.  Reports verdicts
	 * that are known, and releases tasks that cannot have begun; the others
	 * go back to the caller.  May wait until killed processes are gone.
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

/* The options of all kinds, for options_read(). */
extern const Section *const handler_kinds[];

/* The kind of a handler of the configuration. */
extern const HandlerKind *handler_kind(const HandlerConfig *config);

/* For settle functions: requires an absolute path for the program. */
extern bool handler_settle_argv(const HandlerConfig *config, const Place *place);

/* For settle functions: requires statuses from min to max. */
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
		.check = options_check_path, .help = "where the processes start" \
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
		.help = "lines in flight per worker process, or tasks in one statement" \
	}
#define HANDLER_BATCH(most) \
	{ \
		"batch", OPTION_INTEGER, offsetof(HandlerConfig, batch), \
		.fallback = "0", .needs_restart = true, .min = 0, .max = most, \
		.help = "most tasks in one line of a worker or one call of a function, as a list; 0: each alone" \
	}
#define HANDLER_CONCURRENCY_MAX 10000000
#define HANDLER_CONCURRENCY(default, computed) \
	{ \
		"concurrency", OPTION_INTEGER, offsetof(HandlerConfig, concurrency), \
		.fallback = default, .min = 1, .max = HANDLER_CONCURRENCY_MAX, \
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
