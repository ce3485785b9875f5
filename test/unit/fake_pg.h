/*-------------------------------------------------------------------------
 *
 * fake_pg.h
 *		Connections of a test that answers the calls itself.
 *
 * Takes the place of pg.o in the one test that includes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FAKE_PG_H
#define TWT_FAKE_PG_H

#include "check.h"
#include "lib/ilist.h"
#include "pg/pg.h"
#include "port/pg_bswap.h"

typedef struct FakeCall
{
	dlist_node	node;
	Pg		   *pg;
	const PgStatement *statement;
	PgResultFn	fn;
	void	   *arg;
	int			sizes[WIRE_MAX_PARAMS]; /* sizes of its parameters, in bytes */
	uint32		int4s[WIRE_MAX_PARAMS]; /* values of those that are int4 */
	uint64		int8s[WIRE_MAX_PARAMS]; /* and of int8, or the last of an
										 * array */
} FakeCall;

struct Pg
{
	PgStateFn	on_state;
	void	   *arg;
	bool		is_up;
	bool		rests;
	Pg		   *older;			/* made before it */
};

static Pg  *last_pg;			/* that was made */

/* The calls of all connections, in order of sending. */
static dlist_head calls = DLIST_STATIC_INIT(calls);

/* The SQLSTATE of every failure. */
static const char *failure_state = "";

/* ---- what the sidecar calls ---- */

Pg *
pg_new(Loop *loop, const char *conninfo, const char *role, PgStateFn on_state, void *arg)
{
	Pg		   *pg = palloc0(sizeof(Pg));

	pg->on_state = on_state;
	pg->arg = arg;
	pg->older = last_pg;
	last_pg = pg;
	return pg;
}

void
pg_start(Pg *pg)
{
}

void
pg_rest_after(Pg *pg, int64 us)
{
	pg->rests = true;
}

void
pg_give_up_within(Pg *pg, int64 us)
{
}

void
pg_expect_wait(Pg *pg, int64 us)
{
}

bool
pg_is_up(const Pg *pg)
{
	return pg->is_up;
}

int
pg_backend_pid(const Pg *pg)
{
	return 1;
}

void
pg_on_notify(Pg *pg, PgNotifyFn fn)
{
}

void
pg_add_addresses(const Pg *pg, WireParams *params)
{
	wire_add_text(params, "server:5432/app");
}

const char *
pg_sqlstate(const PGresult *result)
{
	return failure_state;
}

int
pg_in_flight(const Pg *pg)
{
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &calls)
		n += dlist_container(FakeCall, node, iter.cur)->pg == pg;
	return n;
}

void
pg_send(Pg *pg, const PgStatement *statement, WireParams *params, PgResultFn fn, void *arg)
{
	FakeCall   *call = palloc0(sizeof(FakeCall));

	assert_true(pg->is_up || pg->rests);
	call->pg = pg;
	call->statement = statement;
	call->fn = fn;
	call->arg = arg;
	dlist_push_tail(&calls, &call->node);
	if (params == NULL)
		return;
	for (int i = 0; i < params->n; i++)
	{
		call->sizes[i] = params->values[i].len;
		if (params->values[i].len >= (int) sizeof(uint64))
			memcpy(&call->int8s[i], params->values[i].data + params->values[i].len - sizeof(uint64), sizeof(uint64));
		call->int8s[i] = pg_ntoh64(call->int8s[i]);
		if (params->values[i].len != sizeof(uint32))
			continue;
		memcpy(&call->int4s[i], params->values[i].data, sizeof(uint32));
		call->int4s[i] = pg_ntoh32(call->int4s[i]);
	}
	wire_clear(params);
}

static inline void
end_call(FakeCall *call, PgOutcome outcome, PGresult *result)
{
	PgResultFn	fn = call->fn;
	void	   *arg = call->arg;

	dlist_delete(&call->node);
	pfree(call);
	if (fn != NULL)
		fn(arg, outcome, result);
	PQclear(result);
}

static inline void
lose_calls(Pg *pg)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &calls)
		if (dlist_container(FakeCall, node, iter.cur)->pg == pg)
		end_call(dlist_container(FakeCall, node, iter.cur), PG_LOST, NULL);
}

void
pg_close(Pg *pg)
{
	pg->is_up = false;
	lose_calls(pg);
	pfree(pg);
}

void
pg_reset(Pg *pg, const char *why)
{
	pg->is_up = false;
	lose_calls(pg);
	pg->on_state(pg->arg, false);
}

/* ---- what the test does ---- */

static inline void
come_up(Pg *pg)
{
	pg->is_up = true;
	pg->on_state(pg->arg, true);
}

/* The first call of that statement; NULL: there is none. */
static inline FakeCall *
find_call(const char *statement)
{
	dlist_iter	iter;

	dlist_foreach(iter, &calls)
	{
		FakeCall   *call = dlist_container(FakeCall, node, iter.cur);

		if (strcmp(call->statement->name, statement) == 0)
			return call;
	}
	return NULL;
}

/* result: freed here; NULL: no rows. */
static inline void
answer(const char *statement, PGresult *result)
{
	FakeCall   *call = find_call(statement);

	if (call == NULL)
		fail_msg("nobody called %s", statement);
	end_call(call, PG_DONE,
			 result == NULL ? PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK) : result);
}

/* A result that has no rows yet. */
static inline PGresult *
make_result(int ncolumns)
{
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc *columns = palloc0(ncolumns * sizeof(PGresAttDesc));

	for (int i = 0; i < ncolumns; i++)
	{
		columns[i].name = (char *) "";
		columns[i].format = 1;
	}
	assert_true(PQsetResultAttrs(result, ncolumns, columns));
	pfree(columns);
	return result;
}

static inline void
put_bytes(PGresult *result, int row, int column, const void *bytes, int len)
{
	assert_true(PQsetvalue(result, row, column, (char *) bytes, len));
}

static inline void
put_text(PGresult *result, int row, int column, const char *text)
{
	put_bytes(result, row, column, text, strlen(text));
}

static inline void
put_int8(PGresult *result, int row, int column, int64 value)
{
	uint64		bytes = pg_hton64((uint64) value);

	put_bytes(result, row, column, &bytes, sizeof(bytes));
}

static inline void
put_int4(PGresult *result, int row, int column, int32 value)
{
	uint32		bytes = pg_hton32((uint32) value);

	put_bytes(result, row, column, &bytes, sizeof(bytes));
}

static inline void
put_int2(PGresult *result, int row, int column, int16 value)
{
	uint16		bytes = pg_hton16((uint16) value);

	put_bytes(result, row, column, &bytes, sizeof(bytes));
}

static inline void
put_bool(PGresult *result, int row, int column, bool value)
{
	char		byte = value;

	put_bytes(result, row, column, &byte, 1);
}

#endif							/* TWT_FAKE_PG_H */
