#include "base/port.h"

#include "check/config_check.h"
#include "check/faults.h"
#include "pg/calls.h"

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

void
config_check(const Config *config, const char *path)
{
	char	  **faults = faults_of_programs(config);
	char	   *why = faults_has_functions(config) ? check_functions(config, faults) : NULL;

	if (config->environment == NULL)
		fprintf(stderr, "%s: warning: no environment: this sidecar would also take "
				"tasks of copies that cannot be told from their original\n", path);
	for (int i = 0; i < config->nhandlers; i++)
		if (faults[i] != NULL)
			fprintf(stderr, "%s: warning: handlers[%d]: %s\n", path, i, faults[i]);
	if (why != NULL)
		fprintf(stderr, "%s: notice: did not look at the functions of handlers: %s\n", path, why);
	faults_free_list(faults, config);
	pfree(why);
}
