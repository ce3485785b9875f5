/*-------------------------------------------------------------------------
 *
 * execute_sql.c
 *		Handlers that are functions of the database.
 *
 *		from: table.c			to: src/execute/execute.c, finish.c
 *
 * A statement that fails as a whole (its timeout, a deadlock) has done nothing,
 * and does not tell whose fault it was: its tasks are executed again one by
 * one.  One that fails alone is grabbed, so that the try counts, and finished.
 * A task under a limit of the whole cluster goes alone, and is grabbed by a
 * call of its own first: the slot must be seen by others while it runs.
 * A task that is cancelled takes its statement with it, and is left to the
 * database; the others are executed again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "execute/sql/execute_sql.h"
#include "execute/sql/sql_failure.h"
#include "execute/sql/sql_guard.h"
#include "execute/sql/sql_waiting.h"
#include "grab/batch.h"
#include "pg/calls.h"

/* Tasks share a statement up to about this much time. */
#define STATEMENT_TARGET_US MS_TO_US(20)

static const PgStatement call_set_timeout = {"set_timeout",
"SELECT pg_catalog.set_config('statement_timeout', $1::text, false)"};

typedef struct Session
{
	SqlRunner  *sql;
	Pg		   *pg;
	SqlGuard   *guard;
	Batch	   *batch;			/* NULL: idle */
	int			size;			/* of the batch when it was sent */
	bool		has_cancelled;	/* some of its tasks are to end */
	bool		is_executing;	/* the functions may be running */
	bool		is_granting;	/* the batch of one is being grabbed first */
	bool		is_granted;		/* and was */
	bool		is_unfit;		/* its function is not there, or not for it */
	Task		granted;		/* that task */
	bool		was_late;		/* its session was ended for that */
	bool		is_unknown;		/* its answer was lost */
	bool		is_resolved;	/* and it had done nothing */
	int64		timeout_us;		/* that the session has; 0: none yet */
	int64		statement_us;	/* timeout of the batch */
	int64		sent_us;
	char	   *error;			/* why the batch of one failed */
} Session;

struct SqlRunner
{
	Loop	   *loop;
	const Config *config;
	Handler    *handler;
	Node	   *node;
	Finish	   *finish;
	Offers	   *offers;
	Session    *sessions;
	int			nsessions;
	SqlWaiting *waiting;
	int			nrunning;
	int			alone_left;		/* so many go alone: one of them broke a
								 * session */
	double		task_us;		/* how long a task takes, on average */
};

void
sql_add(SqlRunner *sql, Table *table, TableEntry *entry)
{
	sql_waiting_add(sql->waiting, table, entry,
					slots_are_shared(table_entry_limit(entry)));
}

static void send_grab(Session *session, const PgStatement *statement);

static void
end_batch(Session *session)
{
	session->has_cancelled = false;
	session->sql->nrunning -= session->size;
	batch_drop(session->batch);
	session->batch = NULL;
	session->is_unknown = session->is_resolved = false;
	session->is_granting = session->is_granted = session->is_unfit = false;
	if (session->error != NULL)
		pfree(session->error);
	session->error = NULL;
	loop_want_turn(session->sql->loop);
}

/*
 * A task of the batch has ended: with failure NULL it was finished by its own
 * transaction, else it is still to be finished so.
 */
static void
end_task(Session *session, Task *task, TaskResult kind, const char *failure)
{
	Verdict		verdict = {kind, kind == TASK_RELEASE ? TASK_DELAY_UNFIT : TASK_DELAY_BY_POLICY, failure};

	if (batch_take(session->batch, task->id, &task->slot, &task->policy) == NULL)
		return;
	task->has_shared_slot = failure != NULL && slots_are_shared(task->slot);
	if (failure != NULL)
		finish_add(session->sql->finish, task, &verdict);
	if (task->has_shared_slot)
		slots_free_here(task->slot);
	else
		slots_free(task->slot);
	policy_unref(task->policy);
}

/*
 * A limit of the cluster refused the task: until_us as for offers_refused().
 * One under a limit that we have not read yet is dropped: it will be fetched.
 */
