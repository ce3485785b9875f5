/*-------------------------------------------------------------------------
 *
 * attempt.c
 *		One attempt to connect, to any of the servers, on a thread of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/blocking.h"
#include "pg/attempt.h"
#include "pg/hosts.h"
#include "pg/lookup.h"

/* For what hangs before the clock of an address runs. */
#define STEP_MORE_US SECONDS_TO_US(1)

/* While so many threads hang though nobody waits for them, none starts. */
#define GIVEN_UP_MAX 64

static atomic_int ngiven_up;

struct Attempt
{
	Blocking   *blocking;
	Hosts	   *hosts;
	char	   *application;
	int			server;
	atomic_int	step;
	atomic_bool is_given_up;
	PGconn	   *conn;			/* NULL: not yet, or handed over */
	char	   *error;			/* NULL: connected */
	StringInfoData warnings;
	AttemptFn	fn;
	void	   *arg;
};

static void
on_notice(void *arg, const PGresult *notice)
{
	Attempt    *attempt = arg;
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

	if (severity != NULL && text != NULL && strcmp(severity, "WARNING") == 0)
		appendStringInfo(&attempt->warnings, "%s%s", attempt->warnings.len > 0 ? "; " : "", text);
}

/* Waits until libpq can go on.  Returns false when the time is over. */
static bool
wait_for(PGconn *conn, PostgresPollingStatusType what, int64 until_us)
{
	struct pollfd socket = {
		.fd = PQsocket(conn),
		.events = what == PGRES_POLLING_READING ? POLLIN : POLLOUT
	};
	int64		left_us = until_us - loop_now_us(NULL);

	/* All signals are blocked. */
	return left_us > 0 && poll(&socket, 1, (left_us + 999) / 1000) != 0;
}

static bool
is_wanted(const Attempt *attempt)
{
	return !atomic_load(&attempt->is_given_up);
}

/* Returns NULL if the server was reached, else why not. */
static char *
finish_connecting(const Attempt *attempt, int64 until_us)
{
	PostgresPollingStatusType what = PGRES_POLLING_WRITING;
	PGconn	   *conn = attempt->conn;

	while (is_wanted(attempt) && PQstatus(conn) != CONNECTION_BAD)
	{
		if (!wait_for(conn, what, until_us))
			return pstrdup("could not connect in time");
		what = PQconnectPoll(conn);
		if (what == PGRES_POLLING_OK)
			return NULL;
		if (what == PGRES_POLLING_FAILED)
			break;
	}
	return pstrdup(PQerrorMessage(conn));
}

/* Returns whether the address was reached; else the error is noted. */
static bool
try_address(Attempt *attempt, const char *address)
{
	int64		until_us = loop_now_us(NULL) + hosts_timeout_us(attempt->hosts);

	atomic_fetch_add(&attempt->step, 1);
	PQfinish(attempt->conn);
	pg_free(attempt->error);
	attempt->conn = hosts_connect(attempt->hosts, attempt->server, address, attempt->application);
	if (attempt->conn == NULL)
	{
		attempt->error = pstrdup("out of memory");
		return false;
	}
	resetStringInfo(&attempt->warnings);
	PQsetNoticeReceiver(attempt->conn, on_notice, attempt);
	(void) PQsetErrorVerbosity(attempt->conn, PQERRORS_VERBOSE);	/* for the SQLSTATE */
	attempt->error = finish_connecting(attempt, until_us);
	return attempt->error == NULL;
}

static bool
try_server(Attempt *attempt)
{
	const char *name = hosts_name(attempt->hosts, attempt->server);
	char	   *addresses;
	char	   *state = NULL;
	bool		is_reached = false;

	if (name == NULL)
		return try_address(attempt, NULL);
	atomic_fetch_add(&attempt->step, 1);
	PQfinish(attempt->conn);
	attempt->conn = NULL;
	pg_free(attempt->error);
	attempt->error = NULL;
	addresses = lookup_now(name, &attempt->error);
	if (addresses == NULL)
		return false;
	for (char *address = strtok_r(addresses, ",", &state);
		 address != NULL && !is_reached && is_wanted(attempt); address = strtok_r(NULL, ",", &state))
		is_reached = try_address(attempt, address);
	pfree(addresses);
	return is_reached;
}

static void
try_all(void *what)
{
	Attempt    *attempt = what;
	int			n = hosts_count(attempt->hosts);

	for (int i = 0; i < n && is_wanted(attempt) && !try_server(attempt); i++)
		attempt->server = (attempt->server + 1) % n;
}

static void
answered(void *what)
{
	Attempt    *attempt = what;
	PGconn	   *conn = attempt->conn;

	if (attempt->error == NULL)
		attempt->conn = NULL;
	attempt->fn(attempt->arg, attempt, conn, attempt->error);
}

static void
release(void *what)
{
	Attempt    *attempt = what;

	if (!is_wanted(attempt))
		atomic_fetch_sub(&ngiven_up, 1);
	PQfinish(attempt->conn);
	hosts_free(attempt->hosts);
	pfree(attempt->application);
	pg_free(attempt->error);
	pfree(attempt->warnings.data);
	pfree(attempt);
}

Attempt *
attempt_start(Loop *loop, const AttemptPlan *plan, AttemptFn fn, void *arg)
{
	static const BlockingCall call = {try_all, answered, release};
	Attempt    *attempt;
	Blocking   *blocking;

	if (atomic_load(&ngiven_up) >= GIVEN_UP_MAX)
	{
		errno = EBUSY;
		return NULL;
	}
	attempt = palloc0(sizeof(Attempt));
	attempt->hosts = hosts_new(plan->conninfo);
	attempt->application = pstrdup(plan->application);
	attempt->server = plan->server % hosts_count(attempt->hosts);
	attempt->fn = fn;
	attempt->arg = arg;
	atomic_init(&attempt->step, 0);
	atomic_init(&attempt->is_given_up, false);
	initStringInfo(&attempt->warnings);
	blocking = blocking_start(loop, &call, attempt);
	if (blocking == NULL)
		return NULL;
	attempt->blocking = blocking;
	return attempt;
}

void
attempt_cancel(Attempt *attempt)
{
	atomic_fetch_add(&ngiven_up, 1);
	atomic_store(&attempt->is_given_up, true);
	blocking_cancel(attempt->blocking);
}

int
attempt_step(const Attempt *attempt)
{
	return atomic_load(&attempt->step);
}

int64
attempt_step_us(const Attempt *attempt)
{
	return hosts_timeout_us(attempt->hosts) + STEP_MORE_US;
}

int
attempt_server(const Attempt *attempt)
{
	return attempt->server;
}

const char *
attempt_warnings(const Attempt *attempt)
{
	return attempt->warnings.data;
}
