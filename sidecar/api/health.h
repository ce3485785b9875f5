/*-------------------------------------------------------------------------
 *
 * health.h
 *		Tells by HTTP how this node is.
 *
 *	 GET /health	200, or 503 while nothing would be run
 *
 * A monitor asks for a few hundred bytes, now and then.  So a connection is for
 * one request and a short time, no body is read, and of more connections than a
 * few monitors need the oldest one is ended: whoever only holds connections
 * takes nothing from the others, and little from us.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HEALTH_H
#define TWT_HEALTH_H

#include "base/loop.h"

typedef struct Health Health;

typedef struct HealthState
{
	const char *trouble;		/* why nothing is run; NULL: all is well */
	int64		incarnation;
	bool		is_leader;
	int			running;
} HealthState;

typedef void (*HealthAsk) (void *arg, HealthState *state);

/*
 * Listens; where that is not possible now it is tried again and again.  node is
 * its name, which stays the caller's.  NULL: listen is NULL, or no address, which
 * the configuration has refused before.
 */
extern Health *health_open(Loop *loop, const char *listen, const char *node,
						   HealthAsk ask, void *arg);

/* No new connections (a drain). */
extern void health_stop_listening(Health *health);

/* NULL is allowed. */
extern void health_close(Health *health);

#endif							/* TWT_HEALTH_H */
