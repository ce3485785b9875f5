/*-------------------------------------------------------------------------
 *
 * finish_session.c
 *		Sends outcomes of tasks over one session.
 *
 *		from: finish.c			to: sql/run/finish_tasks.sql
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "finish/finish_session.h"
#include "finish/postponed.h"
#include "metrics/metrics.h"
#include "calls/calls.h"
#include "trace/span.h"

/* A second request goes ahead only if it is full; else it waits for the first answer. */
#define FINISHES_AHEAD 2
#define FINISH_MAX 500
#define FINISH_MAX_BYTES (4 * 1024 * 1024)
#define AGAIN_US SECONDS_TO_US(1)
#define FAILED_IN_A_ROW 3

/* Statements that call policy functions are small, so that locks are held briefly. */
#define ASKED_MAX 50

/* An asking session gives up an outcome that has waited this long. */
#define PATIENCE_US SECONDS_TO_US(10)

/* A function that twice lost its session is not called a third time. */
#define LOSSES_MAX 2

typedef enum RequestState
{
	REQUEST_FIRST,
	REQUEST_AGAIN,				/* the first answer was lost */
	REQUEST_RESOLVING			/* asks which tasks the first call finished */
} RequestState;

typedef struct FinishRequest
{
	dlist_node	node;
	FinishSession *session;
	RequestState state;
	int			n;
	int64		token;
	int64		sent_us;
	FinishItem *items[FINISH_MAX];	/* ordered by id */
} FinishRequest;

struct FinishSession
{
	Loop	   *loop;
	Node	   *node;
	Pg		   *pg;
	FinishKind	kind;
	const FinishEvents *events;
	void	   *arg;
	LoopTimer  *patience;		/* runs while items of an asking session wait */
	LoopTimer  *pause;			/* after failures in a row */
	int			nfailed;		/* in a row */
	int64		stored_us;		/* when a statement last succeeded */
	dlist_head	waiting;		/* not sent, or to be sent again */
	Postponed  *postponed;		/* refused alone, or left */
	dlist_head	requests;
	int			nitems;
	int			nwaiting;		/* items in the list waiting */
};

static void
free_item(FinishSession *session, FinishItem *item)
{
	postponed_forget(session->postponed, item, true);
	finish_item_free(item);
	session->nitems--;
}

void
finish_session_add(FinishSession *session, FinishItem *item)
{
	dlist_push_tail(&session->waiting, &item->node);
	session->nitems++;
	session->nwaiting++;
	if (session->kind == FINISH_ASKING && !loop_timer_active(session->patience))
		loop_timer_start(session->patience, PATIENCE_US);
}

/*
 * Items that were sent before keep the token of their statement.  So a request
 * has only items of one old statement, or only new items, each of another task.
 */
static FinishRequest *
collect(FinishSession *session)
{
	FinishRequest *request = palloc(sizeof(FinishRequest));
	int64		bytes = 0;
	int			n;
	dlist_mutable_iter iter;

	request->session = session;
	request->n = 0;
	dlist_foreach_modify(iter, &session->waiting)
	{
		FinishItem *item = dlist_container(FinishItem, node, iter.cur);

		if (request->n > 0 &&
			(item->token != request->items[0]->token || item->goes_alone))
			break;
		dlist_delete(&item->node);
		request->items[request->n++] = item;
		bytes += finish_item_bytes(item);
		if (request->n == (session->kind == FINISH_ASKING ? ASKED_MAX : FINISH_MAX) || bytes > FINISH_MAX_BYTES || item->goes_alone)
			break;
	}
	n = request->n;
	request->n = finish_items_sort(request->items, n);
	session->nwaiting -= request->n;
	while (n > request->n)
		dlist_push_head(&session->waiting, &request->items[--n]->node);
	return request;
}

/* Status PROCESSING: the database had no time for functions of policies. */
static void
take_answer(FinishSession *session, FinishItem *item, const PGresult *result, int row)
{
	bool		is_resolved = PQnfields(result) <= FINISH_STATUS;
	const char *status = is_resolved ? NULL : PQgetvalue(result, row, FINISH_STATUS);

	item->answer = FINISH_ACCEPTED;
	if (status != NULL && strcmp(status, "PROCESSING") == 0 && item->result != TASK_ACCEPTED)
		item->answer = FINISH_LATER;
	else
		span_end(item->span, metrics_ended(item->counts, item->result, status));
	if (item->answer == FINISH_ACCEPTED && item->judgement != NULL)
		session->events->on_judged(session->arg, item, status,
								   is_resolved || PQgetisnull(result, row, FINISH_DELAY_MS) ? 0 :
								   wire_get_int(result, row, FINISH_DELAY_MS));
}

static void
take_answers(FinishRequest *request, const PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		FinishItem *item = finish_items_find(request->items, request->n,
											 wire_get_uuid(result, i, FINISH_ID));

		if (item != NULL)
			take_answer(request->session, item, result, i);
	}
}

