/*-------------------------------------------------------------------------
 *
 * finish.c
 *		Reports to the database what became of tasks.
 *
 *		from: execute.c			to: sql/run/finish_tasks.sql
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "common/trigger.h"
#include "finish/finish.h"
#include "pg/calls.h"
#include "slots/slots.h"

/* The second only if it is full, else it gathers more until the answer to the
 * first is there. */
#define FINISHES_AHEAD 2
#define FINISH_MAX 500
#define FINISH_MAX_BYTES (4 * 1024 * 1024)
#define AGAIN_US SECONDS_TO_US(1)
#define FAILED_IN_A_ROW 3

typedef struct Item
{
	dlist_node	node;
	uint8		id[TASK_ID_BYTES];
	int64		version;
	int64		grab;			/* its token */
	RowPlace	place;
	TaskResult	result;
	int64		delay_ms;
	char	   *message;
	struct Limit *slot;			/* its shared part is booked; NULL: none */
	int64		token;			/* 0: never sent */
	bool		goes_alone;		/* the server refused a statement it was in */
	bool		is_accepted;
} Item;

typedef struct Flight
{
	dlist_node	node;
	Finish	   *finish;
	int			n;
	int64		token;
	bool		is_second;		/* the first answer was lost */
	bool		is_resolving;	/* asks what the first call had finished */
	Item	   *items[FINISH_MAX];	/* in order of id */
} Flight;

struct Finish
{
	Loop	   *loop;
	Node	   *node;
	Pg		   *pg;
	LoopTimer  *pause;			/* after failures in a row */
	LoopTimer  *again;			/* for the refused */
	int			nfailed;		/* in a row */
	dlist_head	waiting;		/* not sent, or to be sent again */
	dlist_head	refused;		/* alone: they wait for their timer */
	dlist_head	flights;
	int			nitems;
	int			nwaiting;		/* of these, in the list waiting */
	FinishStats stats;
};

static void
free_item(Finish *finish, Item *item)
{
	if (item->message != NULL)
		pfree(item->message);
	if (item->slot != NULL)
		slots_free_shared(item->slot);
	pfree(item);
	finish->nitems--;
}

void
finish_add(Finish *finish, const Task *task, TaskResult result,
		   int64 delay_us, const char *message)
{
	Item	   *item = palloc0(sizeof(Item));

	memcpy(item->id, task->id, TASK_ID_BYTES);
	item->version = task->version;
	item->grab = task->token;
	item->place = task->place;
	item->result = result;
	item->delay_ms = (Max(delay_us, 0) + 999) / 1000;
	item->message = message == NULL ? NULL : pstrdup(message);
	item->slot = task->has_shared_slot ? task->slot : NULL;
	dlist_push_tail(&finish->waiting, &item->node);
	finish->nitems++;
	finish->nwaiting++;
}

static int
compare_items(const void *a, const void *b)
{
	return memcmp((*(Item *const *) a)->id, (*(Item *const *) b)->id, TASK_ID_BYTES);
}

static int
compare_id(const void *id, const void *item)
{
	return memcmp(id, (*(Item *const *) item)->id, TASK_ID_BYTES);
}

/*
 * Items that were sent before keep their token, so only those of the same
 * statement, or new ones, go together.
 */
static Flight *
collect(Finish *finish)
{
	Flight	   *flight = palloc(sizeof(Flight));
	int64		bytes = 0;
	dlist_mutable_iter iter;

	flight->finish = finish;
	flight->n = 0;
	dlist_foreach_modify(iter, &finish->waiting)
	{
		Item	   *item = dlist_container(Item, node, iter.cur);

		if (flight->n > 0 &&
			(item->token != flight->items[0]->token || item->goes_alone))
			break;
		dlist_delete(&item->node);
		flight->items[flight->n++] = item;
		bytes += item->message == NULL ? 0 : strlen(item->message);
		if (flight->n == FINISH_MAX || bytes > FINISH_MAX_BYTES || item->goes_alone)
			break;
	}
	finish->nwaiting -= flight->n;
	qsort(flight->items, flight->n, sizeof(Item *), compare_items);
	return flight;
}

static void
add_ids(const Flight *flight, WireParams *params)
{
	wire_add_uuid_array(params, flight->n);
	for (int i = 0; i < flight->n; i++)
		wire_uuid(params, flight->items[i]->id);
	wire_add_int8_array(params, flight->n);
	for (int i = 0; i < flight->n; i++)
		wire_int8(params, flight->items[i]->version);
}

