/*-------------------------------------------------------------------------
 *
 * pg.c
 *		One asynchronous connection to PostgreSQL that comes back by itself.
 *
 * attempt.c connects, silence.c tells when it hangs, and pipeline.c has its calls.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/log.h"
#include "base/text.h"
#include "pg/answer.h"
#include "pg/attempt.h"
#include "pg/backoff.h"
#include "pg/former.h"
#include "pg/misfit.h"
#include "pg/hosts.h"
#include "pg/pg.h"
#include "pg/pipeline.h"
#include "pg/silence.h"
#include "pg/trouble.h"

/* The longest silence, of a server that is slow. */
#define GIVE_UP_MOST_US (16 * PG_GIVE_UP_US)

/* A session with an older library than the SQL needs is renewed so often. */
#define RENEW_US SECONDS_TO_US(10)

/*
 * Settings that our sessions must not inherit from the defaults of the
 * database or the role, and settings by which the server soon notices that we
 * are gone.  A grab must be durable before its handler starts, hence
 * synchronous_commit; we leave a stronger setting alone.
 */
static const PgStatement set_up = {"setup",
	"SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),"
	" pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
	" pg_catalog.set_config('default_transaction_read_only', 'off', false),"
	" pg_catalog.set_config('default_transaction_deferrable', 'off', false),"
	" pg_catalog.set_config('statement_timeout', '0', false),"
	" pg_catalog.set_config('lock_timeout', '0', false),"
	" pg_catalog.set_config('idle_in_transaction_session_timeout', '0', false),"
	" pg_catalog.set_config('idle_session_timeout', '0', false),"
	" CASE WHEN pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL"	/* since 17 */
	" THEN pg_catalog.set_config('transaction_timeout', '0', false) END,"
	" pg_catalog.set_config('jit', 'off', false),"
	" pg_catalog.set_config('client_min_messages', 'warning', false),"
	" pg_catalog.set_config('tcp_keepalives_idle', '10', false),"
	" pg_catalog.set_config('tcp_keepalives_interval', '3', false),"
	" pg_catalog.set_config('tcp_keepalives_count', '3', false),"
	" pg_catalog.set_config('client_connection_check_interval', '5s', false),"
	" pg_catalog.set_config('synchronous_commit', CASE WHEN"
	" pg_catalog.current_setting('synchronous_commit') IN ('off', 'local')"
	" THEN 'on' ELSE pg_catalog.current_setting('synchronous_commit') END, false)"
};

/*
 * We send this before we set anything.  It has no name, so it leaves nothing
 * behind in a session that belongs to another client.
 */
static const PgStatement whose_session = {"",
	"SELECT pg_catalog.pg_backend_pid(), (SELECT a.backend_start"
	" FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a)",
.caller_logs = true, .answer = "1ii"};

/*
 * Takes the search_path of set_up for granted.  The end of a backend would
 * also end its wait for a standby, and show a commit that the standby lacks.
 */
static const PgStatement end_former = {"end_former",
	"SELECT pg_catalog.pg_terminate_backend(a.pid)"
	" FROM pg_catalog.pg_stat_get_activity($1::int4) a"
	" WHERE a.backend_start = timestamptz 'epoch' + $2::int8 * interval '1 microsecond'"
" AND a.wait_event IS DISTINCT FROM 'SyncRep'"};

typedef enum PgState
{
	STATE_NEW,					/* or at rest */
	STATE_WAITING,				/* for the next attempt to connect */
	STATE_CONNECTING,
	STATE_SETTING_UP,
	STATE_UP
} PgState;

struct Pg
{
	Loop	   *loop;
	char	   *conninfo;
	int			server;			/* the one in it that worked last */
	Attempt    *attempt;		/* NULL: none is running */
	int			step;			/* the attempt's, when the timer was started */
	int64		step_us;		/* the most time for an address */
	char	   *role;
	void		(*on_state) (void *arg, bool is_up);
	void		(*on_notify) (void *arg, const char *channel, const char *payload);
	void	   *arg;
	PGconn	   *conn;
	LoopIo	   *io;
	LoopTimer  *timer;			/* next attempt, end of this one, or rest */
	PgState		state;
	Backoff		backoff;
	bool		in_trouble;		/* connects, but its last session failed */
	const PgStatement *failed;	/* the statement that caused the trouble */
	int64		up_us;			/* when the session was set up */
	int64		rest_us;		/* rests after this time; 0: never */
	int64		used_us;		/* when the last call was sent */
	Trouble		trouble;
	bool		in_doubt;		/* a commit was not confirmed by a standby */
	int64		waits_us;		/* the next call waits so long on purpose */
	int64		started_us;		/* when the backend started */
	Former		former;			/* the session before, if we gave it up */
	Silence		silence;
	Pipeline	pipeline;
};

