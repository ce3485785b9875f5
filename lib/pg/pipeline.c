/*-------------------------------------------------------------------------
 *
 * pipeline.c
 *		The calls of one connection, from sending to their answers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/socket.h>

#include "pg/pipeline.h"

void
pipeline_init(Pipeline *pipeline)
{
	dlist_init(&pipeline->sent);
	dlist_init(&pipeline->held);
}

void
pipeline_begin(Pipeline *pipeline)
{
	pipeline->nprepared = 0;
}

/* ---- sending ---- */

Call *
pipeline_add(Pipeline *pipeline, const PgStatement *statement,
			 WireParams *params, PgResultFn fn, void *arg)
{
	Call	   *call = palloc0(sizeof(Call));

	call->statement = statement;
	call->fn = fn;
	call->arg = arg;
	if (params != NULL)
	{
		for (int i = 0; i < params->n; i++)
			call->bytes += params->values[i].len;
		call->params = *params;
		wire_init(params);
	}
	pipeline->ncalls++;
	return call;
}

static bool
is_prepared(const Pipeline *pipeline, const PgStatement *statement)
{
	for (int i = 0; i < pipeline->nprepared; i++)
		if (pipeline->prepared[i] == statement)
			return true;
	return false;
}

static bool
prepare(Pipeline *pipeline, PGconn *conn, Call *call)
{
	if (is_prepared(pipeline, call->statement))
		return true;
	Assert(pipeline->nprepared < PREPARED_MAX);
	if (!PQsendPrepare(conn, call->statement->name, call->statement->sql, 0, NULL))
		return false;
	pipeline->prepared[pipeline->nprepared++] = call->statement;
	call->is_preparing = true;
	return true;
}

static void
forget_prepared(Pipeline *pipeline, const PgStatement *statement)
{
	for (int i = 0; i < pipeline->nprepared; i++)
		if (pipeline->prepared[i] == statement)
			pipeline->prepared[i] = pipeline->prepared[--pipeline->nprepared];
}

/* The values of a call in the form that libpq takes. */
typedef struct Values
{
	const char *values[WIRE_MAX_PARAMS];
	int			lengths[WIRE_MAX_PARAMS];
	int			formats[WIRE_MAX_PARAMS];
} Values;

static void
list_values(const WireParams *params, Values *list)
{
	for (int i = 0; i < params->n; i++)
	{
		list->values[i] = params->nulls[i] ? NULL : params->values[i].data;
		list->lengths[i] = params->values[i].len;
		list->formats[i] = 1;
	}
}

/* Sends n of the values, from the first one on. */
static bool
send_unprepared(PGconn *conn, const PgStatement *statement, const Values *list, int first, int n)
{
	Oid			types[WIRE_MAX_PARAMS];

	for (int i = 0; i < n; i++)
		types[i] = WIRE_TEXT;
	return PQsendQueryParams(conn, statement->sql, n, statement->takes_text ? types : NULL,
							 list->values + first, list->lengths + first, list->formats + first, 1);
}

static bool
send_both(PGconn *conn, Call *call, const Values *list)
{
	Assert(call->params.n > 0);
	call->is_before = true;
	return send_unprepared(conn, call->statement->before, list, 0, 1) &&
		send_unprepared(conn, call->statement, list, 1, call->params.n - 1);
}

static bool
send_prepared(PGconn *conn, const Call *call, const Values *list)
{
	return PQsendQueryPrepared(conn, call->statement->name, call->params.n, list->values,
							   list->lengths, list->formats, 1);
}

/*
 * Statements without their Sync would share the transaction of the next call,
 * and its role.  So a call that cannot be sent whole breaks the connection.
 */
void
pipeline_send(Pipeline *pipeline, PGconn *conn, Call *call)
{
	Values		list;
	bool		is_sent;

	list_values(&call->params, &list);
	dlist_push_tail(&pipeline->sent, &call->node);
	is_sent = call->statement->before != NULL ? send_both(conn, call, &list) :
		prepare(pipeline, conn, call) && send_prepared(conn, call, &list);
	if (!is_sent || !PQpipelineSync(conn))
		(void) shutdown(PQsocket(conn), SHUT_RDWR);
	wire_clear(&call->params);
}

void
pipeline_hold(Pipeline *pipeline, Call *call)
{
	dlist_push_tail(&pipeline->held, &call->node);
}

