/*-------------------------------------------------------------------------
 *
 * pg.c
 *		One asynchronous connection to PostgreSQL that comes back by itself.
 *
 * This file opens, watches and closes the connection; set_up.c makes a session of
 * it, and pipeline.c has its calls.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/chance.h"
#include "base/log.h"
#include "pg/misfit.h"
#include "pg/pg.h"
#include "pg/pg_private.h"

#define BACKOFF_MIN_US MS_TO_US(50)
#define BACKOFF_MAX_US SECONDS_TO_US(1)

/* The longest silence, of a server that is slow. */
#define GIVE_UP_MOST_US (16 * PG_GIVE_UP_US)

/* A session with an older library than the SQL needs is renewed so often. */
#define RENEW_US SECONDS_TO_US(10)

static void on_timer(void *arg);
static void on_silent(void *arg, const char *why);
static void start_attempt(Pg *pg);
static void on_ready(void *arg, int ready);

void
pg_set_state(Pg *pg, PgState state)
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
	pg->backoff_us = BACKOFF_MIN_US;
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
	return pg->trouble.state != TROUBLE_NONE;
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

void
pg_go_down_because(Pg *pg, const char *why, TroubleState trouble)
{
	bool		was_up = pg->state == STATE_UP;

	/* it may be of no use, and another one of use */
	if (pg->state == STATE_SETTING_UP)
		pg->server++;
	trouble_down(&pg->trouble, loop_now_us(pg->loop), why, trouble);
	if (!was_up)
		former_close(&pg->former);
	drop_connection(pg);
	pg_set_state(pg, STATE_WAITING);
	silence_down(&pg->silence);
	/* Random: many clients lose a server at once. */
	loop_timer_start(pg->timer, chance_delay(pg->backoff_us));
	pg->backoff_us = Min(pg->backoff_us * 2, BACKOFF_MAX_US);
	pipeline_lose_sent(&pg->pipeline);
	pipeline_lose_held(&pg->pipeline);
	if (was_up && pg->on_state != NULL)
		pg->on_state(pg->arg, false);
}

void
pg_go_down(Pg *pg, const char *why)
{
	pg_go_down_because(pg, why, TROUBLE_HEALS);
}

void
pg_reset(Pg *pg, const char *why)
{
	if (pg->state == STATE_NEW || pg->state == STATE_WAITING)
		return;
	pg->in_trouble = true;
	pg_go_down(pg, why);
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
	pg->trouble.state = TROUBLE_NONE;	/* each one is logged */
	pg_go_down(pg, text);
	pfree(text);
}

void
pg_out_of_trouble(Pg *pg)
{
	pg->backoff_us = BACKOFF_MIN_US;
	pg->in_trouble = false;
	trouble_over(&pg->trouble);
}

void
pg_close(Pg *pg)
{
	pg_set_state(pg, STATE_NEW);
	drop_connection(pg);
	former_close(&pg->former);
	pipeline_lose_sent(&pg->pipeline);
	pipeline_lose_held(&pg->pipeline);
	silence_clear(&pg->silence);
	loop_timer_free(pg->timer);
	pfree(pg->conninfo);
	pfree(pg->role);
	pfree(pg);
}

/*
 * libpq closes its socket itself when a write fails, and the loop then gets no
 * event.  Our caller may not expect an answer yet, so the timer reports the
 * failure.
 */
void
pg_watch(Pg *pg, int want)
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
		pg_go_down(pg, PQerrorMessage(pg->conn));
	else
		pg_watch(pg, left > 0 ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* A failure shows when we read the socket, and the calls are lost then. */
void
pg_send_held(Pg *pg)
{
	pipeline_send_held(&pg->pipeline, pg->conn, loop_now_us(pg->loop));
	silence_sent(&pg->silence);
	pg_watch(pg, pipeline_is_sent(pg->conn) ? LOOP_READ : LOOP_READ | LOOP_WRITE);
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
		pg_send_held(pg);
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

static bool
has_succeeded(const Call *call)
{
	return PQresultStatus(call->result) == PGRES_TUPLES_OK ||
		PQresultStatus(call->result) == PGRES_COMMAND_OK;
}

/*
 * An error without a SQLSTATE is libpq's own, such as for want of memory: the
 * server may have committed.
 */
static bool
is_of_server(const Call *call)
{
	return has_succeeded(call) || pg_sqlstate(call->result)[0] != '\0';
}

/* The Sync of the call was answered: its outcome is certain, if we have the answer. */
static void
settle_call(Pg *pg, const Call *call)
{
	if (pg->in_doubt)
	{
		pg_go_down(pg, "a commit was not confirmed by a standby");
		return;
	}
	if (!is_of_server(call))
	{
		pg_reset(pg, "an answer could not be read");
		return;
	}
	if (has_succeeded(call))
	{
		misfit_succeeded(call->statement);
		silence_answered(&pg->silence, call);
		if (pg->state == STATE_UP && pg->in_trouble && is_of_use(pg, call))
			pg_out_of_trouble(pg);
		pipeline_end(&pg->pipeline, PG_DONE);
		return;
	}
	if (pg->state == STATE_UP && !pg->in_trouble)
		pg->failed = call->statement;
	if (misfit_failed(loop_now_us(pg->loop), call->statement, call->result))
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

	while (pg->conn != NULL && (call = pipeline_read(&pg->pipeline, pg->conn)) != NULL)
		settle_call(pg, call);
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
			pg_go_down(pg, PQerrorMessage(pg->conn));
		return;
	}
	read_results(pg);
	read_notifications(pg);
	if (pg->conn != NULL)
		flush(pg);
}

static void
on_attempt(void *arg, Attempt *attempt, PGconn *conn, const char *error)
{
	Pg		   *pg = arg;

	pg->attempt = NULL;
	if (error != NULL)
	{
		pg_go_down_because(pg, error, conn != NULL && PQconnectionNeedsPassword(conn) ?
						   TROUBLE_NEEDS_PERSON : TROUBLE_HEALS);
		return;
	}
	pg->conn = conn;
	pg->server = attempt_server(attempt);
	PQsetNoticeReceiver(conn, on_notice, pg);
	if (attempt_warnings(attempt)[0] != '\0')
		log_line(TWT_LOG_WARN, "postgres", "%s: %s", pg->role, attempt_warnings(attempt));
	loop_timer_start(pg->timer, pg->step_us);
	pg_set_up(pg);
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

	pg_set_state(pg, STATE_CONNECTING);
	silence_down(&pg->silence);
	pg->attempt = attempt_start(pg->loop, &plan, on_attempt, pg);
	pfree(name);
	if (pg->attempt == NULL)
		pg_go_down(pg, strerror(errno));
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
	pg_out_of_trouble(pg);
	drop_connection(pg);
	pg_set_state(pg, STATE_NEW);
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
		pg_go_down(pg, why);
}