static void on_timer(void *arg);
static void on_silent(void *arg, const char *why);
static void start_attempt(Pg *pg);
static void on_ready(void *arg, int ready);

static void
set_state(Pg *pg, PgState state)
{
	Assert(state <= STATE_CONNECTING || state == pg->state + 1);
	pg->state = state;
}

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
	pg->conninfo = pstrdup(conninfo);
	pg->role = pstrdup(role);
	pg->trouble.role = pg->role;
	pg->on_state = on_state;
	pg->arg = arg;
	pg->timer = loop_timer_new(loop, on_timer, pg);
	backoff_init(&pg->backoff, pg->timer, pg->conninfo);
	pipeline_init(&pg->pipeline);
	silence_init(&pg->silence, loop, &pg->pipeline, pg->role);
	silence_limit(&pg->silence, PG_GIVE_UP_US, GIVE_UP_MOST_US);
	silence_on_end(&pg->silence, on_silent, pg);
	return pg;
}

void
pg_start(Pg *pg)
{
	if (pg->state == STATE_NEW)
		start_attempt(pg);
}

const char *
pg_misfit(int64 now_us)
{
	return misfit_text(now_us);
}

bool
pg_is_up(const Pg *pg)
{
	return pg->state == STATE_UP;
}

bool
pg_is_failing(const Pg *pg)
{
	return pg->trouble.state != NO_TROUBLE;
}

void
pg_rest_after(Pg *pg, int64 us)
{
	pg->rest_us = us;
}

void
pg_give_up_within(Pg *pg, int64 us)
{
	silence_limit(&pg->silence, Min(PG_GIVE_UP_US, us), us);
}

void
pg_expect_wait(Pg *pg, int64 us)
{
	pg->waits_us = us;
}

char *
pg_silent(void)
{
	return silence_worst();
}

int
pg_in_flight(const Pg *pg)
{
	return pg->pipeline.ncalls;
}

int
pg_backend_pid(const Pg *pg)
{
	return pg->conn == NULL ? 0 : PQbackendPID(pg->conn);
}

const char *
pg_login(const Pg *pg)
{
	return pg->conn == NULL ? NULL : PQuser(pg->conn);
}

void
pg_add_addresses(const Pg *pg, WireParams *params)
{
	hosts_add_addresses(pg->conninfo, pg->conn, params);
}

void
pg_on_notify(Pg *pg, PgNotifyFn fn)
{
	pg->on_notify = fn;
}

void
pg_forget(Pg *pg, const void *arg)
{
	pipeline_forget(&pg->pipeline, arg);
}

/* ---- down and up ---- */

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
	if (pg->attempt != NULL)
		attempt_cancel(pg->attempt);
	pg->attempt = NULL;
	if (pg->conn != NULL)
		PQfinish(pg->conn);
	pg->conn = NULL;
	pg->in_doubt = false;
}

static void
go_down_because(Pg *pg, const char *why, TroubleState trouble)
{
	bool		was_up = pg->state == STATE_UP;
	bool		was_connecting = pg->state == STATE_CONNECTING;

	/* the server was reached but gave no session: begin with another one */
	if (pg->state == STATE_SETTING_UP)
		pg->server++;
	trouble_down(&pg->trouble, loop_now_us(pg->loop), why, trouble);
	if (!was_up)
		former_close(&pg->former);
	drop_connection(pg);
	set_state(pg, STATE_WAITING);
	silence_down(&pg->silence);
	backoff_wait(&pg->backoff, was_connecting);
	pipeline_lose_sent(&pg->pipeline);
	pipeline_lose_held(&pg->pipeline);
	if (was_up && pg->on_state != NULL)
		pg->on_state(pg->arg, false);
}

static void
go_down(Pg *pg, const char *why)
{
	go_down_because(pg, why, TROUBLE_HEALS);
}

void
pg_reset(Pg *pg, const char *why)
{
	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		return;
	pg->in_trouble = true;
	go_down(pg, why);
}

/*
 * Leaves the connection open until the next one is there.  Nobody reads its late
 * answers.
 */
static void
on_silent(void *arg, const char *why)
{
	Pg		   *pg = arg;
	char	   *text = psprintf("%s (backend %d)", why, pg_backend_pid(pg));

	unwatch(pg);
	former_keep(&pg->former, pg->conn, pg->started_us);
	pg->conn = NULL;
	pg->in_trouble = true;
	pg->trouble.state = NO_TROUBLE; /* each one is logged */
	go_down(pg, text);
	pfree(text);
}

