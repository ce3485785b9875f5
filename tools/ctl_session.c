/*-------------------------------------------------------------------------
 *
 * ctl_session.c
 *		One session of the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/text.h"
#include "catalog/pg_type_d.h"
#include "common/string.h"
#include "options/conninfo.h"
#include "pg/statement.h"
#include "tools/ctl_end.h"
#include "tools/ctl_session.h"

/* The server ends a statement itself; this is the time that we wait beyond. */
#define ANSWER_US SECONDS_TO_US(5)

/* Longest text of the server that is shown. */
#define MESSAGE_MAX 4000

/* Most parameters of a statement. */
#define VALUES_MAX 16

struct Session
{
	PGconn	   *conn;
	char		timeout[32];	/* time limit of a statement, in ms */
	int64		timeout_us;
	const char *role;
	const char *note;			/* for failures; NULL: none */
	const char *schema;			/* see SessionOptions */
	const char *lacks;			/* ... */
};

static const char begin[] = "BEGIN";
static const char settings[] =
"SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog', pg_catalog.quote_ident($2), 'pg_temp'), true),"
" pg_catalog.set_config('statement_timeout', $1, true),"
" pg_catalog.set_config('datestyle', 'ISO', true),"
" pg_catalog.set_config('intervalstyle', 'postgres', true)";
static const char commit[] = "COMMIT";
static const char rollback[] = "ROLLBACK";

/* ---- Messages ---- */

static void
print_field(const PGresult *result, int field, const char *label)
{
	const char *text = PQresultErrorField(result, field);

	if (text != NULL)
	{
		char	   *safe = text_quote_line(text, strlen(text), MESSAGE_MAX);

		fprintf(stderr, "%s%s\n", label, safe);
		pfree(safe);
	}
}

static void
print_message(const PGresult *result)
{
	char		label[64];

	snprintf(label, sizeof(label), "%s: ", program_invocation_short_name);
	print_field(result, PG_DIAG_MESSAGE_PRIMARY, label);
}

/* The server's own hint knows better. */
static void
print_right(const Session *session, const PGresult *result)
{
	if (session->role != NULL && PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) == NULL)
		fprintf(stderr, "hint: this needs the rights of %s: GRANT %s TO \"%s\"\n",
				session->role, session->role, PQuser(session->conn));
}

static CtlStatus
status_of(const char *state)
{
	if (strcmp(state, "3F000") == 0 || strcmp(state, "42P01") == 0 || strncmp(state, "08", 2) == 0 || strncmp(state, "57P", 3) == 0)
		return CTL_NO_DATABASE;
	if (strcmp(state, "22P02") == 0 || strncmp(state, "2200", 4) == 0)
		return CTL_USAGE;
	return CTL_REFUSED;
}

static void
print_advice(const Session *session, const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	if (strcmp(state, "42501") == 0)
		print_right(session, result);
	else if (session->lacks != NULL && strncmp(state, "42", 2) == 0)
		fprintf(stderr, "hint: %s\n", session->lacks);
	else if (strcmp(state, "3F000") == 0 || strcmp(state, "42P01") == 0 || strcmp(state, "42883") == 0)
		fprintf(stderr, "hint: database \"%s\" may lack the extension twtasks, or have an older one"
				" than this program\n", PQdb(session->conn));
	else if (strcmp(state, "57014") == 0)
		fputs("hint: --timeout gives it more time\n", stderr);
}

static void
refuse(const Session *session, const PGresult *result)
{
	fflush(stdout);
	print_message(result);
	print_field(result, PG_DIAG_MESSAGE_DETAIL, "detail: ");
	print_field(result, PG_DIAG_MESSAGE_HINT, "hint: ");
	print_advice(session, result);
	if (session->note != NULL)
		fprintf(stderr, "%s\n", session->note);
	exit(status_of(pg_sqlstate(result)));
}

static void
lose(const Session *session, const char *sql, const char *why)
{
	ctl_fail(CTL_NO_DATABASE, "lost the connection to the database: %s%s%s%s", *why ? why : "out of memory",
			 sql == commit ? "\nIt is not known whether the last statement took effect: look before you repeat it." : "",
			 session->note ? "\n" : "", session->note ? session->note : "");
}

/* ---- Statements ---- */

/* Takes what has arrived; waits at most until the deadline. */
static void
await(const Session *session, const char *sql, int64 deadline)
{
	struct pollfd fd = {.fd = PQsocket(session->conn), .events = POLLIN};

	while (PQisBusy(session->conn))
	{
		int64		left = (deadline - loop_now_us(NULL)) / 1000;

		if (left <= 0)
			lose(session, sql, "the server does not answer");
		if (poll(&fd, 1, (int) Min(left, 60000)) > 0 && !PQconsumeInput(session->conn))
			lose(session, sql, PQerrorMessage(session->conn));
	}
}

