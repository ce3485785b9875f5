#include "base/port.h"

#include "lib/ilist.h"
#include "pg/pg.h"
#include "web/pool.h"

/* Above this many calls at once, callers are asked to come again. */
#define CALLS_MAX 200

/* Looks at waiting calls so often. */
#define LOOK_US MS_TO_US(100)

#define AWAY "The database is away; nothing has changed."

typedef struct Session
{
	Pool	   *pool;
	Pg		   *pg;
	struct PoolCall *call;		/* NULL: free */
} Session;

typedef struct PoolCall
{
	dlist_node	node;			/* while it waits */
	const PgStatement *statement;
	WireParams	params;
	PoolResultFn fn;
	void	   *arg;
	Session    *session;		/* NULL: it waits */
	int64		since_us;		/* it waits, or was sent */
} PoolCall;

struct Pool
{
	Loop	   *loop;
	LoopTimer  *timer;			/* the next look at the waiting calls */
	dlist_head	waiting;
	void		(*on_loss) (void *arg); /* or NULL */
	void	   *on_loss_arg;
	int			ncalls;
	bool		is_closing;
	int			nsessions;
	Session    *sessions;
};

/* The SQLSTATEs, or classes of them, of failures that may pass. */
static const struct
{
	const char *state;
	const char *why;
}			passing[] =

{
	{"40", "Another transaction was in the way; nothing has changed."},
	{"53400", "A function in the database took too long; nothing has changed."},
	{"53", "The database lacks resources; nothing has changed."},
	{"55P03", "Another transaction holds a lock for long; nothing has changed."},
	{"57", "The database took too long, or stopped; nothing has changed."},
};

static void send_waiting(Pool *pool);

/* ---- the end of a call ---- */

static void
end_call(Pool *pool, PoolCall *call, PoolOutcome outcome, PGresult *result, const char *why)
{
	pool->ncalls--;
	call->fn(call->arg, outcome, result, why);
	wire_clear(&call->params);
	pfree(call);
}

static void
end_waiting(Pool *pool, PoolCall *call, const char *why)
{
	dlist_delete(&call->node);
	end_call(pool, call, POOL_LATER, NULL, why);
}

static void
end_all_waiting(Pool *pool, const char *why)
{
	while (!dlist_is_empty(&pool->waiting))
		end_waiting(pool, dlist_head_element(PoolCall, node, &pool->waiting), why);
}

/* NULL: the failure will not pass. */
static const char *
why_later(const PGresult *result)
{
	const char *state = pg_sqlstate(result);

	for (size_t i = 0; i < lengthof(passing); i++)
		if (strncmp(state, passing[i].state, strlen(passing[i].state)) == 0)
			return passing[i].why;
	return NULL;
}

static void
on_result(void *arg, PgOutcome outcome, PGresult *result)
{
	PoolCall   *call = arg;
	Pool	   *pool = call->session->pool;
	const char *why = outcome == PG_FAILED ? why_later(result) : NULL;

	call->session->call = NULL;
	if (outcome == PG_LOST)
		end_call(pool, call, POOL_UNKNOWN, NULL, NULL);
	else if (outcome == PG_DONE)
		end_call(pool, call, POOL_DONE, result, NULL);
	else
		end_call(pool, call, why != NULL ? POOL_LATER : POOL_FAILED, result, why);
	send_waiting(pool);
}

/* ---- sending ---- */

static void
run(Session *session, PoolCall *call)
{
	dlist_delete(&call->node);
	session->call = call;
	call->session = session;
	call->since_us = loop_now_us(session->pool->loop);
	pg_expect_wait(session->pg, POOL_STATEMENT_US);
	pg_send(session->pg, call->statement, &call->params, on_result, call);
}

/* NULL: none is free. */
static Session *
free_session(Pool *pool)
{
	for (int i = 0; i < pool->nsessions; i++)
		if (pool->sessions[i].call == NULL && pg_is_up(pool->sessions[i].pg))
			return &pool->sessions[i];
	return NULL;
}

/* Opens a session for each waiting call, as far as there may be so many. */
static void
open_sessions(Pool *pool)
{
	int			i = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &pool->waiting)
	{
		while (i < pool->nsessions && pg_is_up(pool->sessions[i].pg))
			i++;
		if (i == pool->nsessions)
			return;
		pg_start(pool->sessions[i++].pg);
	}
}