/* A flight of tasks that are simply done says so once for all. */
static bool
all_are_done(const Flight *flight)
{
	for (int i = 0; i < flight->n; i++)
		if (flight->items[i]->result != TASK_DONE || flight->items[i]->message != NULL)
			return false;
	return true;
}

static void
add_outcomes(const Flight *flight, WireParams *params)
{
	int			n = all_are_done(flight) ? 1 : flight->n;

	wire_add_text_array(params, n);
	for (int i = 0; i < n; i++)
		wire_text(params, task_result_name(flight->items[i]->result));
	wire_add_int8_array(params, n);
	for (int i = 0; i < n; i++)
		wire_int8(params, flight->items[i]->delay_ms);
	wire_add_text_array(params, n);
	for (int i = 0; i < n; i++)
		wire_text(params, flight->items[i]->message);
}

static void
add_grabs(const Flight *flight, WireParams *params)
{
	wire_add_int8_array(params, flight->n);
	for (int i = 0; i < flight->n; i++)
		wire_int8(params, flight->items[i]->grab);
	wire_add_place_array(params, flight->n);
	for (int i = 0; i < flight->n; i++)
		wire_place(params, &flight->items[i]->place);
}

/* Which of the items the result names. */
static void
mark_accepted(Flight *flight, const PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		Item	  **item = bsearch(wire_get_uuid(result, i, FINISH_ID), flight->items,
								   flight->n, sizeof(Item *), compare_id);

		if (item != NULL)
			(*item)->is_accepted = true;
	}
}

static void
log_refused(const Item *item)
{
	char		id[TASK_ID_TEXT + 1];

	trigger_id_text(item->id, id);
	log_line(TWT_LOG_WARN, "finish",
			 "refused \"%s\" for task %s version " INT64_FORMAT
			 ": it was taken over or changed meanwhile",
			 task_result_name(item->result), id, item->version);
}

static void
end_flight(Flight *flight)
{
	Finish	   *finish = flight->finish;

	dlist_delete(&flight->node);
	for (int i = 0; i < flight->n; i++)
	{
		Item	   *item = flight->items[i];

		if (item->is_accepted)
			finish->stats.accepted++;
		else
		{
			finish->stats.refused++;
			log_refused(item);
		}
		free_item(finish, item);
	}
	pfree(flight);
}

/* Back into the list; one that was refused alone stands aside for a while. */
static void
put_back(Flight *flight, bool alone)
{
	Finish	   *finish = flight->finish;
	bool		is_refused = alone && flight->n == 1;

	for (int i = flight->n - 1; i >= 0; i--)
	{
		Item	   *item = flight->items[i];

		/* what fails must not stand in the way of the rest */
		item->goes_alone |= alone;
		if (is_refused)
			dlist_push_tail(&finish->refused, &item->node);
		else if (alone)
			dlist_push_tail(&finish->waiting, &item->node);
		else
			dlist_push_head(&finish->waiting, &item->node);
	}
	finish->nwaiting += is_refused ? 0 : flight->n;
	dlist_delete(&flight->node);
	pfree(flight);
	if (is_refused && !loop_timer_active(finish->again))
		loop_timer_start(finish->again, AGAIN_US);
}

/*
 * The server refused the statement.  Each item is tried again by itself, so
 * that one that can never be stored does not keep the others; that one, if
 * it is for what its message holds, without the message.  Only when several are
 * refused in a row, the fault is none of theirs: all wait.
 */
static void
on_failed(Flight *flight, PGresult *result)
{
	Finish	   *finish = flight->finish;
	Item	   *first = flight->items[0];

	if (flight->n == 1 && first->message != NULL &&
		strncmp(pg_sqlstate(result), "22", 2) == 0)
	{
		pfree(first->message);
		first->message = pstrdup("the handler's message could not be stored");
	}
	put_back(flight, true);
	if (++finish->nfailed >= FAILED_IN_A_ROW)
		loop_timer_start(finish->pause, AGAIN_US);
}

static void on_answer(void *arg, PgOutcome outcome, PGresult *result);

static void
send_resolve(Flight *flight)
{
	WireParams	params;

	flight->is_resolving = true;
	wire_init(&params);
	add_ids(flight, &params);
	wire_add_int8(&params, node_incarnation(flight->finish->node));
	wire_add_int8(&params, flight->token);
	pg_send(flight->finish->pg, &call_resolve_finish, &params, on_answer, flight);
}

