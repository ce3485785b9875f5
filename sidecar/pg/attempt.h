/*-------------------------------------------------------------------------
 *
 * attempt.h
 *		One attempt to connect: look up the name, then let libpq connect.
 *
 *		from: pg.h			to: hosts.h, lookup.h
 *
 * Private to pg.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ATTEMPT_H
#define TWT_ATTEMPT_H

#include "libpq-fe.h"

#include "base/loop.h"
#include "pg/hosts.h"

typedef struct Attempt Attempt;

/*
 * The attempt is over.  Without an error the connection is the callee's.
 * With an error the connection may be NULL, and is valid during the call only.
 */
typedef void (*AttemptFn) (void *arg, PGconn *conn, const char *error);

/* To the current server of the hosts, under that application name. */
extern Attempt *attempt_new(Loop *loop, Hosts *hosts, const char *application,
							AttemptFn fn, void *arg);

/*
 * Calls fn once, perhaps at once; the attempt is gone then.  The connection
 * hands its notices to on_notice, with the same arg, from the beginning.
 */
extern void attempt_start(Attempt *attempt, PQnoticeReceiver on_notice);

/* fn will not be called. */
extern void attempt_cancel(Attempt *attempt);

#endif							/* TWT_ATTEMPT_H */
