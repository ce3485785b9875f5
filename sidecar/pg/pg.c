/*-------------------------------------------------------------------------
 *
 * pg.c
 *		One asynchronous connection to PostgreSQL that comes back by itself.
 *
 * We send each call with its own Sync, so each is its own transaction.  A call
 * has committed only when the answer to that Sync is there.  libpq separates
 * results by NULLs, which mean nothing to us: we read until it would block.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/chance.h"
#include "base/log.h"
#include "pg/calls.h"
#include "pg/hosts.h"
#include "pg/lookup.h"
#include "pg/pg.h"
#include "pg/prepared.h"
#include "pg/trouble.h"

#define BACKOFF_MIN_US MS_TO_US(50)
#define BACKOFF_MAX_US SECONDS_TO_US(1)

typedef enum PgState
{
	STATE_NEW,					/* or at rest */
	STATE_WAITING,				/* for the next attempt to connect */
	STATE_CONNECTING,
	STATE_SETTING_UP,
	STATE_UP
} PgState;

typedef struct Call
{
	dlist_node	node;
	const PgStatement *statement;
	WireParams	params;			/* empty once the call is sent */
	bool		is_preparing;	/* the next result is that of the preparation */
	PgResultFn	fn;
	void	   *arg;
	PGresult   *result;			/* kept until the Sync is answered */
} Call;

struct Pg
{
	Loop	   *loop;
	Hosts	   *hosts;
	Lookup	   *lookup;			/* first part of connecting; NULL: done */
	char	   *role;
	PgStateFn	on_state;
	PgNotifyFn	on_notify;
	void	   *arg;
	PGconn	   *conn;
	LoopIo	   *io;
	LoopTimer  *timer;			/* next attempt, end of this one, or rest */
	PgState		state;
	int64		backoff_us;
	bool		in_trouble;		/* it connects, but its last session was
								 * useless */
	const PgStatement *failed;	/* the statement that caused the trouble */
	int64		up_us;			/* when the session was set up */
	int64		rest_us;		/* rests after this time; 0: never */
	int64		used_us;		/* when the last call was sent */
	Trouble		trouble;
	bool		in_doubt;		/* a commit was not confirmed by a standby */
	dlist_head	calls;			/* in order of sending */
	dlist_head	held;			/* not sent: waiting for a session */
	int			ncalls;			/* in both lists */
	Prepared	prepared;
};

static void on_timer(void *arg);
static void start_attempt(Pg *pg);
static void on_ready(void *arg, int ready);

static void
on_notice(void *arg, const PGresult *notice)
{
	Pg		   *pg = arg;
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
	const char *source = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

	if (severity == NULL || text == NULL || strcmp(severity, "WARNING") != 0)
		return;
	log_line(TWT_LOG_WARN, "postgres", "%s: %s", pg->role, text);
	if (source != NULL && strcmp(source, "SyncRepWaitForLSN") == 0)
		pg->in_doubt = true;
}

Pg *
pg_new(Loop *loop, const char *conninfo, const char *role,
	   PgStateFn on_state, void *arg)
{
	Pg		   *pg = palloc0(sizeof(Pg));

	pg->loop = loop;
	pg->hosts = hosts_new(conninfo);
	pg->role = pstrdup(role);
	pg->trouble.role = pg->role;
	pg->on_state = on_state;
	pg->arg = arg;
	pg->timer = loop_timer_new(loop, on_timer, pg);
	pg->backoff_us = BACKOFF_MIN_US;
	dlist_init(&pg->calls);
	dlist_init(&pg->held);
	return pg;
}

void
pg_start(Pg *pg)
{
	if (pg->state == STATE_NEW)
		start_attempt(pg);
}

bool
pg_is_up(const Pg *pg)
{
	return pg->state == STATE_UP;
}

bool
pg_is_failing(const Pg *pg)
{
	return pg->trouble.is_down;
}

void
pg_rest_after(Pg *pg, int64 us)
{
	pg->rest_us = us;
}

int
pg_in_flight(const Pg *pg)
{
	return pg->ncalls;
}

int
pg_backend_pid(const Pg *pg)
{
	return pg->conn == NULL ? 0 : PQbackendPID(pg->conn);
}

void
pg_on_notify(Pg *pg, PgNotifyFn fn)
{
	pg->on_notify = fn;
}

void
pg_forget(Pg *pg, const void *arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pg->calls)
	{
		Call	   *call = dlist_container(Call, node, iter.cur);

		if (call->arg == arg)
			call->fn = NULL;
	}
}

static void
free_call(Pg *pg, Call *call)
{
	dlist_delete(&call->node);
	pg->ncalls--;
	wire_clear(&call->params);
	PQclear(call->result);
	pfree(call);
}