static void
on_answer(void *arg, PgOutcome outcome, PGresult *result)
{
	Flight	   *flight = arg;

	switch (outcome)
	{
		case PG_DONE:
			flight->finish->nfailed = 0;
			mark_accepted(flight, result);
			if (PQntuples(result) < flight->n && flight->is_second &&
				!flight->is_resolving)
				send_resolve(flight);
			else
				end_flight(flight);
			break;
		case PG_LOST:
			put_back(flight, false);
			break;
		case PG_FAILED:
			on_failed(flight, result);
			break;
	}
}

static void
send_finish(Finish *finish)
{
	Flight	   *flight = collect(finish);
	WireParams	params;

	flight->is_second = flight->items[0]->token != 0;
	flight->is_resolving = false;
	flight->token = flight->is_second ? flight->items[0]->token :
		node_next_token(finish->node);
	for (int i = 0; i < flight->n; i++)
		flight->items[i]->token = flight->token;
	dlist_push_tail(&finish->flights, &flight->node);
	finish->stats.statements++;
	wire_init(&params);
	add_ids(flight, &params);
	add_outcomes(flight, &params);
	wire_add_int8(&params, node_incarnation(finish->node));
	wire_add_int8(&params, flight->token);
	add_grabs(flight, &params);
	pg_send(finish->pg, &call_finish, &params, on_answer, flight);
}

static bool
is_worth_it(const Finish *finish)
{
	return finish->nwaiting >= FINISH_MAX ||
		(finish->nwaiting > 0 && pg_in_flight(finish->pg) == 0);
}

void
finish_expect(Finish *finish)
{
	pg_start(finish->pg);
}

/* Not without an incarnation: it may just have been declared gone. */
void
finish_pump(Finish *finish)
{
	if (finish->nwaiting > 0)
		pg_start(finish->pg);
	while (is_worth_it(finish) && pg_is_up(finish->pg) &&
		   node_incarnation(finish->node) != 0 &&
		   !loop_timer_active(finish->pause) &&
		   pg_in_flight(finish->pg) < FINISHES_AHEAD)
		send_finish(finish);
}

static void
on_state(void *arg, bool is_up)
{
	if (is_up)
		loop_want_turn(((Finish *) arg)->loop);
}

static void
on_pause_over(void *arg)
{
	finish_pump(arg);
}

static void
on_again(void *arg)
{
	Finish	   *finish = arg;

	while (!dlist_is_empty(&finish->refused))
	{
		dlist_push_tail(&finish->waiting, dlist_pop_head_node(&finish->refused));
		finish->nwaiting++;
	}
	finish_pump(finish);
}

Finish *
finish_open(Loop *loop, const Config *config, Node *node)
{
	Finish	   *finish = palloc0(sizeof(Finish));

	finish->loop = loop;
	finish->node = node;
	dlist_init(&finish->waiting);
	dlist_init(&finish->refused);
	dlist_init(&finish->flights);
	finish->pause = loop_timer_new(loop, on_pause_over, finish);
	finish->again = loop_timer_new(loop, on_again, finish);
	finish->pg = pg_new(loop, config->postgres, "finish", on_state, finish);
	pg_rest_after(finish->pg, PG_REST_US);
	return finish;
}

int
finish_pending(const Finish *finish)
{
	return finish->nitems;
}

static void
forget_all(Finish *finish, dlist_head *items)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, items)
	{
		Item	   *item = dlist_container(Item, node, iter.cur);

		dlist_delete(&item->node);
		free_item(finish, item);
	}
}

static void
forget_items(Finish *finish)
{
	forget_all(finish, &finish->waiting);
	forget_all(finish, &finish->refused);
	finish->nwaiting = 0;
}

void
finish_forget(Finish *finish)
{
	/* what is under way comes back into the list by this */
	pg_reset(finish->pg, "the incarnation is gone");
	finish->stats.refused += finish->nitems;
	forget_items(finish);
}

void
finish_free(Finish *finish)
{
	pg_close(finish->pg);
	forget_items(finish);
	loop_timer_free(finish->pause);
	loop_timer_free(finish->again);
	pfree(finish);
}

void
finish_stats(const Finish *finish, FinishStats *stats)
{
	*stats = finish->stats;
}
