/*-------------------------------------------------------------------------
 *
 * grab.c
 *		Asks the database for tasks: SUBMITTED -> PROCESSING, for us.
 *
 *		from: table.c			to: execute.c
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <time.h>

#include "base/log.h"
#include "common/trigger.h"
#include "grab/batch.h"
#include "grab/grab.h"
#include "node/task_clock.h"
#include "pg/calls.h"

/*
 * A batch that is not full gathers more until the last one is answered.  Full
 * batches go over two sessions: while one waits for the disk, the other works.
 * In each session the server executes one batch while the next is on its way.
 */
#define SESSIONS 2
#define GRABS_AHEAD 2
#define AGAIN_US SECONDS_TO_US(1)

typedef struct Flight
{
	dlist_node	node;
	Grab	   *grab;
	Pg		   *pg;				/* it was sent there last */
	Batch	   *batch;
	int64		sent_us;		/* when the grab was sent, not the question
								 * for its outcome */
	bool		is_unknown;		/* the answer was lost */
	bool		is_held;		/* a statement with it failed: goes alone */
	char	   *unreadable;		/* why it is grabbed without data; NULL: with
								 * it */
} Flight;

struct Grab
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	GrabEvents	events;
	void	   *arg;
	Pg		   *pgs[SESSIONS];	/* at rest until they are needed */
	LoopTimer  *pause;			/* after a failure */
	dlist_head	flights;
	int			nflights;
	Batch	   *gathered;		/* not sent yet; NULL: nothing */
	bool		is_stopped;
	int64		deadline_us;	/* deadline of the last task, since 1970 ... */
	char	   *deadline_text;	/* ... and as text; NULL: none yet */
	GrabStats	stats;
};

static void
remove_flight(Flight *flight)
{
	dlist_delete(&flight->node);
	flight->grab->nflights--;
	pfree(flight->unreadable);
	pfree(flight);
}

/* JSON text or payload: what the handler reads. */
static void
copy_data(Task *task, const PGresult *result, int row)
{
	const char *bytes;

	task->is_binary = !wire_null(result, row, GRAB_PAYLOAD);
	if (task->is_binary)
		bytes = wire_get_bytes(result, row, GRAB_PAYLOAD, &task->data_len);
	else if (wire_null(result, row, GRAB_DATA))
		return;
	else
		bytes = wire_get_json(result, row, GRAB_DATA, &task->data_len);
	task->data = palloc(task->data_len + 1);
	memcpy(task->data, bytes, task->data_len);
	task->data[task->data_len] = '\0';
}

/* "2026-01-02T03:04:05.678901Z" */
static char *
iso_time(int64 unix_us)
{
	time_t		seconds = (time_t) (unix_us / 1000000);
	struct tm	tm;
	char		text[32];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	return psprintf("%s.%06dZ", text, (int) (unix_us % 1000000));
}

/*
 * The tasks of a batch were grabbed at one time, and most have the same
 * timeout.
 */
static char *
deadline_text(Grab *grab, int64 unix_us)
{
	if (grab->deadline_text == NULL || unix_us != grab->deadline_us)
	{
		if (grab->deadline_text != NULL)
			pfree(grab->deadline_text);
		grab->deadline_text = iso_time(unix_us);
		grab->deadline_us = unix_us;
	}
	return pstrdup(grab->deadline_text);
}

/*
 * How long ago the database grabbed a task.  A clock that was set back or
 * forward must not matter, so the grab is never older than our question.
 */
static int64
age_of_grab(const Grab *grab, int64 grabbed_us, int64 sent_us)
{
	return Max(0, Min(task_clock_us() - grabbed_us,
					  loop_now_us(grab->loop) - sent_us));
}

