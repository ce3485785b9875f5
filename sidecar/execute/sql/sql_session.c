/*-------------------------------------------------------------------------
 *
 * sql_session.c
 *		One session of a SQL handler, and the batch of tasks it works on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "execute/sql/sql_batch.h"
#include "execute/sql/sql_failure.h"
#include "execute/sql/sql_guard.h"
#include "execute/sql/sql_session.h"
#include "grab/lost_grabs.h"
#include "calls/calls.h"

/* SQLSTATE when a function has deallocated our prepared statements. */
#define STATEMENTS_GONE "26000"

typedef enum SessionState
{
	SESSION_IDLE,
	SESSION_GRANTING,
	SESSION_EXECUTING,
	SESSION_COUNTING,
	SESSION_GRANT_LOST,
	SESSION_ASKING_GRANT,
	SESSION_LOST,
	SESSION_ASKING
} SessionState;

struct SqlSession
{
	const SqlSetup *setup;
	Loop	   *loop;
	Pg		   *pg;
	SqlGuard   *guard;
	SessionState state;
	Batch	   *batch;			/* NULL: idle */
	int			size;			/* tasks of the batch when it was sent */
	bool		is_granted;		/* the batch of one was grabbed first ... */
	Task		granted;		/* ... as this task */
	TaskResult	failure;		/* the result when a batch of one fails */
	char	   *error;			/* message for that failure */
	int64		timeout_us;		/* statement_timeout of the session; 0: not
								 * set */
	int64		statement_us;	/* timeout of the batch */
	int64		sent_us;
};

/* The state changes when a statement is sent, answered or lost. */
static void
set_state(SqlSession *session, SessionState state)
{
	session->state = state;
	if (state == SESSION_IDLE)
		loop_want_turn(session->loop);
}

static void
end_batch(SqlSession *session)
{
	if (session->batch != NULL)
		batch_drop(session->batch);
	session->batch = NULL;
	session->is_granted = false;
	pfree(session->error);
	session->error = NULL;
	set_state(session, SESSION_IDLE);
}

/*
 * The backend of the lost statement still holds the rows.  The other tasks of the
 * handler need not wait for it.
 */
static void
leave_batch(SqlSession *session)
{
	lost_grabs_add(session->setup->parts->lost, session->batch);
	session->batch = NULL;
	end_batch(session);
}

/* The statement had no effect, so its tasks wait again. */
static void
put_back(SqlSession *session, bool each_alone)
{
	sql_batch_put_back(session->batch, session->setup->waiting, each_alone);
	end_batch(session);
}

/* ---- grabs ---- */

static void
send_grab(SqlSession *session, const PgStatement *statement, PgResultFn fn)
{
	const RunnerParts *parts = session->setup->parts;
	WireParams	params;

	wire_init(&params);
	batch_add_ids(session->batch, &params);
	wire_add_int8(&params, node_incarnation(parts->node));
	wire_add_int8(&params, session->batch->token);
	if (statement == &call_grab_bare)
	{
		batch_add_policies(session->batch, parts->config, &params);
		batch_add_places(session->batch, &params);
	}
	pg_send(session->pg, statement, &params, fn, session);
}

/* Fails the grabbed tasks.  A limit set since then may refuse one instead. */
static void
fail_grabbed(SqlSession *session, const PGresult *result)
{
	const RunnerParts *parts = session->setup->parts;

	for (int i = 0; i < PQntuples(result); i++)
	{
		Task		task;

		if (PQgetisnull(result, i, GRAB_VERSION))
		{
			sql_batch_refuse(session->batch, parts, result, i);
			continue;
		}
		task = batch_read_grab(session->batch->token, result, i);
		sql_batch_fail(session->batch, parts, &task, session->failure, session->error);
	}
}

static void
on_counted(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;

	if (outcome == PG_LOST)
	{
		set_state(session, SESSION_LOST);
		return;
	}
	if (outcome == PG_DONE)
		fail_grabbed(session, result);
	end_batch(session);
}

/* Grabs the task of a failed batch of one, so that the attempt counts. */
static void
count_try(SqlSession *session)
{
	set_state(session, SESSION_COUNTING);
	send_grab(session, &call_grab_bare, on_counted);
}

/*
 * The lost statement had no effect, and its tasks have new versions.  We
 * cannot tell which of several tasks broke the session.  They come again by
 * new triggers, and each then runs alone.
 */
static void
blame_lost(SqlSession *session)
{
	if (session->batch->n == 1)
	{
		session->batch->version_shift++;
		count_try(session);
		return;
	}
	sql_waiting_part(session->setup->waiting, session->batch->n);
	end_batch(session);
}