/*
 * Takes each call off first: its callback may send again once we are back, and
 * the new call must not be among the lost ones.
 */
static void
lose_calls(Pg *pg, dlist_head *calls)
{
	while (!dlist_is_empty(calls))
	{
		Call	   *call = dlist_head_element(Call, node, calls);
		PgResultFn	fn = call->fn;
		void	   *arg = call->arg;

		free_call(pg, call);
		if (fn != NULL)
			fn(arg, PG_LOST, NULL);
	}
}

static void
unwatch(Pg *pg)
{
	if (pg->io != NULL)
		loop_io_free(pg->io);
	pg->io = NULL;
}

static void
drop_connection(Pg *pg)
{
	unwatch(pg);
	if (pg->lookup != NULL)
		lookup_cancel(pg->lookup);
	pg->lookup = NULL;
	if (pg->conn != NULL)
		PQfinish(pg->conn);
	pg->conn = NULL;
	pg->prepared.n = 0;
	pg->in_doubt = false;
}

/*
 * Do not log an unreachable server until all hosts were tried: a standby, say,
 * is always the wrong one.
 */
static void
go_down_because(Pg *pg, const char *why, bool needs_person)
{
	bool		was_up = pg->state == STATE_UP;
	bool		has_next = !was_up && hosts_next(pg->hosts);

	needs_person |= pg->conn != NULL && PQconnectionNeedsPassword(pg->conn);
	if (!has_next)
		trouble_down(&pg->trouble, loop_now_us(pg->loop), why, needs_person);
	drop_connection(pg);
	pg->state = STATE_WAITING;
	/* Many lose a server at once, and must not all come back at once. */
	loop_timer_start(pg->timer, has_next ? 0 : chance_delay(pg->backoff_us));
	if (!has_next)
		pg->backoff_us = Min(pg->backoff_us * 2, BACKOFF_MAX_US);
	lose_calls(pg, &pg->calls);
	if (!has_next)
		lose_calls(pg, &pg->held);
	if (was_up && pg->on_state != NULL)
		pg->on_state(pg->arg, false);
}

static void
go_down(Pg *pg, const char *why)
{
	go_down_because(pg, why, false);
}

void
pg_reset(Pg *pg, const char *why)
{
	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		return;
	pg->in_trouble = true;
	go_down(pg, why);
}

/* The session is of use again, not only connected. */
static void
out_of_trouble(Pg *pg)
{
	pg->backoff_us = BACKOFF_MIN_US;
	pg->in_trouble = false;
	trouble_over(&pg->trouble);
}

void
pg_close(Pg *pg)
{
	pg->state = STATE_NEW;
	drop_connection(pg);
	lose_calls(pg, &pg->calls);
	lose_calls(pg, &pg->held);
	loop_timer_free(pg->timer);
	hosts_free(pg->hosts);
	pfree(pg->role);
	pfree(pg);
}

/*
 * libpq closes its socket by itself when a write fails, and then no event
 * tells.  Our caller may not expect an answer yet, so the timer reports the
 * failure.
 */
static void
watch(Pg *pg, int want)
{
	int			fd = PQsocket(pg->conn);

	if (fd < 0)
	{
		loop_timer_start(pg->timer, 0);
		return;
	}
	if (pg->io == NULL)
		pg->io = loop_io_new(pg->loop, fd, on_ready, pg);
	loop_io_want(pg->io, want);
}