static void
refuse_task(Session *session, const uint8 *id, const char *limit, int64 until_us)
{
	if (offers_refused(session->sql->offers, limit, until_us))
		batch_refuse(session->batch, id);
}

/* A row of a grab that refused its task. */
static void
refuse_row(Session *session, const PGresult *result, int row)
{
	int64		until_us = wire_null(result, row, GRAB_GRABBED) ? 0 :
		wire_get_time(result, row, GRAB_GRABBED);

	refuse_task(session, wire_get_uuid(result, row, GRAB_ID),
				PQgetvalue(result, row, GRAB_TYPE), until_us);
}

static void
end_row(Session *session, const PGresult *result, int row)
{
	Task		task = {0};
	bool		failed = strcmp(PQgetvalue(result, row, EXECUTE_RESULT), "failed") == 0;

	if (wire_null(result, row, EXECUTE_VERSION))
	{
		refuse_task(session, wire_get_uuid(result, row, EXECUTE_ID),
					PQgetvalue(result, row, EXECUTE_MESSAGE), 0);
		return;
	}
	memcpy(task.id, wire_get_uuid(result, row, EXECUTE_ID), TASK_ID_BYTES);
	trigger_id_text(task.id, task.id_text);
	task.version = wire_get_int8(result, row, EXECUTE_VERSION);
	task.token = session->batch->token;
	task.tries = wire_get_int4(result, row, EXECUTE_TRIES);
	task.type = PQgetvalue(result, row, EXECUTE_TYPE);
	end_task(session, &task, TASK_FAILURE,
			 failed ? PQgetvalue(result, row, EXECUTE_MESSAGE) : NULL);
}

static void
on_executed_all(Session *session, const PGresult *result)
{
	SqlRunner  *sql = session->sql;
	double		us = (double) (loop_now_us(sql->loop) - session->sent_us) /
		Max(session->size, 1);

	sql->task_us = sql->task_us == 0 ? us : sql->task_us * 0.8 + us * 0.2;
	for (int i = 0; i < PQntuples(result); i++)
		end_row(session, result, i);
	end_batch(session);
}

/*
 * What was under way when the session broke has had no effect, and got new
 * versions.  Which of several broke it nobody knows: they come again by their
 * triggers, alone.  One that was alone is grabbed, so that the try counts.
 */
static void
blame_lost(Session *session, bool nothing_done)
{
	SqlRunner  *sql = session->sql;

	session->is_resolved = false;
	if (nothing_done && session->batch->n == 1)
	{
		session->batch->version_shift++;
		send_grab(session, &call_grab_bare);
		return;
	}
	sql->alone_left = nothing_done ? session->batch->n : sql->alone_left;
	end_batch(session);
}

/* The type is the result's. */
static void
read_grabbed(const Session *session, const PGresult *result, int row, Task *task)
{
	memset(task, 0, sizeof(*task));
	memcpy(task->id, wire_get_uuid(result, row, GRAB_ID), TASK_ID_BYTES);
	trigger_id_text(task->id, task->id_text);
	task->version = wire_get_int8(result, row, GRAB_VERSION);
	task->token = session->batch->token;
	task->tries = wire_get_int4(result, row, GRAB_TRIES);
	task->type = PQgetvalue(result, row, GRAB_TYPE);
}

/* The grab of a task that failed alone, or what a lost statement has left. */
static void
on_failed_grab(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	if (outcome == PG_LOST || (outcome == PG_FAILED && session->is_resolved))
	{
		session->is_unknown = true;
		if (outcome == PG_FAILED)
			pg_reset(session->pg, "could not resolve a grab");
		return;
	}
	for (int i = 0; outcome == PG_DONE && i < PQntuples(result); i++)
	{
		Task		task = {0};

		/* a limit that came meanwhile */
		if (wire_null(result, i, GRAB_VERSION))
		{
			refuse_row(session, result, i);
			continue;
		}
		read_grabbed(session, result, i, &task);
		end_task(session, &task, session->is_unfit ? TASK_RELEASE : TASK_FAILURE, session->error);
	}
	if (session->is_resolved)
		blame_lost(session, outcome == PG_DONE && PQntuples(result) == 0);
	else
		end_batch(session);
}

