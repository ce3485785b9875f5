/*-------------------------------------------------------------------------
 *
 * offers.c
 *		Passes freed slots of cluster-wide limits on to the node that is next.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "calls/calls.h"
#include "slots/offers.h"

/* The delay when another session had the limit locked. */
#define AGAIN_US MS_TO_US(2)
#define OFFERS_AHEAD 2

/* Notifications may be forged, so there may be any number. */
#define TOLD_MAX 1000

/* Slots of one limit, to be reported to the database. */
typedef struct Offer
{
	char		name[LIMIT_NAME_MAX + 1];
	int			freed;
	bool		is_wanted;		/* a task here waits for a slot */
} Offer;

/* The offers of one call. */
typedef struct OfferList
{
	Offers	   *offers;
	Offer	   *all;
	int			n;
	int			room;
} OfferList;

struct Offers
{
	Loop	   *loop;
	Node	   *node;
	Limits	   *all;
	TypeLimits *limits;
	LoopFn		on_unknown;
	void	   *arg;
	Pg		   *pg;
	LoopTimer  *again;
	OfferList  *waiting;
};

static OfferList *
new_list(Offers *offers)
{
	OfferList  *list = palloc0(sizeof(OfferList));

	list->offers = offers;
	return list;
}

static void
free_list(OfferList *list)
{
	pfree(list->all);
	pfree(list);
}

static void
add_offer(Offers *offers, const char *name, int freed, bool is_wanted)
{
	OfferList  *list = offers->waiting;
	Offer	   *offer;

	if (list->n == list->room)
	{
		list->room = Max(16, list->room * 2);
		list->all = repalloc(list->all, list->room * sizeof(Offer));
	}
	offer = &list->all[list->n++];
	strlcpy(offer->name, name, sizeof(offer->name));
	offer->freed = freed;
	offer->is_wanted = is_wanted;
}

/* ---- from the database ---- */

static void
on_turn(Offers *offers, const char *name, int turns)
{
	Limit	   *limit = type_limits_find_shared(offers->limits, name);

	if (limit != NULL)
		(void) limit_offer(limit, turns, TURNS_ANSWERED);
}

/* The rows are in the order of the offers. */
static void
on_offered(void *arg, PgOutcome outcome, PGresult *result)
{
	OfferList  *list = arg;
	Offers	   *offers = list->offers;

	for (int i = 0; outcome == PG_DONE && i < Min(PQntuples(result), list->n); i++)
	{
		const Offer *offer = &list->all[i];

		if (!PQgetisnull(result, i, OFFER_TURNS))
			on_turn(offers, offer->name, wire_get_int(result, i, OFFER_TURNS));
		else
		{
			add_offer(offers, offer->name, offer->freed, offer->is_wanted);
			loop_timer_start(offers->again, AGAIN_US);
		}
	}
	free_list(list);
}

/* If this node cannot use the turns, it hands them on. */
void
offers_read(Offers *offers, const char *payload)
{
	char	   *rest;
	int64		incarnation = strtoll(payload, &rest, 10);
	long		turns;
	Limit	   *limit;

	if (*rest != ' ' || incarnation != node_incarnation(offers->node))
		return;
	turns = strtol(rest + 1, &rest, 10);
	if (*rest != ' ' || turns < 1 || turns > PG_INT16_MAX)
		return;
	limit = type_limits_find_shared(offers->limits, rest + 1);
	if ((limit == NULL || !limit_offer(limit, (int) turns, TURNS_TOLD)) &&
		limit_pattern_valid(rest + 1, strlen(rest + 1)) && offers->waiting->n < TOLD_MAX)
		add_offer(offers, rest + 1, (int) turns, false);
	loop_want_turn(offers->loop);
}

bool
offers_refused(Offers *offers, const char *name, int64 again_us)
{
	Limit	   *limit = type_limits_find_shared(offers->limits, name);

	if (limit == NULL)
	{
		offers->on_unknown(offers->arg);
		return false;
	}
	limit_refuse(limit, again_us);
	return true;
}

/* ---- to the database ---- */

static void
note_freed(void *arg, Limit *limit, int freed, bool is_wanted)
{
	add_offer(arg, limit_name(limit), freed, is_wanted);
}

static void
send_offers(Offers *offers)
{
	OfferList  *list = offers->waiting;
	WireParams	params;

	offers->waiting = new_list(offers);
	wire_init(&params);
	wire_add_array(&params, WIRE_TEXT, list->n);
	for (int i = 0; i < list->n; i++)
		wire_text(&params, list->all[i].name);
	wire_add_array(&params, WIRE_INT8, list->n);
	for (int i = 0; i < list->n; i++)
		wire_int8(&params, list->all[i].freed);
	wire_add_array(&params, WIRE_TEXT, list->n);
	for (int i = 0; i < list->n; i++)
		wire_text(&params, list->all[i].is_wanted ? "t" : "f");
	wire_add_int8(&params, node_incarnation(offers->node));
	pg_send(offers->pg, &call_offer_slots, &params, on_offered, list);
}

static void
on_state(void *arg, bool is_up)
{
	if (is_up)
		loop_want_turn(((Offers *) arg)->loop);
}

/* Freed slots stay with their limits until they can be sent, so that memory is bounded. */
void
offers_pump(Offers *offers)
{
	if (offers->waiting->n == 0 && !limits_have_freed(offers->all))
		return;
	pg_start(offers->pg);
	if (!pg_is_up(offers->pg) || node_incarnation(offers->node) == 0 ||
		loop_timer_active(offers->again) || pg_in_flight(offers->pg) >= OFFERS_AHEAD)
		return;
	limits_take_freed(offers->all, note_freed, offers);
	send_offers(offers);
}

static void
on_again(void *arg)
{
	loop_want_turn(((Offers *) arg)->loop);
}

Offers *
offers_open(Loop *loop, const Config *config, Node *node, Limits *all,
			TypeLimits *limits)
{
	Offers	   *offers = palloc0(sizeof(Offers));

	offers->loop = loop;
	offers->node = node;
	offers->all = all;
	offers->limits = limits;
	offers->again = loop_timer_new(loop, on_again, offers);
	offers->waiting = new_list(offers);
	offers->pg = pg_new(loop, config->postgres, "slots", on_state, offers);
	pg_rest_after(offers->pg, PG_REST_US);
	return offers;
}

void
offers_on_unknown(Offers *offers, LoopFn fn, void *arg)
{
	offers->on_unknown = fn;
	offers->arg = arg;
}

void
offers_free(Offers *offers)
{
	pg_close(offers->pg);
	loop_timer_free(offers->again);
	free_list(offers->waiting);
	pfree(offers);
}
