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
 * The attempt has ended.  Without an error the callee owns the connection.
 * With an error the connection may be NULL, and is valid only during the call.
 */
typedef void (*AttemptFn) (void *arg, PGconn *conn, const char *error);

/*
 * Makes an attempt to connect to the current server of hosts, under this
 * application name.
 */
extern Attempt *attempt_new(Loop *loop, Hosts *hosts, const char *application,
							AttemptFn fn, void *arg);

/*
 * Calls fn once, perhaps before it returns, and then frees the attempt.  From
 * the beginning, the connection gives its notices to on_notice, with the same
 * arg.
 */
extern void attempt_start(Attempt *attempt, PQnoticeReceiver on_notice);

/* Frees the attempt, and does not call fn. */
extern void attempt_cancel(Attempt *attempt);

#endif							/* TWT_ATTEMPT_H */
