/*-------------------------------------------------------------------------
 *
 * execute_sql.c
 *		Handlers that are functions of the database.
 *
 *		from: table.c			to: src/execute.c, outcome.c
 *
 * A statement that fails as a whole (its timeout, a deadlock) has done
 * nothing, and does not tell whose fault it was: its tasks are executed again
 * one by one.  One that fails alone is grabbed, so that the try counts, and
 * finished as failed.
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "batch.h"
#include "calls.h"
#include "execute_sql.h"
#include "log.h"
#include "outcome.h"

/* Tasks share a statement up to about this much time. */
#define STATEMENT_TARGET_US MS_TO_US(20)

static const PgStatement call_set_timeout = {"set_timeout",
"SELECT pg_catalog.set_config('statement_timeout', $1::text, false)"};

typedef struct Waiting
{
	slist_node	node;
	Table	   *table;
	TableEntry *entry;
	bool		goes_alone;
} Waiting;

typedef struct Session
{
	SqlRunner  *sql;
	Pg		   *pg;
	Batch	   *batch;			/* NULL: idle */
	int			size;			/* of the batch when it was sent */
	bool		is_unknown;		/* its answer was lost */
	bool		is_resolved;	/* and it had done nothing */
	int64		timeout_us;		/* that the session has; 0: none yet */
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
	Session    *sessions;
	int			nsessions;
	slist_head	waiting;		/* first in, first out */
	slist_node *last;
	int			nwaiting;
	int			nrunning;
	int			alone_left;		/* so many go alone: one of them broke a
								 * session */
	double		task_us;		/* how long a task takes, on average */
};

static void
push_waiting(SqlRunner *sql, Table *table, TableEntry *entry, bool alone)
{
	Waiting    *waiting = palloc(sizeof(Waiting));

	waiting->table = table;
	waiting->entry = entry;
	waiting->goes_alone = alone;
	if (slist_is_empty(&sql->waiting))
		slist_push_head(&sql->waiting, &waiting->node);
	else
		slist_insert_after(sql->last, &waiting->node);
	sql->last = &waiting->node;
	sql->nwaiting++;
}

void
sql_add(SqlRunner *sql, Table *table, TableEntry *entry)
{
	push_waiting(sql, table, entry, false);
}

static void send_grab(Session *session, const PgStatement *statement);

static void
end_batch(Session *session)
{
	session->sql->nrunning -= session->size;
	batch_drop(session->batch);
	session->batch = NULL;
	session->is_unknown = session->is_resolved = false;
	if (session->error != NULL)
		pfree(session->error);
	session->error = NULL;
	loop_want_turn(session->sql->loop);
}

static void
report(Session *session, const PGresult *result, int row, TaskResult kind,
	   const char *message)
{
	Task		task = {0};
	Verdict		verdict = {kind, TASK_DELAY_BY_POLICY, message};

	memcpy(task.id, wire_get_uuid(result, row, EXECUTE_ID), TASK_ID_BYTES);
	trigger_id_text(task.id, task.id_text);
	task.version = wire_get_int8(result, row, EXECUTE_VERSION);
	task.token = session->batch->token;
	task.tries = wire_get_int4(result, row, EXECUTE_TRIES);
	task.type = PQgetvalue(result, row, EXECUTE_TYPE);
	task.policy = batch_policy(session->batch, task.id);
	if (task.policy != NULL)
		outcome_report(session->sql->finish, &task, &verdict);
}

static void
on_executed_all(Session *session, const PGresult *result)
{
	SqlRunner  *sql = session->sql;
	double		us = (double) (loop_now_us(sql->loop) - session->sent_us) /
		Max(session->size, 1);

	sql->task_us = sql->task_us == 0 ? us : sql->task_us * 0.8 + us * 0.2;
	for (int i = 0; i < PQntuples(result); i++)
		if (strcmp(PQgetvalue(result, i, EXECUTE_RESULT), "failed") == 0)
			report(session, result, i, TASK_FAILURE,
				   PQgetvalue(result, i, EXECUTE_MESSAGE));
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
		session->batch->version_shift = 1;
		send_grab(session, &call_grab);
		return;
	}
	sql->alone_left = nothing_done ? session->batch->n : sql->alone_left;
	end_batch(session);
}

/* The grab of a task that failed alone, or what a lost statement has left. */
static void
on_failed_grab(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

	if (outcome == PG_LOST)
	{
		session->is_unknown = true;
		return;
	}
	for (int i = 0; outcome == PG_DONE && i < PQntuples(result); i++)
	{
		Task		task = {0};
		Verdict		verdict = {TASK_FAILURE, TASK_DELAY_BY_POLICY, session->error};

		memcpy(task.id, wire_get_uuid(result, i, GRAB_ID), TASK_ID_BYTES);
		trigger_id_text(task.id, task.id_text);
		task.version = wire_get_int8(result, i, GRAB_VERSION);
		task.token = session->batch->token;
		task.tries = wire_get_int4(result, i, GRAB_TRIES);
		task.type = PQgetvalue(result, i, GRAB_TYPE);
		task.policy = batch_policy(session->batch, task.id);
		if (task.policy != NULL)
			outcome_report(session->sql->finish, &task, &verdict);
	}
	if (session->is_resolved)
		blame_lost(session, outcome == PG_DONE && PQntuples(result) == 0);
	else
		end_batch(session);
}

