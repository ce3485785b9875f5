/*-------------------------------------------------------------------------
 *
 * grab.c
 *		Grabs tasks for this node: SUBMITTED -> PROCESSING.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "grab/grab.h"
#include "grab/grab_answers.h"
#include "calls/calls.h"

/*
 * A batch that is not full gathers more triggers until the last one is
 * answered.  Full batches use two sessions: while one waits for the disk, the
 * other works.  In each session the server executes one batch while the next
 * is on its way.
 */
#define SESSIONS 2
#define GRABS_AHEAD 2
#define AGAIN_US SECONDS_TO_US(1)

typedef enum RequestState
{
	REQUEST_READY,				/* split off: sent first, and alone */
	REQUEST_SENT,
	REQUEST_UNKNOWN				/* the answer was lost */
} RequestState;

/* One grab, until its outcome is known. */
typedef struct GrabRequest
{
	dlist_node	node;
	Grab	   *grab;
	RequestState state;
	GrabQuestion question;
} GrabRequest;

struct Grab
{
	GrabParts	parts;
	Pg		   *pgs[SESSIONS];	/* closed until they are needed */
	LoopTimer  *pause;			/* after a failure */
	GrabAnswers *answers;
	dlist_head	requests;
	int			nrequests;
	Batch	   *gathered;		/* not sent yet; NULL: none */
	bool		is_stopped;
};

static void
remove_request(GrabRequest *request)
{
	dlist_delete(&request->node);
	request->grab->nrequests--;
	pfree(request->question.unreadable);
	pfree(request);
}

static void
set_state(GrabRequest *request, RequestState state)
{
	request->state = state;
}

/* Removes the request before it hands on the tasks. */
static void
take_answer(GrabRequest *request, const PGresult *result)
{
	GrabAnswers *answers = request->grab->answers;
	GrabQuestion question = request->question;

	request->question.unreadable = NULL;
	remove_request(request);
	grab_answers_take(answers, question, result);
}

static GrabRequest *
add_request(Grab *grab, Batch *batch)
{
	GrabRequest *request = palloc0(sizeof(GrabRequest));

	request->grab = grab;
	request->question.batch = batch;
	dlist_push_tail(&grab->requests, &request->node);
	grab->nrequests++;
	return request;
}

static void
add_single(void *arg, Batch *single)
{
	(void) add_request(arg, single);
}

/* Puts unsent triggers back, so that other tasks can use their slots. */
static void
put_back_gathered(Grab *grab)
{
	if (grab->gathered != NULL)
		batch_put_back(grab->gathered);
	grab->gathered = NULL;
}

/*
 * The server refused the statement.  One task may be at fault, say because its
 * data cannot be read, so each task is tried alone.  A task that is refused
 * alone for its contents is grabbed without its data, and fails.  For any
 * other refusal the task is not to blame: its trigger is dropped, and all
 * grabs pause.
 */
static void
on_failed(GrabRequest *request, const PGresult *result)
{
	Grab	   *grab = request->grab;

	if (request->question.batch->n > 1)
	{
		set_state(request, REQUEST_READY);
		batch_split(request->question.batch, add_single, grab);
		return;
	}
	if (request->question.unreadable == NULL && grab_answers_blame_content(result))
	{
		set_state(request, REQUEST_READY);
		request->question.unreadable = grab_answers_describe(result);
		return;
	}
	loop_timer_start(grab->pause, AGAIN_US);
	put_back_gathered(grab);
	batch_drop(request->question.batch);
	remove_request(request);
}

/*
 * A late answer does not count: other nodes may have the tasks by now, so we ask
 * again.
 */
static void
on_answer(GrabRequest *request, PgOutcome outcome, PGresult *result)
{
	switch (outcome)
	{
		case PG_DONE:
			if (PQntuples(result) == 0 || node_start_now(request->grab->parts.node) != 0)
				take_answer(request, result);
			else
				set_state(request, REQUEST_UNKNOWN);
			break;
		case PG_LOST:
			set_state(request, REQUEST_UNKNOWN);
			break;
		case PG_FAILED:
			on_failed(request, result);
			break;
	}
}

static void
on_grabbed(void *arg, PgOutcome outcome, PGresult *result)
{
	GrabRequest *request = arg;

	metrics_statement(request->grab->parts.metrics, STATEMENT_GRAB,
					  loop_now_us(request->grab->parts.loop) - request->question.sent_us);
	if (outcome == PG_DONE && PQntuples(result) > 0)
		node_prove(request->grab->parts.node, request->question.sent_us);
	on_answer(request, outcome, result);
}