static Task *
make_task(Grab *grab, const PGresult *result, int row, Policy *policy, int64 sent_us)
{
	int64		grabbed_us = wire_get_time(result, row, GRAB_GRABBED);
	Task	   *task = palloc0(sizeof(Task));
	size_t		len;

	memcpy(task->id, wire_get_uuid(result, row, GRAB_ID), TASK_ID_BYTES);
	trigger_id_text(task->id, task->id_text);
	task->version = wire_get_int8(result, row, GRAB_VERSION);
	task->type = wire_dup_text(result, row, GRAB_TYPE);
	task->sub_type = wire_dup_text(result, row, GRAB_SUB_TYPE);
	task->bucket = wire_dup_text(result, row, GRAB_BUCKET);
	task->priority = wire_get_int2(result, row, GRAB_PRIORITY);
	task->tries = wire_get_int4(result, row, GRAB_TRIES);
	if (!wire_null(result, row, GRAB_CONTEXT))
		task->context = pstrdup(wire_get_json(result, row, GRAB_CONTEXT, &len));
	task->deadline_us = loop_now_us(grab->loop) + policy->timeout_us -
		age_of_grab(grab, grabbed_us, sent_us);
	task->deadline_text = deadline_text(grab, grabbed_us + policy->timeout_us);
	task->policy = policy;
	task->max_tries = policy->max_tries;
	task->place = wire_get_place(result, row, GRAB_PLACE);
	copy_data(task, result, row);
	return task;
}

/*
 * A task that a cluster-wide limit refused waits in the table until the limit
 * has room.  If we do not know the limit, we read it first; until then the
 * sweep finds its tasks again.
 */
static void
take_refusals(Grab *grab, Batch *batch, const PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		int64		until_us = 0;

		if (!wire_null(result, i, GRAB_VERSION))
			continue;
		if (!wire_null(result, i, GRAB_GRABBED))
			until_us = wire_get_time(result, i, GRAB_GRABBED);
		if (grab->events.on_refused(grab->arg, PQgetvalue(result, i, GRAB_TYPE), until_us))
			batch_refuse(batch, wire_get_uuid(result, i, GRAB_ID));
	}
}

/* Hands on the tasks that we won; those left in the batch went to others. */
static void
take_tasks(Flight *flight, const PGresult *result)
{
	Grab	   *grab = flight->grab;
	Batch	   *batch = flight->batch;
	int64		batch_token = batch->token;
	int64		sent_us = flight->sent_us;
	char	   *unreadable = flight->unreadable;
	int			lost;

	flight->unreadable = NULL;
	remove_flight(flight);
	for (int i = 0; i < PQntuples(result); i++)
	{
		Limit	   *slot;
		Policy	   *policy;
		Handler    *handler;
		Task	   *task;

		if (wire_null(result, i, GRAB_VERSION))
			continue;
		handler = batch_take(batch, wire_get_uuid(result, i, GRAB_ID), &slot, &policy);
		if (handler == NULL)
			continue;
		slots_grant(slot);
		task = make_task(grab, result, i, policy, sent_us);
		task->handler = handler;
		task->slot = slot;
		task->has_shared_slot = slots_are_shared(slot);
		task->token = batch_token;
		task->unreadable = unreadable;
		unreadable = NULL;
		grab->stats.won++;
		log_task(TWT_LOG_DEBUG, "grab", task, "grabbed");
		grab->events.on_task(grab->arg, task);
	}
	take_refusals(grab, batch, result);
	pfree(unreadable);
	lost = batch_drop(batch);
	grab->stats.lost += lost;
	if (lost > 0)
		log_line(TWT_LOG_DEBUG, "grab", "%d lost the race", lost);
}

static Flight *
add_flight(Grab *grab, Batch *batch)
{
	Flight	   *flight = palloc0(sizeof(Flight));

	flight->grab = grab;
	flight->batch = batch;
	dlist_push_tail(&grab->flights, &flight->node);
	grab->nflights++;
	return flight;
}

static void
hold_single(void *arg, Batch *single)
{
	add_flight(arg, single)->is_held = true;
}

/* Other tasks may use the slots meanwhile. */
static void
put_back_gathered(Grab *grab)
{
	if (grab->gathered != NULL)
		batch_put_back(grab->gathered);
	grab->gathered = NULL;
}

/* Failures that will recur whenever this task is read. */
static bool
is_of_content(const char *sqlstate)
{
	return strncmp(sqlstate, "22", 2) == 0 ||	/* its encoding, say */
		strncmp(sqlstate, "54", 2) == 0 ||	/* too long as text */
		strncmp(sqlstate, "XX", 2) == 0;	/* damaged */
}

static char *
describe_failure(const PGresult *result)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	return psprintf("its data cannot be read: %s (SQLSTATE %s)",
					text == NULL ? "failed" : text, pg_sqlstate(result));
}