static void
send_grab_to(Session *session, const PgStatement *statement, PgResultFn fn)
{
	WireParams	params;

	wire_init(&params);
	batch_add_ids(session->batch, &params);
	wire_add_int8(&params, node_incarnation(session->sql->node));
	wire_add_int8(&params, session->batch->token);
	if (statement == &call_grab_bare)
	{
		batch_add_policies(session->batch, session->sql->config, &params);
		batch_add_places(session->batch, &params);
	}
	pg_send(session->pg, statement, &params, fn, session);
}

static void
send_grab(Session *session, const PgStatement *statement)
{
	send_grab_to(session, statement, on_failed_grab);
}

static void
put_back(Session *session, bool alone)
{
	Batch	   *batch = session->batch;

	for (int i = 0; i < batch->n; i++)
	{
		if (batch->items[i].entry == NULL)
			continue;
		sql_waiting_add(session->sql->waiting, batch->items[i].table,
						batch->items[i].entry, alone);
		batch->items[i].entry = NULL;
	}
	end_batch(session);
}

/* Nothing of them has happened: the database cancels them as it finds them. */
static void
drop_cancelled(Session *session)
{
	Batch	   *batch = session->batch;

	for (int i = 0; i < batch->n; i++)
	{
		Limit	   *slot;
		Policy	   *policy;

		if (!batch->items[i].is_cancelled ||
			batch_take(batch, batch->items[i].id, &slot, &policy) == NULL)
			continue;
		slots_free(slot);
		policy_unref(policy);
	}
	put_back(session, false);
}

/* The task was grabbed before, so it is finished like any other. */
static void
on_granted_failed(Session *session, const char *failure)
{
	session->granted.type = pstrdup(table_entry_type(session->batch->items[0].entry));
	end_task(session, &session->granted, session->has_cancelled ? TASK_CANCELLED :
			 session->is_unfit ? TASK_RELEASE : TASK_FAILURE, failure);
	pfree(session->granted.type);
	end_batch(session);
}

static void
on_executed_none(Session *session, const PGresult *result)
{
	Batch	   *batch = session->batch;

	session->is_unfit = sql_failure_is_unfit(result);
	if (session->is_granted)
	{
		char	   *failure = sql_failure_text(result);

		on_granted_failed(session, failure);
		pfree(failure);
		if (strcmp(pg_sqlstate(result), "26000") == 0)
			pg_reset(session->pg, "its prepared statements are gone");
		return;
	}
	/* A function threw our statements away: not the tasks' fault. */
	if (strcmp(pg_sqlstate(result), "26000") == 0)
	{
		put_back(session, false);
		pg_reset(session->pg, "its prepared statements are gone");
		return;
	}
	if (session->has_cancelled)
	{
		drop_cancelled(session);
		return;
	}
	if (batch->n == 1)
	{
		session->error = sql_failure_text(result);
		send_grab(session, &call_grab_bare);
		return;
	}
	put_back(session, true);
}

static void
on_executed(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	session->is_executing = false;
	session->was_late = sql_guard_release(session->guard);
	switch (outcome)
	{
		case PG_DONE:
			on_executed_all(session, result);
			break;
		case PG_FAILED:
			on_executed_none(session, result);
			break;
		case PG_LOST:
			session->is_unknown = true;
			break;
	}
}

/* So many that the statement stays short, and the sessions share. */
static int
batch_size(const SqlRunner *sql)
{
	int			most = handler_config(sql->handler)->prefetch;
	int			share = (sql_waiting_count(sql->waiting) + sql->nsessions - 1) / sql->nsessions;
	double		quick = sql->task_us == 0 ? 1 : STATEMENT_TARGET_US / sql->task_us;

	if (sql->alone_left > 0)
		return 1;
	most = Min(most, BATCH_MAX);
	return Max(1, Min(Min(most, share), (int) Min(quick, BATCH_MAX)));
}