static void
give_up(FinishSession *session, FinishItem *item)
{
	session->nitems--;
	postponed_forget(session->postponed, item, false);
	session->events->on_given_up(session->arg, item);
}

/* A lost outcome goes last and alone: its row may stay locked. */
static void
wait_again(FinishSession *session, FinishItem *item)
{
	item->answer = FINISH_REFUSED;
	if (session->kind == FINISH_PLAIN ||
		(session->kind == FINISH_ASKING && item->judgement->losses >= LOSSES_MAX))
	{
		give_up(session, item);
		return;
	}
	item->goes_alone |= session->kind == FINISH_LOST;
	if (session->kind == FINISH_LOST)
		dlist_push_tail(&session->waiting, &item->node);
	else
		dlist_push_head(&session->waiting, &item->node);
	session->nwaiting++;
}

/* Gives up old outcomes, and those that would follow within a second. */
static int
give_up_old_of(FinishSession *session, dlist_head *items)
{
	int64		until = loop_now_us(session->loop) - PATIENCE_US + SECONDS_TO_US(1);
	int			n = 0;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, items)
	{
		FinishItem *item = dlist_container(FinishItem, node, iter.cur);

		if (item->judgement->since_us > until)
			continue;
		dlist_delete(&item->node);
		give_up(session, item);
		n++;
	}
	return n;
}

static void
give_up_old(FinishSession *session)
{
	int			n = give_up_old_of(session, &session->waiting);

	session->nwaiting -= n;
	n += give_up_old_of(session, postponed_items(session->postponed));
	if (n > 0)
		log_line(TWT_LOG_WARN, "policy",
				 "functions of policies did not answer in time: their figures decide on %d tasks", n);
}

/* Functions of policies had no time, or a transaction claims the key of a task to add. */
static void
try_later(FinishSession *session, FinishItem *item)
{
	item->token = 0;
	if (session->kind != FINISH_ASKING)
		postponed_add(session->postponed, item);
	else
		wait_again(session, item);
}

static void
end_request(FinishRequest *request)
{
	FinishSession *session = request->session;

	dlist_delete(&request->node);
	for (int i = request->n - 1; i >= 0; i--)
	{
		FinishItem *item = request->items[i];

		if (item->answer == FINISH_REFUSED)
			finish_item_log_refused(item);
		if (item->answer == FINISH_LATER)
			try_later(session, item);
		else
			free_item(session, item);
	}
	pfree(request);
	if (session->kind == FINISH_ASKING)
		give_up_old(session);
}

/* The connection was lost. */
static void
put_back(FinishRequest *request)
{
	FinishSession *session = request->session;

	dlist_delete(&request->node);
	for (int i = request->n - 1; i >= 0; i--)
	{
		if (request->items[i]->judgement != NULL)
			request->items[i]->judgement->losses++;
		wait_again(session, request->items[i]);
	}
	pfree(request);
}

/* Puts the items back to be sent one by one, at once or later. */
static void
put_back_singly(FinishRequest *request, bool is_postponed)
{
	FinishSession *session = request->session;

	dlist_delete(&request->node);
	for (int i = request->n - 1; i >= 0; i--)
	{
		request->items[i]->goes_alone = true;
		if (request->state == REQUEST_FIRST)
			request->items[i]->token = 0;	/* nothing happened */
		if (is_postponed)
			postponed_add(session->postponed, request->items[i]);
		else
			dlist_push_tail(&session->waiting, &request->items[i]->node);
	}
	session->nwaiting += is_postponed ? 0 : request->n;
	pfree(request);
}

/*
 * The server refused the statement.  Content that cannot be stored is replaced.
 * An item that was postponed before tells nothing new of the others.
 */
static void
on_failed(FinishRequest *request, PGresult *result)
{
	FinishSession *session = request->session;
	bool		is_known = request->n == 1 && request->items[0]->is_postponed;

	if (request->n == 1 && finish_item_replace_bad(request->items[0], result))
	{
		put_back_singly(request, false);
		loop_want_turn(session->loop);
		return;
	}
	put_back_singly(request, request->n == 1);
	if (!is_known && ++session->nfailed >= FAILED_IN_A_ROW &&
		loop_now_us(session->loop) - session->stored_us >= AGAIN_US)
		loop_timer_start(session->pause, AGAIN_US);
}

static void on_answer(void *arg, PgOutcome outcome, PGresult *result);

static void
send_resolve(FinishRequest *request)
{
	WireParams	params;

	request->state = REQUEST_RESOLVING;
	wire_init(&params);
	finish_items_add_ids(request->items, request->n, &params);
	wire_add_int8(&params, node_incarnation(request->session->node));
	wire_add_int8(&params, request->token);
	pg_send(request->session->pg, &call_resolve_finish, &params, on_answer, request);
}

