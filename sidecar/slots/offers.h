/*-------------------------------------------------------------------------
 *
 * offers.h
 *		Slots of limits of the whole cluster: given back, offered, asked for.
 *
 *		from: limit.h (limits_take_freed)		to: limit.h (limit_offer)
 *
 * When a task under such a limit has ended, the database is asked whose turn
 * it is: it has noted, in order, who was refused.  That goes over a connection
 * of its own.  Another node is told by NOTIFY, and so are we, on the control
 * connection.
 *
 * An offer may get lost; whoever waits tries now and then without (slots.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OFFERS_H
#define TWT_OFFERS_H

#include "base/loop.h"
#include "config/config.h"
#include "node/node.h"
#include "slots/type_limits.h"

typedef struct Offers Offers;

extern Offers *offers_open(Loop *loop, const Config *config, Node *node,
						   Limits *all, TypeLimits *limits);
extern void offers_free(Offers *offers);

/* What to do about a limit that is not known here; once, after the open. */
extern void offers_on_unknown(Offers *offers, LoopFn fn, void *arg);

/*
 * A notification: "incarnation turns name".  Anybody may say so; it makes us ask,
 * no more.
 */
extern void offers_read(Offers *offers, const char *payload);

/* Sends what was freed; at the end of each turn. */
extern void offers_pump(Offers *offers);

/*
 * A limit refused a task: until_us by the database's clock, in microseconds
 * since 1970, or 0.  False: that limit is not known here, which was told.
 */
extern bool offers_refused(Offers *offers, const char *name, int64 until_us) MUSTCHECK;

#endif							/* TWT_OFFERS_H */