static void
flush(Pg *pg)
{
	int			left = PQflush(pg->conn);

	if (left < 0)
		go_down(pg, PQerrorMessage(pg->conn));
	else
		watch(pg, left > 0 ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

static Call *
add_call(Pg *pg, const PgStatement *statement, PgResultFn fn, void *arg)
{
	Call	   *call = palloc0(sizeof(Call));

	call->statement = statement;
	call->fn = fn;
	call->arg = arg;
	pg->ncalls++;
	return call;
}

/* A failure shows when we read the socket; the call is lost there. */
static void
send_call(Pg *pg, Call *call)
{
	dlist_push_tail(&pg->calls, &call->node);
	prepared_send(&pg->prepared, pg->conn, call->statement, &call->params,
				  &call->is_preparing);
	wire_clear(&call->params);
	watch(pg, LOOP_READ | LOOP_WRITE);
}

static void
send_held(Pg *pg)
{
	while (!dlist_is_empty(&pg->held))
		send_call(pg, dlist_container(Call, node, dlist_pop_head_node(&pg->held)));
}

void
pg_send(Pg *pg, const PgStatement *statement, WireParams *params,
		PgResultFn fn, void *arg)
{
	Call	   *call = add_call(pg, statement, fn, arg);

	Assert(pg->state == STATE_UP || pg->rest_us > 0);
	if (params != NULL)
	{
		call->params = *params;
		wire_init(params);
	}
	pg->used_us = loop_now_us(pg->loop);
	if (pg->state == STATE_UP)
		send_call(pg, call);
	else
	{
		dlist_push_tail(&pg->held, &call->node);
		pg_start(pg);
	}
}

static void
on_set_up(void *arg, PgOutcome outcome, PGresult *result)
{
	Pg		   *pg = arg;

	if (outcome == PG_LOST)
		return;
	if (outcome == PG_FAILED)
	{
		go_down(pg, "could not set the session up");
		return;
	}
	pg->state = STATE_UP;
	pg->up_us = loop_now_us(pg->loop);
	hosts_keep(pg->hosts);
	if (!pg->in_trouble)
		out_of_trouble(pg);
	loop_timer_stop(pg->timer);
	if (pg->rest_us > 0)
		loop_timer_start(pg->timer, pg->rest_us);
	send_held(pg);
	if (pg->on_state != NULL)
		pg->on_state(pg->arg, true);
}

/*
 * A pooler invents the process id that it reports.  Our settings would spoil
 * its other clients' sessions, and a cancel would hit another client's
 * backend.
 */
static void
on_session_known(void *arg, PgOutcome outcome, PGresult *result)
{
	Pg		   *pg = arg;

	if (outcome == PG_LOST)
		return;
	if (outcome == PG_FAILED)
		go_down(pg, PQresultErrorMessage(result));
	else if (wire_get_int4(result, 0, 0) != PQbackendPID(pg->conn))
		go_down_because(pg, "a pooler answers: name the server itself in \"postgres\"", true);
	else
		send_call(pg, add_call(pg, &call_set_up, on_set_up, pg));
}

/*
 * Other statements may well succeed while one goes on failing.  So only that
 * statement ends the trouble, unless the session has lasted long without it.
 */
static bool
is_of_use(const Pg *pg, const Call *call)
{
	return pg->failed == NULL || call->statement == pg->failed ||
		loop_now_us(pg->loop) - pg->up_us > BACKOFF_MAX_US;
}

/* The Sync of the oldest call was answered: its outcome is certain. */
static void
settle_call(Pg *pg)
{
	Call	   *call;
	PgOutcome	outcome;

	if (dlist_is_empty(&pg->calls))
		return;
	if (pg->in_doubt)
	{
		go_down(pg, "a commit was not confirmed by a standby");
		return;
	}
	call = dlist_head_element(Call, node, &pg->calls);
	switch (PQresultStatus(call->result))
	{
		case PGRES_TUPLES_OK:
		case PGRES_COMMAND_OK:
			outcome = PG_DONE;
			if (pg->state == STATE_UP && pg->in_trouble && is_of_use(pg, call))
				out_of_trouble(pg);
			break;
		default:
			outcome = PG_FAILED;
			if (pg->state == STATE_UP && !pg->in_trouble)
				pg->failed = call->statement;
			if (!call->statement->caller_logs)
				trouble_failed(&pg->trouble, loop_now_us(pg->loop),
							   call->statement->name, call->result);
			break;
	}
	dlist_delete(&call->node);
	pg->ncalls--;
	if (call->fn != NULL)
		call->fn(call->arg, outcome, call->result);
	PQclear(call->result);
	pfree(call);
}

/*
 * Rows arrive before the transaction commits, which happens at the Sync.  So
 * an error after them means that nothing happened.  A call that the server
 * skipped after an error tells nothing new.
 */
static void
keep_result(Call *call, PGresult *result)
{
	if (call->result != NULL && PQresultStatus(result) != PGRES_FATAL_ERROR)
	{
		PQclear(result);
		return;
	}
	PQclear(call->result);
	call->result = result;
}

static void
take_result(Pg *pg, PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	Call	   *call;

	if (dlist_is_empty(&pg->calls) || status == PGRES_PIPELINE_SYNC)
	{
		PQclear(result);
		if (status == PGRES_PIPELINE_SYNC)
			settle_call(pg);
		return;
	}
	call = dlist_head_element(Call, node, &pg->calls);
	if (call->is_preparing)
	{
		call->is_preparing = false;
		if (status == PGRES_COMMAND_OK)
		{
			PQclear(result);
			return;
		}
		prepared_forget(&pg->prepared, call->statement);
	}

	keep_result(call, result);
}

/*
 * A single NULL only separates results.  A second one in a row means that
 * there is nothing more; on a broken connection nothing else ever follows.
 */
static void
read_results(Pg *pg)
{
	int			nulls = 0;

	while (pg->conn != NULL && pg->ncalls > 0 && nulls < 2 &&
		   !PQisBusy(pg->conn))
	{
		PGresult   *result = PQgetResult(pg->conn);

		nulls = result == NULL ? nulls + 1 : 0;
		if (result != NULL)
			take_result(pg, result);
	}
}

static void
read_notifications(Pg *pg)
{
	PGnotify   *notify;

	while (pg->conn != NULL && (notify = PQnotifies(pg->conn)) != NULL)
	{
		if (pg->on_notify != NULL)
			pg->on_notify(pg->arg, notify->relname, notify->extra);
		PQfreemem(notify);
	}
}

static void
start_pipeline(Pg *pg)
{
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn))
	{
		go_down(pg, PQerrorMessage(pg->conn));
		return;
	}
	pg->state = STATE_SETTING_UP;
	send_call(pg, add_call(pg, &call_whose_session, on_session_known, pg));
}

