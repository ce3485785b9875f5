/*-------------------------------------------------------------------------
 *
 * execute_sql.c
 *		Handler mode "sql": functions of the database.
 *
 *		from: execute.h (take)			to: sql_session.h
 *
 * Grab, function and finish are one statement and so one transaction: the
 * function's effects in the database happen exactly once.  Quick tasks share a
 * statement, each in its own subtransaction.  With the option "batch" they share one
 * call of the function, which takes them as an array.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/runner.h"
#include "execute/sql/sql_session.h"

#define IDENTIFIER_MAX 63

struct Runner
{
	SqlSetup	setup;
	SqlSession **sessions;		/* one per process of the handler */
	int			nsessions;
};

static Runner *
sql_open(const RunnerParts *parts, const HandlerConfig *config, RunnerDone done, void *done_arg)
{
	Runner	   *runner = palloc0(sizeof(Runner));

	(void) done;				/* sessions report their tasks to finish.h */
	(void) done_arg;
	runner->setup.parts = parts;
	runner->setup.config = config;
	runner->setup.waiting = sql_waiting_new(config);
	runner->sessions = palloc(config->processes * sizeof(SqlSession *));
	while (runner->nsessions < config->processes)
		runner->sessions[runner->nsessions++] = sql_session_new(&runner->setup);
	return runner;
}

static void
sql_take(Runner *runner, Table *table, TableEntry *entry)
{
	sql_waiting_add(runner->setup.waiting, table, entry, false);
}

static void
sql_give_back(Runner *runner)
{
	sql_waiting_give_back(runner->setup.waiting);
}

/*
 * Opens one more session for each task that still waits.  None waits in a node that
 * can be confirmed only by a new incarnation.
 */
static void
sql_pump(Runner *runner)
{
	const Node *node = runner->setup.parts->node;
	int			left;

	if (node_may_start(node) == 0)
	{
		if (node_is_locked(node))
			sql_give_back(runner);
		return;
	}
	for (int i = 0; i < runner->nsessions; i++)
		sql_session_pump(runner->sessions[i]);
	left = sql_waiting_count(runner->setup.waiting);
	for (int i = 0; i < runner->nsessions && left > 0; i++)
		left -= sql_session_open(runner->sessions[i]);
}

static bool
sql_cancel(Runner *runner, const CancelRequest *request)
{
	for (int i = 0; i < runner->nsessions; i++)
		if (sql_session_cancel(runner->sessions[i], request))
			return true;
	return false;
}

static int
sql_running(const Runner *runner)
{
	int			n = sql_waiting_count(runner->setup.waiting);

	for (int i = 0; i < runner->nsessions; i++)
		n += sql_session_running(runner->sessions[i]);
	return n;
}

static void
sql_forget(Runner *runner)
{
	for (int i = 0; i < runner->nsessions; i++)
		sql_session_forget(runner->sessions[i]);
	sql_give_back(runner);
}

static void
sql_close(Runner *runner)
{
	sql_give_back(runner);
	for (int i = 0; i < runner->nsessions; i++)
		sql_session_free(runner->sessions[i]);
	sql_waiting_free(runner->setup.waiting);
	pfree(runner->sessions);
	pfree(runner);
}

/* ---- options ---- */

/* The length of the lower-case identifier at text, or 0. */
static size_t
identifier_length(const char *text)
{
	size_t		len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (len > IDENTIFIER_MAX || (text[0] >= '0' && text[0] <= '9'))
		return 0;
	return len;
}

static const char *
check_function(const char *text)
{
	size_t		schema = identifier_length(text);

	if (schema > 0 && text[schema] == '.')
	{
		const char *name = text + schema + 1;
		size_t		len = identifier_length(name);

		if (len > 0 && name[len] == '\0')
			return NULL;
	}
	return "it must be schema.function, both of lower-case letters, digits and _";
}

/* SET ROLE takes "none" for the session's own role, even when quoted. */
static const char *
check_role(const char *text)
{
	if (strcmp(text, "none") == 0)
		return "it is not the name of a role";
	return NULL;
}

/* While the sessions run their batches, as many tasks gather. */
#define BATCHES_AT_ONCE 2

/* A lost transaction has no effects, so its tasks may run again. */
static bool
sql_settle(void *target, const Place *place)
{
	HandlerConfig *config = target;

	config->is_atomic = true;
	if (config->batch > 0 && options_given(place, "prefetch"))
		options_note(place, "prefetch", "has no effect, since \"batch\" says how many tasks a call has");
	if (config->concurrency == 0)
		config->concurrency = config->batch > 0 ? config->processes * config->batch * BATCHES_AT_ONCE : 16;
	return true;
}

static const Option options[] = {
	{
		"sql", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 2 * IDENTIFIER_MAX + 1, .check = check_function,
		.offset = offsetof(HandlerConfig, function),
		.help = "schema.function, called in one transaction with grab and finish"
	},
	{
		"role", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = IDENTIFIER_MAX, .check = check_role,
		.offset = offsetof(HandlerConfig, role),
		.help = "database role that the function runs as; default: the role of the connection"
	},
	HANDLER_PROCESSES,
	HANDLER_PREFETCH("64"),
	HANDLER_BATCH(BATCH_MAX),
	HANDLER_CONCURRENCY(NULL, "; default: 16, or with batch twice processes times batch"),
	HANDLER_GRACE,
};

static const RunnerGrabs grabs = {
	.take = sql_take,
	.pump = sql_pump,
	.cancel = sql_cancel,
	.running = sql_running,
	.give_back = sql_give_back,
	.forget = sql_forget
};

const HandlerKind handler_sql = {
	.options = {options, lengthof(options), sizeof(HandlerConfig), sql_settle},
	.open = sql_open,
	.grabs = &grabs,
	.close = sql_close
};