/* An error that libpq made, as when memory is out: the server may have done what we asked. */
static bool
is_of_libpq(const PGresult *result)
{
	return PQresultStatus(result) == PGRES_FATAL_ERROR && PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL;
}

static PGresult *
run(const Session *session, const char *sql, int nvalues, const char *const *values)
{
	int64		deadline = loop_now_us(NULL) + session->timeout_us + ANSWER_US;
	PGresult   *result = NULL;
	PGresult   *next;
	Oid			types[VALUES_MAX];

	Assert(nvalues <= VALUES_MAX);
	for (int i = 0; i < nvalues; i++)
		types[i] = TEXTOID;
	if (!PQsendQueryParams(session->conn, sql, nvalues, types, values, NULL, NULL, 0))
		lose(session, sql, PQerrorMessage(session->conn));
	for (;;)
	{
		await(session, sql, deadline);
		next = PQgetResult(session->conn);
		if (next == NULL)
			break;
		PQclear(result);
		result = next;
		if (pg_begins_copy(result))
			lose(session, sql, "the server began a COPY that nobody asked for");
	}
	if (result == NULL || PQstatus(session->conn) == CONNECTION_BAD || is_of_libpq(result))
		lose(session, sql, PQerrorMessage(session->conn));
	return result;
}

static bool
is_fine(const PGresult *result)
{
	return PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
}

static void
must(const Session *session, const char *sql, int nvalues, const char *const *values)
{
	PGresult   *result = run(session, sql, nvalues, values);

	if (!is_fine(result))
		refuse(session, result);
	PQclear(result);
}

PGresult *
session_try(Session *session, const char *sql, int nvalues, const char *const *values)
{
	const char *values_set[] = {session->timeout, session->schema};
	PGresult   *result;

	must(session, begin, 0, NULL);
	must(session, settings, lengthof(values_set), values_set);
	result = run(session, sql, nvalues, values);
	must(session, is_fine(result) ? commit : rollback, 0, NULL);
	return result;
}

PGresult *
session_ask(Session *session, const char *sql, int nvalues, const char *const *values)
{
	PGresult   *result = session_try(session, sql, nvalues, values);

	if (!is_fine(result))
		refuse(session, result);
	return result;
}

/* ---- Start and end ---- */

static PGconn *
attempt(const SessionOptions *options, const char *password)
{
	const char *names[] = {"host", "port", "dbname", "user", "password", "fallback_application_name",
	"client_encoding", getenv("PGCONNECT_TIMEOUT") ? NULL : "connect_timeout", NULL};
	const char *values[] = {options->host, options->port, options->dbname, options->user, password, program_invocation_short_name,
	"UTF8", "10", NULL};

	/* dbname may be a connection string, as it may for psql */
	return PQconnectdbParams(names, values, 1);
}

/* The name of the database may be a connection string, of which libpq quotes pieces. */
static void
check_string(const char *dbname)
{
	char	   *fault;

	if (dbname != NULL &&
		(strchr(dbname, '=') != NULL || strncmp(dbname, "postgres://", 11) == 0 || strncmp(dbname, "postgresql://", 13) == 0) &&
		!conninfo_check(dbname, &fault))
		ctl_fail(CTL_NO_DATABASE, "%s", fault);
}

/* Words of users' functions may have anything in them. */
static void
on_notice(void *arg, const PGresult *notice)
{
	(void) arg;
	print_message(notice);
	print_field(notice, PG_DIAG_MESSAGE_HINT, "hint: ");
}

Session *
session_open(const SessionOptions *options)
{
	Session    *session = palloc0(sizeof(Session));

	session->role = options->role;
	session->schema = options->schema;
	session->lacks = options->lacks;
	session->timeout_us = options->timeout_us;
	snprintf(session->timeout, sizeof(session->timeout), INT64_FORMAT, options->timeout_us / 1000);
	check_string(options->dbname);
	session->conn = attempt(options, NULL);
	if (PQstatus(session->conn) == CONNECTION_BAD && PQconnectionNeedsPassword(session->conn) &&
		!options->no_password && isatty(STDIN_FILENO))
	{
		char	   *password = simple_prompt("Password: ", false);

		PQfinish(session->conn);
		session->conn = attempt(options, password);
		explicit_bzero(password, strlen(password));
		free(password);
	}
	if (PQstatus(session->conn) == CONNECTION_BAD)
		ctl_fail(CTL_NO_DATABASE, "%s", PQerrorMessage(session->conn));
	(void) PQsetNoticeReceiver(session->conn, on_notice, NULL);
	return session;
}

void
session_need(Session *session, const char *role)
{
	session->role = role;
}

void
session_note(Session *session, const char *words)
{
	session->note = words;
}

void
session_close(Session *session)
{
	PQfinish(session->conn);
	pfree(session);
}