/*
 * libpq may close its socket and open another one with the same number, so we
 * register the socket anew each time.
 */
static void
go_on_connecting(Pg *pg)
{
	unwatch(pg);
	switch (PQconnectPoll(pg->conn))
	{
		case PGRES_POLLING_READING:
			watch(pg, LOOP_READ);
			break;
		case PGRES_POLLING_WRITING:
			watch(pg, LOOP_WRITE);
			break;
		case PGRES_POLLING_OK:
			start_pipeline(pg);
			break;
		default:
			go_down(pg, PQerrorMessage(pg->conn));
			break;
	}
}

static void
on_ready(void *arg, int ready)
{
	Pg		   *pg = arg;

	if (pg->state == STATE_CONNECTING)
	{
		go_on_connecting(pg);
		return;
	}
	if ((ready & LOOP_READ) && !PQconsumeInput(pg->conn))
	{
		/* data that arrived before the end still counts */
		read_results(pg);
		if (pg->conn != NULL)
			go_down(pg, PQerrorMessage(pg->conn));
		return;
	}
	read_results(pg);
	read_notifications(pg);
	if (pg->conn != NULL)
		flush(pg);
}

static void
connect_now(Pg *pg)
{
	char	   *name = psprintf("%s %s", program_invocation_short_name, pg->role);

	pg->conn = hosts_connect(pg->hosts, name);
	pfree(name);
	if (pg->conn == NULL || PQstatus(pg->conn) == CONNECTION_BAD)
	{
		go_down(pg, pg->conn == NULL ? "out of memory" : PQerrorMessage(pg->conn));
		return;
	}
	PQsetNoticeReceiver(pg->conn, on_notice, pg);
	(void) PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE); /* for the SQLSTATE */
	watch(pg, LOOP_WRITE);
}

static void
on_lookup(void *arg, const char *addresses, const char *error)
{
	Pg		   *pg = arg;

	pg->lookup = NULL;
	if (error != NULL)
	{
		go_down(pg, error);
		return;
	}
	hosts_found(pg->hosts, addresses);
	connect_now(pg);
}

static void
start_attempt(Pg *pg)
{
	const char *unknown = hosts_unknown(pg->hosts);

	pg->state = STATE_CONNECTING;
	loop_timer_start(pg->timer, hosts_timeout_us(pg->hosts));
	if (unknown == NULL)
	{
		connect_now(pg);
		return;
	}
	pg->lookup = lookup_start(pg->loop, unknown, on_lookup, pg);
	if (pg->lookup == NULL)
		go_down(pg, strerror(errno));
}

/*
 * Closes a session that nobody has used for a while.  That is not a failure.
 */
static void
look_for_rest(Pg *pg)
{
	int64		left = pg->used_us + pg->rest_us - loop_now_us(pg->loop);

	if (pg->ncalls > 0 || left > 0)
	{
		loop_timer_start(pg->timer, pg->ncalls > 0 ? pg->rest_us : left);
		return;
	}
	out_of_trouble(pg);
	drop_connection(pg);
	pg->state = STATE_NEW;
}

/* Also ends an attempt that takes too long, or a broken connection. */
static void
on_timer(void *arg)
{
	Pg		   *pg = arg;
	bool		is_closed = pg->conn != NULL && PQsocket(pg->conn) < 0;
	const char *why = is_closed ? PQerrorMessage(pg->conn) : "could not connect in time";

	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		start_attempt(pg);
	else if (pg->state == STATE_UP && pg->rest_us > 0 && !is_closed)
		look_for_rest(pg);
	else
		go_down(pg, why);
}
