/*-------------------------------------------------------------------------
 *
 * sql_guard.c
 *		Ends a statement of a SQL handler from outside.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "execute/sql/sql_guard.h"
#include "calls/calls.h"

#define AGAIN_US SECONDS_TO_US(1)

struct SqlGuard
{
	Loop	   *loop;
	Node	   *node;
	Pg		   *pg;
	LoopTimer  *timer;			/* when the statement has taken too long */
	bool		is_watching;
	bool		has_ended;		/* we ended the session for being late */
	bool		is_under_way;	/* a signal was sent and not answered */
	bool		is_cancel;		/* that signal is a cancel */
	bool		is_orphaned;	/* freed while a signal was under way */
};

/*
 * If the answer to a signal is lost, the signal may still arrive at any time.
 * So its session is closed.
 */
static void
on_signalled(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlGuard   *guard = arg;

	guard->is_under_way = false;
	if (guard->is_orphaned)
	{
		pfree(guard);
		return;
	}
	if (outcome == PG_LOST && guard->is_cancel)
		pg_reset(guard->pg, "whether its statement was cancelled is not known");
	loop_want_turn(guard->loop);
}

static void
send_signal(SqlGuard *guard, const PgStatement *statement)
{
	Pg		   *control = node_pg(guard->node);
	WireParams	params;

	guard->is_under_way = true;
	guard->is_cancel = statement == &call_cancel_backend;
	wire_init(&params);
	wire_add_int4(&params, pg_backend_pid(guard->pg));
	pg_send(control, statement, &params, on_signalled, guard);
}

static void
on_late(void *arg)
{
	SqlGuard   *guard = arg;

	/*
	 * repeat until the statement ends: a lost connection may lose the signal
	 */
	loop_timer_start(guard->timer, AGAIN_US);
	if (guard->is_under_way || !pg_is_up(guard->pg) ||
		!pg_is_up(node_pg(guard->node)))
		return;
	if (!guard->has_ended)
		log_line(TWT_LOG_WARN, "execute",
				 "ending a session whose function goes on beyond its deadline");
	guard->has_ended = true;
	send_signal(guard, &call_terminate_backend);
}

void
sql_guard_watch(SqlGuard *guard, int64 patience_us)
{
	guard->is_watching = true;
	guard->has_ended = false;
	loop_timer_start(guard->timer, patience_us);
}

bool
sql_guard_release(SqlGuard *guard)
{
	guard->is_watching = false;
	loop_timer_stop(guard->timer);
	return guard->has_ended;
}

void
sql_guard_cancel(SqlGuard *guard)
{
	if (guard->is_watching && !guard->is_under_way && pg_is_up(guard->pg) &&
		pg_is_up(node_pg(guard->node)))
		send_signal(guard, &call_cancel_backend);
}

bool
sql_guard_is_idle(const SqlGuard *guard)
{
	return !guard->is_under_way;
}

SqlGuard *
sql_guard_new(Loop *loop, Node *node, Pg *pg)
{
	SqlGuard   *guard = palloc0(sizeof(SqlGuard));

	guard->loop = loop;
	guard->node = node;
	guard->pg = pg;
	guard->timer = loop_timer_new(loop, on_late, guard);
	return guard;
}

/* The answer to a signal may still come and needs the guard. */
void
sql_guard_free(SqlGuard *guard)
{
	loop_timer_free(guard->timer);
	guard->is_orphaned = true;
	if (!guard->is_under_way)
		pfree(guard);
}