static void
on_timeout_set(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	if (outcome == PG_FAILED)
		pg_reset(session->pg, "could not set statement_timeout");
}

static void
set_timeout(Session *session, int64 timeout_us)
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
send_call(Session *session)
{
	SqlRunner  *sql = session->sql;
	const HandlerConfig *config = handler_config(sql->handler);
	Batch	   *batch = session->batch;
	WireParams	params;

	session->statement_us = batch->items[0].policy->timeout_us;
	if (session->statement_us != session->timeout_us)
		set_timeout(session, session->statement_us);
	wire_init(&params);
	wire_add_text(&params, config->function);
	wire_add_text(&params, config->role);
	batch_add_ids(batch, &params);
	wire_add_int8(&params, node_incarnation(sql->node));
	wire_add_int8(&params, batch->token);
	batch_add_policies(batch, sql->config, &params);
	wire_add_text(&params, batch->items[0].policy->retry);
	batch_add_places(batch, &params);
	wire_add_bool(&params, session->is_granted);
	session->is_executing = true;
	sql_guard_watch(session->guard, session->statement_us + config->grace_us);
	pg_send(session->pg, &call_execute, &params, on_executed, session);
}

/* Refused by a limit of the cluster, lost to another, or ours. */
static void
on_granted(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	if (outcome == PG_LOST)
	{
		session->is_unknown = true;
		return;
	}
	session->is_granting = false;
	if (outcome == PG_FAILED || PQntuples(result) == 0)
	{
		end_batch(session);
		return;
	}
	if (wire_null(result, 0, GRAB_VERSION))
	{
		refuse_row(session, result, 0);
		end_batch(session);
		return;
	}
	slots_grant(table_entry_limit(session->batch->items[0].entry));
	read_grabbed(session, result, 0, &session->granted);
	batch_start(session->batch, session->granted.id);
	session->is_granted = true;
	send_call(session);
}

/* The session was lost during that grab: the task did not run, so it still may. */
static void
on_grant_resolved(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	if (outcome != PG_FAILED)
	{
		on_granted(session, outcome, result);
		return;
	}
	session->is_unknown = true;
	pg_reset(session->pg, "could not resolve a grab");
}

static void
send_execute(Session *session)
{
	SqlRunner  *sql = session->sql;
	Batch	   *batch = sql_waiting_take(sql->waiting, batch_size(sql));

	sql->alone_left = Max(0, sql->alone_left - 1);
	session->batch = batch;
	session->size = batch->n;
	session->sent_us = loop_now_us(sql->loop);
	sql->nrunning += batch->n;
	batch->token = node_next_token(sql->node);
	if (batch->n == 1 && slots_are_shared(table_entry_limit(batch->items[0].entry)))
	{
		session->is_granting = true;
		send_grab_to(session, &call_grab_bare, on_granted);
	}
	else
		send_call(session);
}

static char *
reason_lost(const Session *session)
{
	if (session->was_late)
		return psprintf("deadline of %.3f s passed", session->statement_us / 1000000.0);
	return pstrdup("its session was lost while it ran");
}

static void
pump(Session *session)
{
	if (!pg_is_up(session->pg))
	{
		if (session->is_unknown)
			pg_start(session->pg);
		return;
	}
	if (session->is_unknown && session->is_granting)
	{
		session->is_unknown = false;
		send_grab_to(session, &call_resolve_grab_bare, on_grant_resolved);
	}
	else if (session->is_unknown)
	{
		session->is_unknown = false;
		session->is_resolved = true;
		if (session->error == NULL)
			session->error = reason_lost(session);
		send_grab(session, &call_resolve_grab_bare);
	}
	else if (session->batch == NULL && sql_waiting_count(session->sql->waiting) > 0 &&
			 sql_guard_is_idle(session->guard))
		send_execute(session);
}

