/*-------------------------------------------------------------------------
 *
 * health.h
 *		Reports the health of this node over HTTP.
 *
 *	 GET /health	200, or 503 while the node runs no tasks
 *	 GET /metrics	figures, in the text format of Prometheus
 *
 * A monitor asks for a few hundred bytes, now and then.  So a connection
 * serves one request, for a short time, and the server reads no body.  When
 * more clients connect than a few monitors need, the server closes the oldest
 * connection.  A client that only holds connections open takes nothing from
 * other clients.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_HEALTH_H
#define TWT_HEALTH_H

#include "base/loop.h"

typedef struct Health Health;

typedef struct HealthState
{
	const char *trouble;		/* why the node runs no tasks; NULL: all is
								 * well */
	const char *listeners;		/* why a listener takes no messages; NULL: all
								 * do, or there is none */
	const char *helpers;		/* a helper that ends again and again, or
								 * cannot start; NULL: none */
	const char *broken;			/* handlers that cannot be started; NULL: none */
	const char *config;			/* why the configuration file is not in force;
								 * NULL: it is */
	int64		incarnation;
	bool		is_leader;
	int			running;
} HealthState;

typedef void (*HealthAsk) (void *arg, HealthState *state);

/*
 * Listens on the address, and retries until that succeeds.  The caller keeps
 * node, the name of the node.  Returns NULL if listen is NULL or not an
 * address; the configuration has refused the latter before.
 */
extern Health *health_open(Loop *loop, const char *listen, const char *node,
						   HealthAsk ask, void *arg);

/* Writes the figures of this node. */
typedef void (*HealthWrite) (void *arg, StringInfo out);

/* Until then, and without it, there is no /metrics.  health may be NULL. */
extern void health_on_metrics(Health *health, HealthWrite write, void *arg);

/* Accepts no new connections, for a drain. */
extern void health_stop_listening(Health *health);

/* NULL is allowed. */
extern void health_close(Health *health);

#endif							/* TWT_HEALTH_H */