static void
send_waiting(Pool *pool)
{
	Session    *session;

	if (pool->is_closing)
		return;
	while (!dlist_is_empty(&pool->waiting) && (session = free_session(pool)) != NULL)
		run(session, dlist_head_element(PoolCall, node, &pool->waiting));
	open_sessions(pool);
	if (!dlist_is_empty(&pool->waiting) && !loop_timer_active(pool->timer))
		loop_timer_start(pool->timer, LOOK_US);
}

static bool
is_away(const Pool *pool)
{
	return !pool_is_up(pool) && pg_is_failing(pool->sessions[0].pg);
}

static void
look(void *arg)
{
	Pool	   *pool = arg;
	int64		until = loop_now_us(pool->loop) - POOL_WAIT_US;

	if (is_away(pool))
		end_all_waiting(pool, AWAY);
	while (!dlist_is_empty(&pool->waiting) &&
		   dlist_head_element(PoolCall, node, &pool->waiting)->since_us <= until)
		end_waiting(pool, dlist_head_element(PoolCall, node, &pool->waiting),
					pool_is_up(pool) ? "All sessions of the database are busy; nothing has changed." : AWAY);
	send_waiting(pool);
}

void
pool_send(Pool *pool, const PgStatement *statement, WireParams *params,
		  PoolResultFn fn, void *arg)
{
	PoolCall   *call = palloc0(sizeof(PoolCall));

	call->statement = statement;
	call->params = *params;
	wire_init(params);
	call->fn = fn;
	call->arg = arg;
	call->since_us = loop_now_us(pool->loop);
	pool->ncalls++;
	dlist_push_tail(&pool->waiting, &call->node);
	if (pool->ncalls > CALLS_MAX)
		end_waiting(pool, call, "Too many requests are under way; nothing has changed.");
	else if (is_away(pool))
		end_waiting(pool, call, AWAY);
	else
		send_waiting(pool);
}

/* ---- the whole ---- */

static void
on_state(void *arg, bool is_up)
{
	Pool	   *pool = ((Session *) arg)->pool;

	if (is_up)
		send_waiting(pool);
	else if (!pool->is_closing)
	{
		if (pool->on_loss != NULL)
			pool->on_loss(pool->on_loss_arg);
		look(pool);
	}
}

Pool *
pool_new(Loop *loop, const char *conninfo, const char *role, int max)
{
	Pool	   *pool = palloc0(sizeof(Pool));

	pool->loop = loop;
	pool->timer = loop_timer_new(loop, look, pool);
	pool->nsessions = max;
	pool->sessions = palloc0(max * sizeof(Session));
	dlist_init(&pool->waiting);
	for (int i = 0; i < max; i++)
	{
		Session    *session = &pool->sessions[i];

		session->pool = pool;
		session->pg = pg_new(loop, conninfo, role, on_state, session);
		pg_give_up_within(session->pg, POOL_SILENT_US);
		pg_rest_after(session->pg, PG_REST_US);
	}
	return pool;
}

void
pool_on_loss(Pool *pool, void (*fn) (void *arg), void *arg)
{
	pool->on_loss = fn;
	pool->on_loss_arg = arg;
}

void
pool_keep_one(Pool *pool)
{
	pg_rest_after(pool->sessions[0].pg, 0);
	pg_start(pool->sessions[0].pg);
}

void
pool_close(Pool *pool)
{
	pool->is_closing = true;
	for (int i = 0; i < pool->nsessions; i++)
		pg_close(pool->sessions[i].pg);
	end_all_waiting(pool, "The server stops; nothing has changed.");
	loop_timer_free(pool->timer);
	pfree(pool->sessions);
	pfree(pool);
}

bool
pool_is_up(const Pool *pool)
{
	for (int i = 0; i < pool->nsessions; i++)
		if (pg_is_up(pool->sessions[i].pg))
			return true;
	return false;
}

const char *
pool_login(const Pool *pool)
{
	for (int i = 0; i < pool->nsessions; i++)
		if (pg_is_up(pool->sessions[i].pg))
			return pg_login(pool->sessions[i].pg);
	return NULL;
}

static bool
is_silent(const Pool *pool)
{
	int64		late_us = loop_now_us(pool->loop) - POOL_STATEMENT_US - POOL_SILENT_US / 2;

	for (int i = 0; i < pool->nsessions; i++)
		if (pool->sessions[i].call != NULL && pool->sessions[i].call->since_us < late_us)
			return true;
	return false;
}

const char *
pool_trouble(const Pool *pool)
{
	if (is_away(pool))
		return "no database";
	return is_silent(pool) ? "the database does not answer" : NULL;
}