void
pipeline_send_held(Pipeline *pipeline, PGconn *conn, int64 now_us)
{
	while (!dlist_is_empty(&pipeline->held))
	{
		Call	   *call = dlist_container(Call, node, dlist_pop_head_node(&pipeline->held));

		call->sent_us = now_us;
		pipeline_send(pipeline, conn, call);
	}
}

/*
 * libpq reads while the socket takes no more.  The socket then tells of no
 * answer that libpq holds already, so that case is not "sent".
 */
bool
pipeline_is_sent(PGconn *conn)
{
	return PQflush(conn) == 0 && PQisBusy(conn);
}

/* ---- answers ---- */

static Call *
oldest(Pipeline *pipeline)
{
	return dlist_is_empty(&pipeline->sent) ? NULL :
		dlist_head_element(Call, node, &pipeline->sent);
}

/*
 * Rows arrive before the transaction commits, which happens at the Sync.  So
 * an error after them means that nothing happened.  When the server skipped a
 * call after an error, that result tells nothing new.
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

/* Keeps only an error, which then counts as the call's own result. */
static void
take_result_before(Call *call, PGresult *result)
{
	call->is_before = false;
	call->failed_before = PQresultStatus(result) != PGRES_TUPLES_OK;
	if (call->failed_before)
		keep_result(call, result);
	else
		PQclear(result);
}

static void
take_result(Pipeline *pipeline, Call *call, PGresult *result)
{
	bool		was_preparing = call->is_preparing;

	if (call->is_before)
	{
		take_result_before(call, result);
		return;
	}
	call->is_preparing = false;
	if (was_preparing && PQresultStatus(result) == PGRES_COMMAND_OK)
	{
		PQclear(result);
		return;
	}
	if (was_preparing)
		forget_prepared(pipeline, call->statement);
	keep_result(call, result);
}

/*
 * libpq separates results by a NULL.  A second NULL in a row means that there
 * is nothing more; on a broken connection nothing else ever follows.
 */
const Call *
pipeline_read(Pipeline *pipeline, PGconn *conn, const char **fault)
{
	int			nulls = 0;

	while (pipeline->ncalls > 0 && nulls < 2 && !PQisBusy(conn))
	{
		PGresult   *result = PQgetResult(conn);
		Call	   *call = oldest(pipeline);

		nulls = result == NULL ? nulls + 1 : 0;
		if (result == NULL)
			continue;
		if (pg_begins_copy(result))
		{
			PQclear(result);
			*fault = "the server began a COPY that nobody asked for";
			return NULL;
		}
		if (call != NULL && PQresultStatus(result) != PGRES_PIPELINE_SYNC)
		{
			take_result(pipeline, call, result);
			continue;
		}
		PQclear(result);
		if (call != NULL)
			return call;
	}
	return NULL;
}

bool
pipeline_succeeded(const Call *call)
{
	return PQresultStatus(call->result) == PGRES_TUPLES_OK ||
		PQresultStatus(call->result) == PGRES_COMMAND_OK;
}

bool
pipeline_is_of_server(const Call *call)
{
	return pipeline_succeeded(call) || pg_sqlstate(call->result)[0] != '\0';
}

/*
 * Takes the call off the list first: its callback may send a new call, which
 * must not be among the lost ones.
 */
static void
end_call(Pipeline *pipeline, Call *call, PgOutcome outcome)
{
	dlist_delete(&call->node);
	pipeline->ncalls--;
	if (call->fn != NULL)
		call->fn(call->arg, outcome,
				 outcome == PG_LOST || call->failed_before ? NULL : call->result);
	wire_clear(&call->params);
	PQclear(call->result);
	pfree(call);
}

void
pipeline_end(Pipeline *pipeline, PgOutcome outcome)
{
	end_call(pipeline, oldest(pipeline), outcome);
}

static void
lose(Pipeline *pipeline, dlist_head *calls)
{
	while (!dlist_is_empty(calls))
		end_call(pipeline, dlist_head_element(Call, node, calls), PG_LOST);
}

void
pipeline_lose_sent(Pipeline *pipeline)
{
	lose(pipeline, &pipeline->sent);
}

void
pipeline_lose_held(Pipeline *pipeline)
{
	lose(pipeline, &pipeline->held);
}

void
pipeline_forget(Pipeline *pipeline, const void *arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &pipeline->sent)
	{
		Call	   *call = dlist_container(Call, node, iter.cur);

		if (call->arg == arg)
			call->fn = NULL;
	}
}