/* The grab session with the fewest requests; NULL: none can take more. */
static Pg *
own_session(const Grab *grab)
{
	Pg		   *best = NULL;

	for (int i = 0; i < SESSIONS; i++)
	{
		Pg		   *pg = grab->pgs[i];

		if (pg_is_up(pg) && pg_in_flight(pg) < GRABS_AHEAD &&
			(best == NULL || pg_in_flight(pg) < pg_in_flight(best)))
			best = pg;
	}
	return best;
}

static bool
any_is_up(const Grab *grab)
{
	for (int i = 0; i < SESSIONS; i++)
		if (pg_is_up(grab->pgs[i]))
			return true;
	return false;
}

/* The session for the next grab; NULL: none yet. */
static Pg *
next_session(const Grab *grab)
{
	Pg		   *control = node_pg(grab->parts.node);

	if (any_is_up(grab))
		return own_session(grab);
	return pg_is_up(control) && pg_in_flight(control) == 0 &&
		!pg_is_failing(grab->pgs[0]) ? control : NULL;
}

static void
on_resolved(void *arg, PgOutcome outcome, PGresult *result)
{
	GrabRequest *request = arg;

	if (outcome == PG_FAILED)
	{
		lost_grabs_add(request->grab->parts.lost, request->question.batch);
		remove_request(request);
	}
	else
		on_answer(request, outcome, result);
}

static void
send_resolve(GrabRequest *request, Pg *pg)
{
	Grab	   *grab = request->grab;
	WireParams	params;

	set_state(request, REQUEST_SENT);
	log_line(TWT_LOG_INFO, "grab", "asking for the outcome of %d grabs",
			 request->question.batch->n);
	wire_init(&params);
	batch_add_ids(request->question.batch, &params);
	wire_add_int8(&params, node_incarnation(grab->parts.node));
	wire_add_int8(&params, request->question.batch->token);
	pg_send(pg, request->question.unreadable == NULL ? &call_resolve_grab :
			&call_resolve_grab_bare, &params, on_resolved, request);
}

/*
 * Asks for the outcome of lost and late grabs, over any grab session: on the
 * server that query waits briefly for the lost grab.  Its answer may start
 * tasks, so it is sent when tasks may start.  True: some are still unknown, so
 * no new grab is sent yet.
 */
static bool
resolve_unknown(Grab *grab)
{
	dlist_iter	iter;
	bool		any = false;
	Pg		   *pg;

	dlist_foreach(iter, &grab->requests)
	{
		GrabRequest *request = dlist_container(GrabRequest, node, iter.cur);

		if (request->state != REQUEST_UNKNOWN)
			continue;
		any = true;
		pg = own_session(grab);
		if (pg != NULL && node_start_now(grab->parts.node) != 0)
			send_resolve(request, pg);
	}
	return any;
}

static bool
gather(Grab *grab)
{
	TableEntry *entry;
	Table	   *table;

	while ((grab->gathered == NULL || !batch_is_full(grab->gathered)) &&
		   (entry = grab->parts.next(grab->parts.source, &table)) != NULL)
	{
		if (grab->gathered == NULL)
			grab->gathered = batch_new();
		batch_add(grab->gathered, table, entry);
	}
	return grab->gathered != NULL;
}

static void
drop_gathered(Grab *grab)
{
	if (grab->gathered != NULL)
		batch_drop(grab->gathered);
	grab->gathered = NULL;
}

static void
send_grab(GrabRequest *request, Pg *pg)
{
	Grab	   *grab = request->grab;
	Batch	   *batch = request->question.batch;
	WireParams	params;

	set_state(request, REQUEST_SENT);
	request->question.sent_us = loop_now_us(grab->parts.loop);
	batch_sort(batch);
	batch->token = node_next_token(grab->parts.node);
	wire_init(&params);
	batch_add_ids(batch, &params);
	wire_add_int8(&params, node_incarnation(grab->parts.node));
	wire_add_int8(&params, batch->token);
	batch_add_policies(batch, grab->parts.config, &params);
	batch_add_places(batch, &params);
	pg_send(pg, request->question.unreadable == NULL ? &call_grab : &call_grab_bare,
			&params, on_grabbed, request);
}