/*
 * The server refused the statement.  If one task is the reason, such as one
 * whose data cannot be read, the others must not suffer: each is tried alone.
 * A task that was alone is grabbed without its data, and has failed.  Only
 * when the server refuses that too is the task not to blame: then all wait.
 */
static void
on_refused(Flight *flight, const PGresult *result)
{
	Grab	   *grab = flight->grab;

	if (flight->batch->n > 1)
	{
		flight->is_held = true;
		batch_split(flight->batch, hold_single, grab);
		return;
	}
	if (flight->unreadable == NULL && is_of_content(pg_sqlstate(result)))
	{
		flight->is_held = true;
		flight->unreadable = describe_failure(result);
		return;
	}
	loop_timer_start(grab->pause, AGAIN_US);
	put_back_gathered(grab);
	batch_drop(flight->batch);
	remove_flight(flight);
}

static void
on_grabbed(void *arg, PgOutcome outcome, PGresult *result)
{
	Flight	   *flight = arg;
	Grab	   *grab = flight->grab;

	switch (outcome)
	{
		case PG_DONE:

			/* after our pause the tasks may belong to others: ask again */
			if (node_is_alive(grab->node))
				take_tasks(flight, result);
			else
				flight->is_unknown = true;
			break;
		case PG_LOST:
			flight->is_unknown = true;
			break;
		case PG_FAILED:
			on_refused(flight, result);
			break;
	}
}

/* Our own session with the least to do; NULL: none can take more. */
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
	Pg		   *control = node_pg(grab->node);

	if (any_is_up(grab))
		return own_session(grab);
	return pg_is_up(control) && pg_in_flight(control) == 0 &&
		!pg_is_failing(grab->pgs[0]) ? control : NULL;
}

static void
on_resolved(void *arg, PgOutcome outcome, PGresult *result)
{
	Flight	   *flight = arg;

	if (outcome == PG_FAILED)
	{
		flight->is_unknown = true;
		pg_reset(flight->pg, "could not resolve a grab");
	}
	else
		on_grabbed(arg, outcome, result);
}

static void
send_resolve(Flight *flight, Pg *pg)
{
	Grab	   *grab = flight->grab;
	WireParams	params;

	flight->is_unknown = false;
	flight->pg = pg;
	log_line(TWT_LOG_INFO, "grab", "asking for the outcome of %d grabs",
			 flight->batch->n);
	wire_init(&params);
	batch_add_ids(flight->batch, &params);
	wire_add_int8(&params, node_incarnation(grab->node));
	wire_add_int8(&params, flight->batch->token);
	pg_send(pg, flight->unreadable == NULL ? &call_resolve_grab :
			&call_resolve_grab_bare, &params, on_resolved, flight);
}

/*
 * Ask first about grabs of unknown outcome, over any session of ours: the
 * server lets the question wait for the lost call.  New grabs follow after all
 * questions.
 */
static bool
resolve_unknown(Grab *grab)
{
	dlist_iter	iter;
	bool		any = false;
	Pg		   *pg;

	dlist_foreach(iter, &grab->flights)
	{
		Flight	   *flight = dlist_container(Flight, node, iter.cur);

		if (!flight->is_unknown)
			continue;
		any = true;
		pg = own_session(grab);
		if (pg != NULL)
			send_resolve(flight, pg);
	}
	return any;
}

