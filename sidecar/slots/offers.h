/*-------------------------------------------------------------------------
 *
 * offers.h
 *		Slots of cluster-wide limits: freed here, offered by the database.
 *
 *		from: limit.h (limits_take_freed)		to: limit.h (limit_offer)
 *
 * When a task under such a limit has ended, we ask the database which node is
 * next.  It has noted in order which nodes it refused.  The question goes over
 * a connection of its own.  The next node hears by NOTIFY, on its control
 * connection.
 *
 * An offer may get lost, so a node that waits also tries now and then (turns.h).
 * docs/decisions/fair-hand-over.md says why a retry alone is not enough.
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

/* Calls fn for a limit that is not known here; once, after the open. */
extern void offers_on_unknown(Offers *offers, LoopFn fn, void *arg);

/*
 * A notification: "incarnation turns name".  Any session may send one, so it
 * only makes us ask.
 */
extern void offers_read(Offers *offers, const char *payload);

/* Sends what was freed; at the end of each turn. */
extern void offers_pump(Offers *offers);

/*
 * A limit refused a task, until_us by the database's clock, in microseconds
 * since 1970, or 0.  False: that limit is not known here, and fn was called.
 */
extern bool offers_refused(Offers *offers, const char *name, int64 until_us) MUSTCHECK;

#endif							/* TWT_OFFERS_H */
