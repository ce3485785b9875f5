/*-------------------------------------------------------------------------
 *
 * offers.c
 *		Passes freed slots of cluster-wide limits on to the node that is next.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "common/hashfn.h"
#include "common/limit_pattern.h"
#include "common/logging.h"
#include "calls/calls.h"
#include "slots/offers.h"

/* The delay when another session had the limit locked. */
#define AGAIN_US MS_TO_US(2)
#define OFFERS_AHEAD 2

/* The freed slots of one limit, to be reported to the database. */
typedef struct Offer
{
	char	   *name;
	int			freed;
	bool		is_wanted;		/* a task here waits for a slot */
	uint32		hash;
	char		status;
} Offer;

#define SH_PREFIX named
#define SH_ELEMENT_TYPE Offer
#define SH_KEY_TYPE char *
#define SH_KEY name
#define SH_HASH_KEY(tb, key) hash_bytes((const uint8 *) key, strlen(key))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, element) (element)->hash
#define SH_SCOPE static inline
#define SH_RAW_ALLOCATOR pg_malloc0
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * The offers of one statement by limit name.  Unanswered offers are sent
 * again.
 */
typedef struct OfferCall
{
	Offers	   *offers;
	named_hash *named;
} OfferCall;

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
	named_hash *waiting;
};

static Offer *
add_offer(named_hash * named, const char *name, int freed)
{
	Offer	   *offer = named_lookup(named, unconstify(char *, name));
	bool		found;

	if (offer == NULL)
	{
		offer = named_insert(named, pstrdup(name), &found);
		offer->freed = 0;
		offer->is_wanted = false;
	}
	offer->freed += freed;
	return offer;
}

static void
clear(named_hash * named)
{
	named_iterator iter;
	Offer	   *offer;

	named_start_iterate(named, &iter);
	while ((offer = named_iterate(named, &iter)) != NULL)
		pfree(offer->name);
	named_reset(named);
}

/* ---- from the database ---- */

static void
on_turn(Offers *offers, const char *name, int turns)
{
	Limit	   *limit = type_limits_find_shared(offers->limits, name);

	if (limit != NULL)
		(void) limit_offer(limit, turns, TURNS_ANSWERED);
}

static void
on_offered(void *arg, PgOutcome outcome, PGresult *result)
{
	OfferCall  *call = arg;
	Offers	   *offers = call->offers;

	for (int i = 0; outcome == PG_DONE && i < PQntuples(result); i++)
	{
		char	   *name = PQgetvalue(result, i, OFFER_NAME);
		Offer	   *offer = named_lookup(call->named, name);

		if (!PQgetisnull(result, i, OFFER_TURNS))
			on_turn(offers, name, wire_get_int(result, i, OFFER_TURNS));
		else if (offer != NULL)
		{
			add_offer(offers->waiting, name, offer->freed)->is_wanted |= offer->is_wanted;
			loop_timer_start(offers->again, AGAIN_US);
		}
	}
	clear(call->named);
	named_destroy(call->named);
	pfree(call);
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
		limit_pattern_valid(rest + 1, strlen(rest + 1)))
		(void) add_offer(offers->waiting, rest + 1, (int) turns);
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
	add_offer(((Offers *) arg)->waiting, limit_name(limit), freed)->is_wanted |= is_wanted;
}

static void
send_offers(Offers *offers)
{
	OfferCall  *call = palloc(sizeof(OfferCall));
	named_iterator iter;
	Offer	   *offer;
	WireParams	params;
	int			n = offers->waiting->members;

	call->offers = offers;
	call->named = offers->waiting;
	offers->waiting = named_create(16, NULL);
	wire_init(&params);
	wire_add_array(&params, WIRE_TEXT, n);
	named_start_iterate(call->named, &iter);
	while ((offer = named_iterate(call->named, &iter)) != NULL)
		wire_text(&params, offer->name);
	wire_add_array(&params, WIRE_INT8, n);
	named_start_iterate(call->named, &iter);
	while ((offer = named_iterate(call->named, &iter)) != NULL)
		wire_int8(&params, offer->freed);
	wire_add_array(&params, WIRE_TEXT, n);
	named_start_iterate(call->named, &iter);
	while ((offer = named_iterate(call->named, &iter)) != NULL)
		wire_text(&params, offer->is_wanted ? "t" : "f");
	wire_add_int8(&params, node_incarnation(offers->node));
	pg_send(offers->pg, &call_offer_slots, &params, on_offered, call);
}

static void
on_state(void *arg, bool is_up)
{
	if (is_up)
		loop_want_turn(((Offers *) arg)->loop);
}

void
offers_pump(Offers *offers)
{
	limits_take_freed(offers->all, note_freed, offers);
	if (offers->waiting->members == 0)
		return;
	pg_start(offers->pg);
	if (pg_is_up(offers->pg) && node_incarnation(offers->node) != 0 &&
		!loop_timer_active(offers->again) &&
		pg_in_flight(offers->pg) < OFFERS_AHEAD)
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
	offers->waiting = named_create(16, NULL);
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
	clear(offers->waiting);
	named_destroy(offers->waiting);
	pfree(offers);
}
