/*-------------------------------------------------------------------------
 *
 * offers.h
 *		Passes freed slots of cluster-wide limits on to the node that is next.
 *
 *		from: limit.h (limits_take_freed)		to: limit.h (limit_offer)
 *
 * When a task under a cluster-wide limit has ended, we ask the database which
 * node is next.  The database keeps the order in which it refused nodes.  The
 * query has a connection of its own.  The next node gets a NOTIFY on its
 * control connection.
 *
 * An offer may get lost, so a waiting node also tries by itself now and then
 * (turns.h).  docs/decisions/fair-hand-over.md says why a retry alone is not
 * enough.
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

/*
 * Sets the function to call for a limit that this node does not know.  Call it
 * once, after offers_open().
 */
extern void offers_on_unknown(Offers *offers, LoopFn fn, void *arg);

/*
 * Reads a notification: "incarnation turns name".  Any session may send one,
 * so it only makes this node try a grab.
 */
extern void offers_read(Offers *offers, const char *payload);

/* Reports freed slots.  Call it at the end of each turn. */
extern void offers_pump(Offers *offers);

/*
 * A limit refused a task for again_us, or without a time (0).  False: this node
 * does not know the limit, and fn was called.
 */
extern bool offers_refused(Offers *offers, const char *name, int64 again_us) MUSTCHECK;

#endif							/* TWT_OFFERS_H */