/* The answer lists the tasks that are still grabbed after a lost statement. */
static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;

	if (outcome == PG_FAILED)
		leave_batch(session);
	else if (outcome == PG_LOST)
		set_state(session, SESSION_LOST);
	if (outcome != PG_DONE)
		return;
	fail_grabbed(session, result);
	if (PQntuples(result) == 0)
		blame_lost(session);
	else
		end_batch(session);
}

/* ---- the functions ---- */

/* The task was grabbed before it ran, so a finish reports it. */
static void
fail_granted(SqlSession *session, const PGresult *result)
{
	const BatchItem *item = &session->batch->items[0];
	char	   *failure = sql_failure_text(result);

	session->granted.type = pstrdup(table_entry_type(item->entry));
	sql_batch_fail(session->batch, session->setup->parts, &session->granted,
				   item->is_cancelled ? TASK_CANCELLED : session->failure, failure);
	pfree(session->granted.type);
	pfree(failure);
	end_batch(session);
}

static void
on_executed_all(SqlSession *session, const PGresult *result)
{
	double		each_us = (double) (loop_now_us(session->loop) - session->sent_us) / session->size;

	sql_waiting_learn(session->setup->waiting, each_us);
	sql_batch_take_answers(session->batch, session->setup->parts, result, each_us);
	end_batch(session);
}

/*
 * The statement failed as a whole.  No task is to blame for a loss of prepared
 * statements.
 */
static void
on_executed_none(SqlSession *session, const PGresult *result)
{
	bool		has_statements = strcmp(pg_sqlstate(result), STATEMENTS_GONE) != 0;

	session->failure = sql_failure_is_unfit(result) ? TASK_RELEASE : TASK_FAILURE;
	if (session->is_granted)
		fail_granted(session, result);
	else if (!has_statements)
		put_back(session, false);
	else if (sql_batch_drop_cancelled(session->batch))
		put_back(session, false);
	else if (session->batch->n > 1)
		put_back(session, true);
	else
	{
		session->error = sql_failure_text(result);
		count_try(session);
	}
	if (!has_statements)
		pg_reset(session->pg, "its prepared statements are gone");
}

static void
on_executed(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;
	bool		was_late = sql_guard_release(session->guard);

	switch (outcome)
	{
		case PG_DONE:
			on_executed_all(session, result);
			break;
		case PG_FAILED:
			on_executed_none(session, result);
			break;
		case PG_LOST:
			set_state(session, SESSION_LOST);
			session->failure = TASK_FAILURE;
			session->error = was_late ?
				psprintf("deadline of %.3f s passed", session->statement_us / 1000000.0) :
				pstrdup("its session was lost while it ran");
			break;
	}
}

static void
on_timeout_set(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;

	if (outcome == PG_FAILED)
		pg_reset(session->pg, "could not set statement_timeout");
}

static void
set_timeout(SqlSession *session, int64 timeout_us)
{
	char	   *ms = psprintf(INT64_FORMAT "ms", timeout_us / 1000);
	WireParams	params;

	session->timeout_us = timeout_us;
	wire_init(&params);
	wire_add_text(&params, ms);
	pg_send(session->pg, &call_set_timeout, &params, on_timeout_set, session);
	pfree(ms);
}

static void
send_execute(SqlSession *session)
{
	const RunnerParts *parts = session->setup->parts;
	const HandlerConfig *config = session->setup->config;
	Batch	   *batch = session->batch;
	char	   *function = calls_function(config);
	WireParams	params;

	session->statement_us = batch->items[0].policy->timeout_us;
	if (session->statement_us != session->timeout_us)
		set_timeout(session, session->statement_us);
	wire_init(&params);
	wire_add_text(&params, function);
	pfree(function);
	wire_add_text(&params, config->role);
	batch_add_ids(batch, &params);
	wire_add_int8(&params, node_incarnation(parts->node));
	wire_add_int8(&params, batch->token);
	batch_add_policies(batch, parts->config, &params);
	wire_add_text(&params, batch->items[0].policy->retry);
	batch_add_places(batch, &params);
	wire_add_bool(&params, session->is_granted);
	set_state(session, SESSION_EXECUTING);
	sql_guard_watch(session->guard, session->statement_us + config->grace_us);
	pg_expect_wait(session->pg, session->statement_us + config->grace_us);
	pg_send(session->pg, &call_execute, &params, on_executed, session);
}

/* ---- the grab before a task runs ---- */

/*
 * The task is refused by a cluster-wide limit, taken by another node, or
 * grabbed.
 */
