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

#include "pg/calls.h"
#include "pg/pg.h"
#include "pg/pg_private.h"

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
	hosts_keep(pg->hosts);
	if (!pg->in_trouble)
		pg_out_of_trouble(pg);
	loop_timer_stop(pg->timer);
	if (pg->rest_us > 0)
		loop_timer_start(pg->timer, pg->rest_us);
	if (former_take(&pg->former, &former))
		send_first(pg, &call_end_former, &former, NULL);
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
		send_first(pg, &call_set_up, NULL, on_set_up);
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
	send_first(pg, &call_whose_session, NULL, on_session_known);
}