static bool
gather(Grab *grab)
{
	TableEntry *entry;
	Table	   *table;

	while ((grab->gathered == NULL || !batch_is_full(grab->gathered)) &&
		   (entry = grab->events.next(grab->arg, &table)) != NULL)
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
send_grab(Flight *flight, Pg *pg)
{
	Grab	   *grab = flight->grab;
	Batch	   *batch = flight->batch;
	WireParams	params;

	flight->is_held = false;
	flight->pg = pg;
	flight->sent_us = loop_now_us(grab->loop);
	if (pg == node_pg(grab->node))
		grab->events.on_connected(grab->arg);
	grab->stats.statements++;
	batch_sort(batch);
	batch->token = node_next_token(grab->node);
	wire_init(&params);
	batch_add_ids(batch, &params);
	wire_add_int8(&params, node_incarnation(grab->node));
	wire_add_int8(&params, batch->token);
	batch_add_policies(batch, grab->config, &params);
	batch_add_places(batch, &params);
	pg_send(pg, flight->unreadable == NULL ? &call_grab : &call_grab_bare,
			&params, on_grabbed, flight);
}

/* A flight that goes alone comes first. */
static Flight *
next_flight(Grab *grab)
{
	dlist_iter	iter;
	Batch	   *batch;

	dlist_foreach(iter, &grab->flights)
	{
		Flight	   *flight = dlist_container(Flight, node, iter.cur);

		if (flight->is_held)
			return flight;
	}
	if (!gather(grab))
		return NULL;
	if (grab->nflights > 0)
	{
		if (!batch_is_full(grab->gathered))
			return NULL;
		for (int i = 1; i < SESSIONS; i++)
			pg_start(grab->pgs[i]);
	}
	batch = grab->gathered;
	grab->gathered = NULL;
	return add_flight(grab, batch);
}

/* These were never sent, so a drain need not wait for them. */
static void
drop_held(Grab *grab)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &grab->flights)
	{
		Flight	   *flight = dlist_container(Flight, node, iter.cur);

		if (!flight->is_held)
			continue;
		batch_drop(flight->batch);
		remove_flight(flight);
	}
}

static void
send_ready(Grab *grab)
{
	Flight	   *flight;
	Pg		   *pg;

	if (resolve_unknown(grab))
		return;
	if (grab->is_stopped)
	{
		drop_held(grab);
		drop_gathered(grab);
		return;
	}
	while ((pg = next_session(grab)) != NULL && (flight = next_flight(grab)) != NULL)
		send_grab(flight, pg);
}

/* Keeps a session of ours open while there is something to do. */
void
grab_pump(Grab *grab)
{
	if (!node_is_alive(grab->node) || loop_timer_active(grab->pause))
		return;
	send_ready(grab);
	if (!any_is_up(grab) &&
		(grab->nflights > 0 || (!grab->is_stopped && grab->events.is_ready(grab->arg))))
		pg_start(grab->pgs[0]);
}

static void
on_state(void *arg, bool is_up)
{
	Grab	   *grab = arg;

	if (!is_up)
		put_back_gathered(grab);
	else
	{
		grab->events.on_connected(grab->arg);
		loop_want_turn(grab->loop);
	}
}

/* Triggers were dropped because the server refused the grab. */
static void
on_pause_over(void *arg)
{
	Grab	   *grab = arg;

	grab->events.on_doubt(grab->arg);
}

Grab *
grab_open(Loop *loop, const Config *config, Node *node,
		  const GrabEvents *events, void *arg)
{
	Grab	   *grab = palloc0(sizeof(Grab));

	grab->loop = loop;
	grab->config = config;
	grab->node = node;
	grab->events = *events;
	grab->arg = arg;
	dlist_init(&grab->flights);
	grab->pause = loop_timer_new(loop, on_pause_over, grab);
	for (int i = 0; i < SESSIONS; i++)
	{
		grab->pgs[i] = pg_new(loop, config->postgres, "grab", on_state, grab);
		pg_rest_after(grab->pgs[i], PG_REST_US);
	}
	return grab;
}

/* The control session may still answer one of these flights. */
static void
drop_flights(Grab *grab)
{
	dlist_mutable_iter iter;

	drop_gathered(grab);
	dlist_foreach_modify(iter, &grab->flights)
	{
		Flight	   *flight = dlist_container(Flight, node, iter.cur);

		pg_forget(node_pg(grab->node), flight);
		batch_drop(flight->batch);
		remove_flight(flight);
	}
}

void
grab_forget(Grab *grab)
{
	for (int i = 0; i < SESSIONS; i++)
		pg_reset(grab->pgs[i], "the incarnation is gone");
	drop_flights(grab);
}

void
grab_free(Grab *grab)
{
	for (int i = 0; i < SESSIONS; i++)
		pg_close(grab->pgs[i]);
	drop_flights(grab);
	loop_timer_free(grab->pause);
	if (grab->deadline_text != NULL)
		pfree(grab->deadline_text);
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
	return grab->nflights;
}

void
grab_stats(const Grab *grab, GrabStats *stats)
{
	*stats = grab->stats;
}
