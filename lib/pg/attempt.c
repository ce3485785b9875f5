/*-------------------------------------------------------------------------
 *
 * attempt.c
 *		One attempt to connect: look up the name, then let libpq connect.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "pg/attempt.h"
#include "pg/lookup.h"

struct Attempt
{
	Loop	   *loop;
	Hosts	   *hosts;
	char	   *application;
	Lookup	   *lookup;			/* NULL: done, or not needed */
	PGconn	   *conn;
	LoopIo	   *io;
	PQnoticeReceiver on_notice;
	AttemptFn	fn;
	void	   *arg;
};

Attempt *
attempt_new(Loop *loop, Hosts *hosts, const char *application,
			AttemptFn fn, void *arg)
{
	Attempt    *attempt = palloc0(sizeof(Attempt));

	attempt->loop = loop;
	attempt->hosts = hosts;
	attempt->application = pstrdup(application);
	attempt->fn = fn;
	attempt->arg = arg;
	return attempt;
}

static void
unwatch(Attempt *attempt)
{
	if (attempt->io != NULL)
		loop_io_free(attempt->io);
	attempt->io = NULL;
}

void
attempt_cancel(Attempt *attempt)
{
	unwatch(attempt);
	if (attempt->lookup != NULL)
		lookup_cancel(attempt->lookup);
	if (attempt->conn != NULL)
		PQfinish(attempt->conn);
	pfree(attempt->application);
	pfree(attempt);
}

static void
fail(Attempt *attempt, const char *error)
{
	attempt->fn(attempt->arg, attempt->conn, error);
	attempt_cancel(attempt);
}

static void
succeed(Attempt *attempt)
{
	PGconn	   *conn = attempt->conn;
	AttemptFn	fn = attempt->fn;
	void	   *arg = attempt->arg;

	attempt->conn = NULL;
	attempt_cancel(attempt);
	fn(arg, conn, NULL);
}

static void on_ready(void *arg, int ready);

static void
watch(Attempt *attempt, int want)
{
	if (PQsocket(attempt->conn) < 0)
	{
		fail(attempt, PQerrorMessage(attempt->conn));
		return;
	}
	attempt->io = loop_io_new(attempt->loop, PQsocket(attempt->conn), on_ready, attempt);
	loop_io_want(attempt->io, want);
}

/*
 * libpq may close its socket and open another one with the same number, so we
 * register the socket anew each time.
 */
static void
on_ready(void *arg, int ready)
{
	Attempt    *attempt = arg;

	unwatch(attempt);
	switch (PQconnectPoll(attempt->conn))
	{
		case PGRES_POLLING_READING:
			watch(attempt, LOOP_READ);
			break;
		case PGRES_POLLING_WRITING:
			watch(attempt, LOOP_WRITE);
			break;
		case PGRES_POLLING_OK:
			succeed(attempt);
			break;
		default:
			fail(attempt, PQerrorMessage(attempt->conn));
			break;
	}
}

static void
connect_now(Attempt *attempt)
{
	attempt->conn = hosts_connect(attempt->hosts, attempt->application);
	if (attempt->conn == NULL)
	{
		fail(attempt, "out of memory");
		return;
	}
	PQsetNoticeReceiver(attempt->conn, attempt->on_notice, attempt->arg);
	(void) PQsetErrorVerbosity(attempt->conn, PQERRORS_VERBOSE);	/* for the SQLSTATE */
	if (PQstatus(attempt->conn) == CONNECTION_BAD)
		fail(attempt, PQerrorMessage(attempt->conn));
	else
		watch(attempt, LOOP_WRITE);
}

static void
on_lookup(void *arg, const char *addresses, const char *error)
{
	Attempt    *attempt = arg;

	attempt->lookup = NULL;
	if (error != NULL)
	{
		fail(attempt, error);
		return;
	}
	hosts_found(attempt->hosts, addresses);
	connect_now(attempt);
}

void
attempt_start(Attempt *attempt, PQnoticeReceiver on_notice)
{
	const char *unknown = hosts_unknown(attempt->hosts);

	attempt->on_notice = on_notice;
	if (unknown == NULL)
	{
		connect_now(attempt);
		return;
	}
	attempt->lookup = lookup_start(attempt->loop, unknown, on_lookup, attempt);
	if (attempt->lookup == NULL)
		fail(attempt, strerror(errno));
}