static void
on_granted(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;

	if (outcome == PG_LOST)
		set_state(session, SESSION_GRANT_LOST);
	else if (outcome == PG_FAILED || PQntuples(result) == 0)
		end_batch(session);
	else if (PQgetisnull(result, 0, GRAB_VERSION))
	{
		sql_batch_refuse(session->batch, session->setup->parts, result, 0);
		end_batch(session);
	}
	else
	{
		session->granted = sql_batch_grant(session->batch, result);
		session->is_granted = true;
		send_execute(session);
	}
}

/* The task has not run yet, so it may run now. */
static void
on_grant_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	SqlSession *session = arg;

	if (outcome == PG_FAILED)
		leave_batch(session);
	else
		on_granted(session, outcome, result);
}

/* ---- the session ---- */

static void
begin_batch(SqlSession *session)
{
	Batch	   *batch = sql_waiting_take(session->setup->waiting);

	session->batch = batch;
	session->size = batch->n;
	session->sent_us = loop_now_us(session->loop);
	batch->token = node_next_token(session->setup->parts->node);
	if (batch->n == 1 && slots_are_shared(table_entry_limit(batch->items[0].entry)))
	{
		set_state(session, SESSION_GRANTING);
		send_grab(session, &call_grab_bare, on_granted);
	}
	else
		send_execute(session);
}

void
sql_session_pump(SqlSession *session)
{
	bool		has_lost = session->state == SESSION_LOST || session->state == SESSION_GRANT_LOST;

	if (!pg_is_up(session->pg))
	{
		if (has_lost)
			pg_start(session->pg);
	}
	else if (session->state == SESSION_GRANT_LOST)
	{
		set_state(session, SESSION_ASKING_GRANT);
		send_grab(session, &call_resolve_grab_bare, on_grant_answer);
	}
	else if (session->state == SESSION_LOST)
	{
		set_state(session, SESSION_ASKING);
		send_grab(session, &call_resolve_grab_bare, on_answer);
	}
	else if (session->state == SESSION_IDLE && sql_waiting_count(session->setup->waiting) > 0 &&
			 sql_guard_is_idle(session->guard))
		begin_batch(session);
}

bool
sql_session_open(SqlSession *session)
{
	if (pg_is_up(session->pg) || session->state != SESSION_IDLE)
		return false;
	pg_start(session->pg);
	return true;
}

int
sql_session_running(const SqlSession *session)
{
	return session->state == SESSION_IDLE ? 0 : session->size;
}

static BatchItem *
find_task(const SqlSession *session, const CancelRequest *request)
{
	Batch	   *batch = session->batch;

	for (int i = 0; batch != NULL && i < batch->n; i++)
	{
		BatchItem  *item = &batch->items[i];

		if (item->entry != NULL && memcmp(item->id, request->id, TASK_ID_BYTES) == 0)
			return table_entry_version(item->entry) + session->is_granted == request->version ?
				item : NULL;
	}
	return NULL;
}

/*
 * True if the task is in this session's batch.  Outside SESSION_EXECUTING it
 * is too late or too early to cancel.
 */
bool
sql_session_cancel(SqlSession *session, const CancelRequest *request)
{
	BatchItem  *item = find_task(session, request);
	char		text[TASK_ID_TEXT + 1];

	if (item == NULL)
		return false;
	if (session->state == SESSION_EXECUTING && !item->is_cancelled)
	{
		trigger_id_text(item->id, text);
		log_line(TWT_LOG_INFO, "execute", "task %s: %s", text, request->why);
		item->is_cancelled = true;
		sql_guard_cancel(session->guard);
	}
	return true;
}

static void
on_state(void *arg, bool is_up)
{
	SqlSession *session = arg;

	session->timeout_us = 0;
	if (is_up)
		loop_want_turn(session->loop);
}

SqlSession *
sql_session_new(const SqlSetup *setup)
{
	SqlSession *session = palloc0(sizeof(SqlSession));

	session->setup = setup;
	session->loop = setup->parts->loop;
	session->pg = pg_new(session->loop, setup->parts->config->postgres, "sql", on_state, session);
	session->guard = sql_guard_new(session->loop, setup->parts->node, session->pg);
	pg_rest_after(session->pg, PG_REST_US);
	return session;
}

void
sql_session_forget(SqlSession *session)
{
	pg_reset(session->pg, "the incarnation is gone");
	if (session->batch != NULL)
		end_batch(session);
}

/* Closes the connection first: its lost statement still calls the guard. */
void
sql_session_free(SqlSession *session)
{
	pg_close(session->pg);
	sql_guard_free(session->guard);
	if (session->batch != NULL)
		end_batch(session);
	pfree(session);
}