/* Those that are up, or will be soon, are not enough. */
static void
open_more(SqlRunner *sql)
{
	int			left = sql_waiting_count(sql->waiting);

	for (int i = 0; i < sql->nsessions && left > 0; i++)
	{
		if (pg_is_up(sql->sessions[i].pg) || sql->sessions[i].batch != NULL)
			continue;
		pg_start(sql->sessions[i].pg);
		left--;
	}
}

void
sql_pump(SqlRunner *sql)
{
	if (!node_is_alive(sql->node))
		return;
	for (int i = 0; i < sql->nsessions; i++)
		pump(&sql->sessions[i]);
	open_more(sql);
}

static BatchItem *
find_task(const Session *session, const uint8 *id, int64 version)
{
	Batch	   *batch = session->batch;

	for (int i = 0; batch != NULL && i < batch->n; i++)
		if (batch->items[i].entry != NULL && memcmp(batch->items[i].id, id, TASK_ID_BYTES) == 0)
			return table_entry_version(batch->items[i].entry) + session->is_granted == version ?
				&batch->items[i] : NULL;
	return NULL;
}

/* Otherwise what it is about to be finished with counts as cancelled. */
static void
cancel_statement(Session *session, BatchItem *item, const char *why)
{
	char		text[TASK_ID_TEXT + 1];

	if (!session->is_executing || item->is_cancelled)
		return;
	trigger_id_text(item->id, text);
	log_line(TWT_LOG_INFO, "execute", "task %s: %s", text, why);
	item->is_cancelled = session->has_cancelled = true;
	sql_guard_cancel(session->guard);
}

bool
sql_cancel(SqlRunner *sql, const uint8 *id, int64 version, const char *why)
{
	for (int i = 0; i < sql->nsessions; i++)
	{
		Session    *session = &sql->sessions[i];
		BatchItem  *item = find_task(session, id, version);

		if (item == NULL)
			continue;
		cancel_statement(session, item, why);
		return true;
	}
	return false;
}

static void
on_state(void *arg, bool is_up)
{
	Session    *session = arg;

	session->timeout_us = 0;
	if (is_up)
		loop_want_turn(session->sql->loop);
}

SqlRunner *
sql_open(Loop *loop, const Config *config, Handler *handler, Node *node,
		 Finish *finish)
{
	SqlRunner  *sql = palloc0(sizeof(SqlRunner));

	sql->loop = loop;
	sql->config = config;
	sql->handler = handler;
	sql->node = node;
	sql->finish = finish;
	sql->waiting = sql_waiting_new(handler);
	sql->nsessions = handler_config(handler)->processes;
	sql->sessions = palloc0(sql->nsessions * sizeof(Session));
	for (int i = 0; i < sql->nsessions; i++)
	{
		Session    *session = &sql->sessions[i];

		session->sql = sql;
		session->pg = pg_new(loop, config->postgres, "sql", on_state, session);
		session->guard = sql_guard_new(loop, node, session->pg);
		pg_rest_after(session->pg, PG_REST_US);
	}
	return sql;
}

void
sql_set_offers(SqlRunner *sql, Offers *offers)
{
	sql->offers = offers;
}

int
sql_running(const SqlRunner *sql)
{
	return sql->nrunning + sql_waiting_count(sql->waiting);
}

void
sql_give_back(SqlRunner *sql)
{
	sql_waiting_give_back(sql->waiting);
}

void
sql_forget(SqlRunner *sql)
{
	for (int i = 0; i < sql->nsessions; i++)
	{
		Session    *session = &sql->sessions[i];

		pg_reset(session->pg, "the incarnation is gone");
		if (session->batch != NULL)
			end_batch(session);
	}
	sql_give_back(sql);
}

void
sql_free(SqlRunner *sql)
{
	sql_give_back(sql);
	for (int i = 0; i < sql->nsessions; i++)
	{
		/* what is under way still asks the guard when it is lost */
		pg_close(sql->sessions[i].pg);
		sql_guard_free(sql->sessions[i].guard);
		if (sql->sessions[i].batch != NULL)
			end_batch(&sql->sessions[i]);
	}
	sql_waiting_free(sql->waiting);
	pfree(sql->sessions);
	pfree(sql);
}
