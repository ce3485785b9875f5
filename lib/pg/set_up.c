/*-------------------------------------------------------------------------
 *
 * set_up.c
 *		Makes a session of a new connection.
 *
 *		from: pg.c			to: pg.c (pg_send_held)
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "pg/pg.h"
#include "pg/pg_private.h"

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
.caller_logs = true};

/*
 * Takes the search_path of set_up for granted.  The end of a backend would
 * also end its wait for a standby, and show a commit that the standby lacks.
 */
static const PgStatement end_former = {"end_former",
	"SELECT pg_catalog.pg_terminate_backend(a.pid)"
	" FROM pg_catalog.pg_stat_get_activity($1::int4) a"
	" WHERE a.backend_start = timestamptz 'epoch' + $2::int8 * interval '1 microsecond'"
" AND a.wait_event IS DISTINCT FROM 'SyncRep'"};

/* Sends a call of our own, before those that wait for the session. */
static void
send_first(Pg *pg, const PgStatement *statement, WireParams *params, PgResultFn fn)
{
	Call	   *call = pipeline_add(&pg->pipeline, statement, params, fn, pg);

	call->sent_us = loop_now_us(pg->loop);
	pipeline_send(&pg->pipeline, pg->conn, call);
	pg_watch(pg, LOOP_READ | LOOP_WRITE);
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
		pg_go_down(pg, "could not set the session up");
		return;
	}
	pg_set_state(pg, STATE_UP);
	silence_up(&pg->silence);
	pg->up_us = loop_now_us(pg->loop);
	if (!pg->in_trouble)
		pg_out_of_trouble(pg);
	loop_timer_stop(pg->timer);
	if (pg->rest_us > 0)
		loop_timer_start(pg->timer, pg->rest_us);
	if (former_take(&pg->former, &former))
		send_first(pg, &end_former, &former, NULL);
	pg_send_held(pg);
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
		pg_go_down(pg, PQresultErrorMessage(result));
	else if (wire_get_int(result, 0, 0) != PQbackendPID(pg->conn))
		pg_go_down_because(pg, "a pooler answers: name the server itself in \"postgres\"",
						   TROUBLE_NEEDS_PERSON);
	else
	{
		pg->started_us = PQgetisnull(result, 0, 1) ? 0 : wire_get_time(result, 0, 1);
		send_first(pg, &set_up, NULL, on_set_up);
	}
}

void
pg_set_up(Pg *pg)
{
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn))
	{
		pg_go_down(pg, PQerrorMessage(pg->conn));
		return;
	}
	pg_set_state(pg, STATE_SETTING_UP);
	pipeline_begin(&pg->pipeline);
	send_first(pg, &whose_session, NULL, on_session_known);
}