static void
out_of_trouble(Pg *pg)
{
	backoff_reset(&pg->backoff);
	pg->in_trouble = false;
	trouble_over(&pg->trouble);
}

void
pg_close(Pg *pg)
{
	set_state(pg, STATE_NEW);
	backoff_end(&pg->backoff);
	drop_connection(pg);
	former_close(&pg->former);
	pipeline_lose_sent(&pg->pipeline);
	pipeline_lose_held(&pg->pipeline);
	silence_clear(&pg->silence);
	loop_timer_free(pg->timer);
	text_forget(pg->conninfo);
	pfree(pg->role);
	pfree(pg);
}

/*
 * libpq closes its socket itself when a write fails, and the loop then gets no
 * event.  Our caller may not expect an answer yet, so the timer reports the
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

/* A failure shows when we read the socket, and the calls are lost then. */
static void
send_held(Pg *pg)
{
	pipeline_send_held(&pg->pipeline, pg->conn, loop_now_us(pg->loop));
	silence_sent(&pg->silence);
	watch(pg, pipeline_is_sent(pg->conn) ? LOOP_READ : LOOP_READ | LOOP_WRITE);
}

void
pg_send(Pg *pg, const PgStatement *statement, WireParams *params,
		PgResultFn fn, void *arg)
{
	Call	   *call = pipeline_add(&pg->pipeline, statement, params, fn, arg);

	Assert(pg->state == STATE_UP || pg->rest_us > 0);
	pg->used_us = loop_now_us(pg->loop);
	call->waits_us = pg->waits_us;
	pg->waits_us = 0;
	pipeline_hold(&pg->pipeline, call);
	if (pg->state == STATE_UP)
		send_held(pg);
	else
		pg_start(pg);
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

/* The program does without the call until the extension is updated. */
static bool
is_of_newer_sql(const Call *call)
{
	return call->statement->is_newer && !misfit_is_of_session(call->result) &&
		strcmp(pg_sqlstate(call->result), "42883") == 0;
}

/* Returns false after it has dropped a connection whose answer is not what we asked for. */
static bool
is_as_promised(Pg *pg, const Call *call)
{
	char	   *fault = answer_fault(call->statement, call->result);

	if (fault != NULL)
		pg_reset(pg, fault);
	pfree(fault);
	return fault == NULL;
}

/* The Sync of the call was answered: its outcome is certain, if we have the answer. */
static void
settle_call(Pg *pg, const Call *call)
{
	if (pg->in_doubt)
	{
		go_down(pg, "a commit was not confirmed by a standby");
		return;
	}
	if (!pipeline_is_of_server(call))
	{
		pg_reset(pg, "an answer could not be read");
		return;
	}
	if (pipeline_succeeded(call) && !is_as_promised(pg, call))
		return;
	if (pipeline_succeeded(call))
	{
		misfit_succeeded(call->statement);
		silence_answered(&pg->silence, call);
		if (pg->state == STATE_UP && pg->in_trouble && is_of_use(pg, call))
			out_of_trouble(pg);
		pipeline_end(&pg->pipeline, PG_DONE);
		return;
	}
	if (is_of_newer_sql(call))
	{
		pipeline_end(&pg->pipeline, PG_FAILED);
		return;
	}
	if (pg->state == STATE_UP && !pg->in_trouble)
		pg->failed = call->statement;
	if (misfit_failed(loop_now_us(pg->loop), call->statement, pg_login(pg), call->result))
	{
		if (misfit_is_of_session(call->result) &&
			loop_now_us(pg->loop) - pg->up_us > RENEW_US)
		{
			pg_reset(pg, "the session has an older library of twtasks");
			return;
		}
	}
	else if (call->failed_before || !call->statement->caller_logs)
		trouble_failed(&pg->trouble, loop_now_us(pg->loop),
					   (call->failed_before ? call->statement->before : call->statement)->name,
					   call->result);
	pipeline_end(&pg->pipeline, PG_FAILED);
}

static void
read_results(Pg *pg)
{
	const Call *call;
	const char *fault = NULL;

	while (pg->conn != NULL && (call = pipeline_read(&pg->pipeline, pg->conn, &fault)) != NULL)
		settle_call(pg, call);
	if (pg->conn != NULL && fault != NULL)
		pg_reset(pg, fault);
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
on_ready(void *arg, int ready)
{
	Pg		   *pg = arg;

	if (ready & LOOP_READ)
		silence_heard(&pg->silence);
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

/* ---- connecting ---- */

/* Sends a call of our own, before those that wait for the session. */
static void
send_first(Pg *pg, const PgStatement *statement, WireParams *params, PgResultFn fn)
{
	Call	   *call = pipeline_add(&pg->pipeline, statement, params, fn, pg);

	call->sent_us = loop_now_us(pg->loop);
	pipeline_send(&pg->pipeline, pg->conn, call);
	watch(pg, LOOP_READ | LOOP_WRITE);
}

static void
on_set_up(void *arg, PgOutcome outcome, PGresult *result)
{
	Pg		   *pg = arg;
	WireParams	former;

	if (outcome == PG_LOST)
		return;
	if (outcome == PG_FAILED)
	{
		go_down(pg, "could not set the session up");
		return;
	}
	set_state(pg, STATE_UP);
	backoff_connected(&pg->backoff);
	silence_up(&pg->silence);
	pg->up_us = loop_now_us(pg->loop);
	if (!pg->in_trouble)
		out_of_trouble(pg);
	loop_timer_stop(pg->timer);
	if (pg->rest_us > 0)
		loop_timer_start(pg->timer, pg->rest_us);
	if (former_take(&pg->former, &former))
		send_first(pg, &end_former, &former, NULL);
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
	else if (wire_get_int(result, 0, 0) != PQbackendPID(pg->conn))
		go_down_because(pg, "a pooler answers: name the server itself in \"postgres\"",
						TROUBLE_NEEDS_PERSON);
	else
	{
		pg->started_us = PQgetisnull(result, 0, 1) ? 0 : wire_get_time(result, 0, 1);
		send_first(pg, &set_up, NULL, on_set_up);
	}
}

static void
begin_session(Pg *pg)
{
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn))
	{
		go_down(pg, PQerrorMessage(pg->conn));
		return;
	}
	set_state(pg, STATE_SETTING_UP);
	pipeline_begin(&pg->pipeline);
	send_first(pg, &whose_session, NULL, on_session_known);
}

static void
on_attempt(void *arg, Attempt *attempt, PGconn *conn, const char *error)
{
	Pg		   *pg = arg;

	pg->attempt = NULL;
	if (error != NULL)
	{
		go_down_because(pg, error, conn != NULL && PQconnectionNeedsPassword(conn) ?
						TROUBLE_NEEDS_PERSON : TROUBLE_HEALS);
		return;
	}
	pg->conn = conn;
	pg->server = attempt_server(attempt);
	PQsetNoticeReceiver(conn, on_notice, pg);
	if (attempt_warnings(attempt)[0] != '\0')
		log_line(TWT_LOG_WARN, "postgres", "%s: %s", pg->role, attempt_warnings(attempt));
	loop_timer_start(pg->timer, pg->step_us);
	begin_session(pg);
}

/* A new address has its own time. */
static void
watch_attempt(Pg *pg)
{
	pg->step = attempt_step(pg->attempt);
	pg->step_us = attempt_step_us(pg->attempt);
	loop_timer_start(pg->timer, pg->step_us);
}

static void
start_attempt(Pg *pg)
{
	char	   *name = psprintf("%s %s", program_invocation_short_name, pg->role);
	AttemptPlan plan = {pg->conninfo, pg->server, name};

	set_state(pg, STATE_CONNECTING);
	backoff_end(&pg->backoff);
	silence_down(&pg->silence);
	pg->attempt = attempt_start(pg->loop, &plan, on_attempt, pg);
	pfree(name);
	if (pg->attempt == NULL)
		go_down(pg, errno == EBUSY ? "too many earlier attempts to connect hang" : strerror(errno));
	else
		watch_attempt(pg);
}

/* Closes a session that has had no call for a while.  That is not a failure. */
static void
look_for_rest(Pg *pg)
{
	int64		left = pg->used_us + pg->rest_us - loop_now_us(pg->loop);

	if (pg->pipeline.ncalls > 0 || left > 0)
	{
		loop_timer_start(pg->timer, pg->pipeline.ncalls > 0 ? pg->rest_us : left);
		return;
	}
	out_of_trouble(pg);
	drop_connection(pg);
	set_state(pg, STATE_NEW);
	silence_rest(&pg->silence);
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
	else if (pg->attempt != NULL && attempt_step(pg->attempt) != pg->step)
		watch_attempt(pg);
	else if (pg->state == STATE_UP && pg->rest_us > 0 && !is_closed)
		look_for_rest(pg);
	else
		go_down(pg, why);
}