static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	FinishRequest *request = arg;

	switch (outcome)
	{
		case PG_DONE:
			request->session->nfailed = 0;
			request->session->stored_us = loop_now_us(request->session->loop);
			request->session->events->on_answered(request->session->arg, request->session->stored_us - request->sent_us);
			take_answers(request, result);
			if (PQntuples(result) < request->n && request->state == REQUEST_AGAIN)
				send_resolve(request);
			else
				end_request(request);
			break;
		case PG_LOST:
			put_back(request);
			break;
		case PG_FAILED:
			on_failed(request, result);
			break;
	}
}

static void
send_finish(FinishSession *session)
{
	FinishRequest *request = collect(session);
	WireParams	params;

	request->sent_us = loop_now_us(session->loop);
	request->state = request->items[0]->token == 0 ? REQUEST_FIRST : REQUEST_AGAIN;
	request->token = request->state == REQUEST_FIRST ? node_next_token(session->node) :
		request->items[0]->token;
	for (int i = 0; i < request->n; i++)
		request->items[i]->token = request->token;
	dlist_push_tail(&session->requests, &request->node);
	wire_init(&params);
	finish_items_add_ids(request->items, request->n, &params);
	finish_items_add_outcomes(request->items, request->n, &params);
	wire_add_int8(&params, node_incarnation(session->node));
	wire_add_int8(&params, request->token);
	finish_items_add_grabs(request->items, request->n, &params);
	finish_items_add_retries(request->items, request->n, &params);
	wire_add_bool(&params, session->kind == FINISH_ASKING);
	finish_items_add_json(request->items, request->n, &params);
	pg_send(session->pg, &call_finish, &params, on_answer, request);
}

static bool
is_worth_it(const FinishSession *session)
{
	return session->nwaiting >= FINISH_MAX ||
		(session->nwaiting > 0 && pg_in_flight(session->pg) == 0);
}

/* Needs an incarnation, which may just have been declared gone. */
void
finish_session_pump(FinishSession *session)
{
	if (session->nwaiting > 0)
		pg_start(session->pg);
	while (is_worth_it(session) && pg_is_up(session->pg) &&
		   node_incarnation(session->node) != 0 &&
		   !loop_timer_active(session->pause) &&
		   pg_in_flight(session->pg) < FINISHES_AHEAD)
		send_finish(session);
}

static void
on_state(void *arg, bool is_up)
{
	if (is_up)
		loop_want_turn(((FinishSession *) arg)->loop);
}

static void
on_pause_over(void *arg)
{
	finish_session_pump(arg);
}

static void
on_again(void *arg)
{
	FinishSession *session = arg;

	session->nwaiting += postponed_take(session->postponed, &session->waiting);
	finish_session_pump(session);
}

static void
on_patience_over(void *arg)
{
	FinishSession *session = arg;

	give_up_old(session);
	if (session->nitems > 0)
		loop_timer_start(session->patience, SECONDS_TO_US(1));
}

FinishSession *
finish_session_open(Loop *loop, const Config *config, Node *node, FinishKind kind,
					const char *role)
{
	FinishSession *session = palloc0(sizeof(FinishSession));

	session->loop = loop;
	session->node = node;
	session->kind = kind;
	dlist_init(&session->waiting);
	dlist_init(&session->requests);
	session->patience = loop_timer_new(loop, on_patience_over, session);
	session->pause = loop_timer_new(loop, on_pause_over, session);
	session->postponed = postponed_new(loop, on_again, session);
	session->stored_us = loop_now_us(loop) - AGAIN_US;
	session->pg = pg_new(loop, config->postgres, role, on_state, session);
	pg_rest_after(session->pg, PG_REST_US);
	return session;
}

void
finish_session_listen(FinishSession *session, const FinishEvents *events, void *arg)
{
	session->events = events;
	session->arg = arg;
}

void
finish_session_expect(FinishSession *session)
{
	pg_start(session->pg);
}

int
finish_session_pending(const FinishSession *session)
{
	return session->nitems;
}

int
finish_session_postponed(const FinishSession *session)
{
	return postponed_count(session->postponed);
}

static void
forget_all(FinishSession *session, dlist_head *items)
{
	while (!dlist_is_empty(items))
		free_item(session, dlist_container(FinishItem, node, dlist_pop_head_node(items)));
}

void
finish_session_gone(FinishSession *session)
{
	/* this puts sent items back into the list */
	pg_reset(session->pg, "the incarnation is gone");
	finish_items_drop_tokens(&session->waiting);
	finish_items_drop_tokens(postponed_items(session->postponed));
}

void
finish_session_free(FinishSession *session)
{
	pg_close(session->pg);
	forget_all(session, &session->waiting);
	forget_all(session, postponed_items(session->postponed));
	loop_timer_free(session->patience);
	loop_timer_free(session->pause);
	postponed_free(session->postponed);
	pfree(session);
}
