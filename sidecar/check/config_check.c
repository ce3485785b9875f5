#include "base/port.h"

#include <unistd.h>

#include "check/config_check.h"
#include "check/faults.h"
#include "check/programs.h"
#include "calls/calls.h"

/* Seconds for each server, unless the connection string says otherwise. */
#define CONNECT_TIMEOUT "5"

/* Connects without a loop; this program may wait. */
static PGconn *
connect_to(const char *conninfo)
{
	/* Later keywords override earlier ones, so the connection string wins. */
	static const char *const keywords[] = {
		"fallback_application_name", "connect_timeout", "target_session_attrs",
		"client_encoding", "dbname", NULL
	};
	const char *const values[] = {
		"twtasksd check", CONNECT_TIMEOUT, "primary", "UTF8", conninfo, NULL
	};

	return PQconnectdbParams(keywords, values, 1);
}

static PGresult *
ask(PGconn *conn, const Config *config)
{
	const char *values[WIRE_MAX_PARAMS];
	int			lengths[WIRE_MAX_PARAMS];
	int			formats[WIRE_MAX_PARAMS];
	WireParams	params;
	PGresult   *result;

	wire_init(&params);
	calls_add_functions(&params, config);
	for (int i = 0; i < params.n; i++)
	{
		values[i] = params.values[i].data;
		lengths[i] = params.values[i].len;
		formats[i] = 1;
	}
	result = PQexecParams(conn, call_check_handlers.sql, params.n, NULL, values, lengths, formats, 1);
	wire_clear(&params);
	return result;
}

/*
 * Adds the faults of functions.  Returns NULL, or why it could not look
 * (palloc'd).
 */
static char *
check_functions(const Config *config, char **faults)
{
	PGconn	   *conn = connect_to(config->postgres);
	PGresult   *result = PQstatus(conn) == CONNECTION_OK ? ask(conn, config) : NULL;
	char	   *why = NULL;

	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		faults_add_functions(faults, config, result);
	else
		why = pnstrdup(PQerrorMessage(conn), strcspn(PQerrorMessage(conn), "\n"));
	PQclear(result);
	PQfinish(conn);
	return why;
}

/* A call that takes no messages checks the rule, and the rights to use it. */
#define TAKE_NOTHING \
	"SELECT twtasks.take_messages($1::text, $2::text, 2147483647, 0, 0, messages => '{}'::twtasks.message[]," \
	" type => $3::text, function => $4::text, key => $5::text)"

/* The fault of a listener, palloc'd; NULL: none. */
static char *
find_listener_fault(PGconn *conn, const ListenerConfig *listener)
{
	const char *values[] = {
		listener->name, listener->topics[0], listener->type, listener->function,
		listener->value == 0 ? listener->key : NULL
	};
	PGresult   *result;
	const char *hint;
	char	   *fault = NULL;

	PQclear(PQexec(conn, "BEGIN; SET LOCAL lock_timeout = '3s'"));
	result = PQexecParams(conn, TAKE_NOTHING, lengthof(values), NULL, values, NULL, NULL, 0);
	hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fault = psprintf("%s%s%s", PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) == NULL ?
						 PQerrorMessage(conn) : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
						 hint == NULL ? "" : ": ", hint == NULL ? "" : hint);
	PQclear(result);
	PQclear(PQexec(conn, "ROLLBACK"));
	return fault;
}

/* Why this session cannot take messages, whatever the listeners are; NULL: it can. */
static const char *
why_takes_none(const PGconn *conn)
{
	const char *standby = PQparameterStatus(conn, "in_hot_standby");

	if (PQstatus(conn) != CONNECTION_OK)
		return PQerrorMessage(conn);
	return standby != NULL && strcmp(standby, "on") == 0 ? "the server is a standby" : NULL;
}

static void
check_listeners(const Config *config, const char *path)
{
	PGconn	   *conn;
	const char *why;

	if (config->nlisteners == 0)
		return;
	conn = connect_to(config->listeners_postgres != NULL ? config->listeners_postgres : config->postgres);
	why = why_takes_none(conn);
	if (why != NULL)
		fprintf(stderr, "%s: notice: did not look at the listeners: %.*s\n", path, (int) strcspn(why, "\n"), why);
	for (int i = 0; i < config->nlisteners && why == NULL; i++)
	{
		char	   *fault = find_listener_fault(conn, config->listeners[i]);

		if (fault != NULL)
			fprintf(stderr, "%s: warning: listeners[%d]: %s\n", path, i, fault);
		pfree(fault);
	}
	PQfinish(conn);
}

/*
 * An interpreter starts although its program is missing.  So the first argument of a
 * worker, if it looks like a path, must be there.  Returns the path, palloc'd, or NULL.
 */
static char *
missing_program(const HandlerConfig *config)
{
	bool		is_worker = strcmp(config->kind->options[0].name, "worker") == 0;
	const char *first = is_worker ? config->argv[1] : NULL;
	char	   *path;

	if (first == NULL || first[0] == '-' || strpbrk(first, "/.") == NULL || strchr(first, ' ') != NULL)
		return NULL;
	path = first[0] == '/' ? pstrdup(first) : psprintf("%s/%s", config->directory, first);
	if (access(path, F_OK) != 0)
		return path;
	pfree(path);
	return NULL;
}

void
config_check(const Config *config, const char *path)
{
	char	  **faults = programs_faults(config);
	char	   *why = faults_has_functions(config) ? check_functions(config, faults) : NULL;

	if (config->environment == NULL)
		fprintf(stderr, "%s: warning: no environment: this sidecar would also take "
				"tasks of copies that cannot be told from their original\n", path);
	for (int i = 0; i < config->nhandlers; i++)
	{
		char	   *missing = missing_program(config->handlers[i]);

		if (missing != NULL)
			fprintf(stderr, "%s: warning: handlers[%d]: no file \"%s\", the first argument of its worker\n",
					path, i, missing);
		pfree(missing);
		if (faults[i] != NULL)
			fprintf(stderr, "%s: warning: handlers[%d]: %s\n", path, i, faults[i]);
	}
	if (why != NULL)
		fprintf(stderr, "%s: notice: did not look at the functions of handlers: %s\n", path, why);
	check_listeners(config, path);
	faults_free_list(faults, config);
	pfree(why);
}