/* Split-off requests go first. */
static GrabRequest *
next_request(Grab *grab)
{
	dlist_iter	iter;
	Batch	   *batch;

	dlist_foreach(iter, &grab->requests)
	{
		GrabRequest *request = dlist_container(GrabRequest, node, iter.cur);

		if (request->state == REQUEST_READY)
			return request;
	}
	if (!gather(grab))
		return NULL;
	if (grab->nrequests > 0)
	{
		if (!batch_is_full(grab->gathered))
			return NULL;
		for (int i = 1; i < SESSIONS; i++)
			pg_start(grab->pgs[i]);
	}
	batch = grab->gathered;
	grab->gathered = NULL;
	return add_request(grab, batch);
}

/* Drops split-off requests that were not sent: a drain need not wait for them. */
static void
drop_held(Grab *grab, bool with_unknown)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &grab->requests)
	{
		GrabRequest *request = dlist_container(GrabRequest, node, iter.cur);

		if (request->state == REQUEST_UNKNOWN && with_unknown)
			lost_grabs_add(grab->parts.lost, request->question.batch);
		else if (request->state == REQUEST_READY)
			batch_drop(request->question.batch);
		else
			continue;
		remove_request(request);
	}
}

static void
send_ready(Grab *grab)
{
	GrabRequest *request;
	Pg		   *pg;

	if (resolve_unknown(grab))
		return;
	if (grab->is_stopped)
	{
		drop_held(grab, false);
		drop_gathered(grab);
		return;
	}
	while (!finish_is_behind(grab->parts.finish) &&
		   (pg = next_session(grab)) != NULL && (request = next_request(grab)) != NULL)
		send_grab(request, pg);
}

/*
 * Sends what is ready, and keeps a grab session open while there is work.  A node
 * that can be confirmed only by a new incarnation gives back what nobody can start.
 */
void
grab_pump(Grab *grab)
{
	if (node_may_start(grab->parts.node) == 0 && node_is_locked(grab->parts.node))
		drop_held(grab, true);
	if (node_may_start(grab->parts.node) == 0 || loop_timer_active(grab->pause))
		return;
	send_ready(grab);
	if (!any_is_up(grab) &&
		(grab->nrequests > 0 || (!grab->is_stopped && grab->parts.is_ready(grab->parts.source))))
		pg_start(grab->pgs[0]);
}

static void
on_state(void *arg, bool is_up)
{
	Grab	   *grab = arg;

	if (!is_up)
		put_back_gathered(grab);
	else
		loop_want_turn(grab->parts.loop);
}

/*
 * The refused grab has dropped triggers, so the owner must look for their
 * tasks.
 */
static void
on_pause_over(void *arg)
{
	Grab	   *grab = arg;

	grab->parts.on_doubt(grab->parts.doubt_arg);
}

Grab *
grab_open(const GrabParts *parts)
{
	Grab	   *grab = palloc0(sizeof(Grab));

	grab->parts = *parts;
	grab->answers = grab_answers_new(parts->loop, node_clock(parts->node), parts->execute, parts->offers);
	dlist_init(&grab->requests);
	grab->pause = loop_timer_new(parts->loop, on_pause_over, grab);
	for (int i = 0; i < SESSIONS; i++)
	{
		grab->pgs[i] = pg_new(parts->loop, parts->config->postgres, "grab", on_state, grab);
		pg_rest_after(grab->pgs[i], PG_REST_US);
	}
	return grab;
}

/*
 * Drops all requests.  The control session may still answer one, so it forgets
 * them.
 */
static void
drop_calls(Grab *grab)
{
	dlist_mutable_iter iter;

	drop_gathered(grab);
	dlist_foreach_modify(iter, &grab->requests)
	{
		GrabRequest *request = dlist_container(GrabRequest, node, iter.cur);

		pg_forget(node_pg(grab->parts.node), request);
		batch_drop(request->question.batch);
		remove_request(request);
	}
}

void
grab_forget(Grab *grab)
{
	for (int i = 0; i < SESSIONS; i++)
		pg_reset(grab->pgs[i], "the incarnation is gone");
	drop_calls(grab);
}

void
grab_free(Grab *grab)
{
	for (int i = 0; i < SESSIONS; i++)
		pg_close(grab->pgs[i]);
	drop_calls(grab);
	loop_timer_free(grab->pause);
	grab_answers_free(grab->answers);
	pfree(grab);
}

void
grab_stop(Grab *grab)
{
	grab->is_stopped = true;
}

int
grab_under_way(const Grab *grab)
{
	return grab->nrequests + lost_grabs_count(grab->parts.lost);
}