static void
send_grab(Session *session, const PgStatement *statement)
{
	WireParams	params;

	wire_init(&params);
	batch_add_ids(session->batch, &params);
	wire_add_int8(&params, node_incarnation(session->sql->node));
	wire_add_int8(&params, session->batch->token);
	if (statement == &call_grab)
		batch_add_policies(session->batch, session->sql->config, &params);
	pg_send(session->pg, statement, &params, on_failed_grab, session);
}

static void
put_back(Session *session, bool alone)
{
	Batch	   *batch = session->batch;

	for (int i = 0; i < batch->n; i++)
	{
		push_waiting(session->sql, batch->items[i].table, batch->items[i].entry, alone);
		batch->items[i].entry = NULL;
	}
	end_batch(session);
}

static void
on_executed_none(Session *session, const PGresult *result)
{
	Batch	   *batch = session->batch;
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	/* A function threw our statements away: not the tasks' fault. */
	if (strcmp(pg_sqlstate(result), "26000") == 0)
	{
		put_back(session, false);
		pg_reset(session->pg, "its prepared statements are gone");
		return;
	}
	if (batch->n == 1)
	{
		session->error = psprintf("%s (SQLSTATE %s)", text == NULL ? "failed" : text,
								  pg_sqlstate(result));
		send_grab(session, &call_grab);
		return;
	}
	put_back(session, true);
}

static void
on_executed(void *arg, PgOutcome outcome, PGresult *result)
{
	Session    *session = arg;

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
	int			most = handler_config(sql->handler)->window;
	int			share = (sql->nwaiting + sql->nsessions - 1) / sql->nsessions;
	double		quick = sql->task_us == 0 ? 1 : STATEMENT_TARGET_US / sql->task_us;

	if (sql->alone_left > 0)
		return 1;
	most = Min(most, BATCH_MAX);
	return Max(1, Min(Min(most, share), (int) Min(quick, BATCH_MAX)));
}

static int64
timeout_of(const SqlRunner *sql, const Waiting *waiting)
{
	return handler_policy(sql->handler, table_entry_type(waiting->entry))->timeout_us;
}

/* The timeout is that of the statement: tasks with another one go apart. */
static Batch *
collect(SqlRunner *sql)
{
	Batch	   *batch = batch_new();
	int			size = batch_size(sql);

	while (batch->n < size && !batch_is_full(batch) && !slist_is_empty(&sql->waiting))
	{
		Waiting    *waiting = slist_head_element(Waiting, node, &sql->waiting);
		bool		alone = waiting->goes_alone;

		if (batch->n > 0 &&
			(alone || timeout_of(sql, waiting) != batch->items[0].policy->timeout_us))
			break;
		slist_pop_head_node(&sql->waiting);
		sql->nwaiting--;
		batch_add(batch, waiting->table, waiting->entry);
		pfree(waiting);
		if (alone)
			break;
	}
	batch_sort(batch);
	return batch;
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
send_execute(Session *session)
{
	SqlRunner  *sql = session->sql;
	const HandlerConfig *config = handler_config(sql->handler);
	Batch	   *batch = collect(sql);
	WireParams	params;

	sql->alone_left = Max(0, sql->alone_left - 1);
	session->batch = batch;
	session->size = batch->n;
	session->sent_us = loop_now_us(sql->loop);
	sql->nrunning += batch->n;
	if (batch->items[0].policy->timeout_us != session->timeout_us)
		set_timeout(session, batch->items[0].policy->timeout_us);
	batch->token = node_next_token(sql->node);
	wire_init(&params);
	wire_add_text(&params, config->function);
	wire_add_text(&params, config->role);
	batch_add_ids(batch, &params);
	wire_add_int8(&params, node_incarnation(sql->node));
	wire_add_int8(&params, batch->token);
	batch_add_policies(batch, sql->config, &params);
	pg_send(session->pg, &call_execute, &params, on_executed, session);
}

void
sql_pump(SqlRunner *sql)
{
	if (!node_is_alive(sql->node))
		return;
	for (int i = 0; i < sql->nsessions; i++)
	{
		Session    *session = &sql->sessions[i];

		if (!pg_is_up(session->pg))
			continue;
		if (session->is_unknown)
		{
			session->is_unknown = false;
			session->is_resolved = true;
			session->error = pstrdup("its session was lost while it ran");
			send_grab(session, &call_resolve_grab);
		}
		else if (session->batch == NULL && sql->nwaiting > 0)
			send_execute(session);
	}
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
	slist_init(&sql->waiting);
	sql->nsessions = handler_config(handler)->processes;
	sql->sessions = palloc0(sql->nsessions * sizeof(Session));
	for (int i = 0; i < sql->nsessions; i++)
	{
		Session    *session = &sql->sessions[i];

		session->sql = sql;
		session->pg = pg_new(loop, config->postgres, "sql", on_state, session);
		pg_start(session->pg);
	}
	return sql;
}

int
sql_running(const SqlRunner *sql)
{
	return sql->nrunning + sql->nwaiting;
}

void
sql_give_back(SqlRunner *sql)
{
	while (!slist_is_empty(&sql->waiting))
	{
		Waiting    *waiting = slist_container(Waiting, node,
											  slist_pop_head_node(&sql->waiting));

		slots_free(table_entry_limit(waiting->entry));
		table_return(waiting->table, waiting->entry);
		pfree(waiting);
		sql->nwaiting--;
	}
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
		pg_close(sql->sessions[i].pg);
		if (sql->sessions[i].batch != NULL)
			end_batch(&sql->sessions[i]);
	}
	pfree(sql->sessions);
	pfree(sql);
}
