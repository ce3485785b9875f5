/*-------------------------------------------------------------------------
 *
 * attempt.h
 *		One attempt to connect, to any of the servers, on a thread of its own.
 *
 *		from: pg.h			to: hosts.h, lookup.h
 *
 * Private to pg.c.  libpq can block while it looks up names, reads files of
 * passwords and certificates, or asks Kerberos, so it has a thread.  Left alone with
 * all servers, it could spend the whole time on one that does not answer.  So each
 * address of each server has a time limit of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ATTEMPT_H
#define TWT_ATTEMPT_H

#include "libpq-fe.h"

#include "base/loop.h"

typedef struct Attempt Attempt;

typedef struct AttemptPlan
{
	const char *conninfo;		/* conninfo_check() accepts it */
	int			server;			/* the one in it to begin with, as in a circle */
	const char *application;	/* name of the session */
} AttemptPlan;

/*
 * The attempt has ended.  Without an error the callee owns the connection.  With
 * an error, of the address that was tried last, the connection may be NULL, and is
 * valid only during the call, as the attempt always is.
 */
typedef void (*AttemptFn) (void *arg, Attempt *attempt, PGconn *conn, const char *error);

/*
 * Tries the servers one after the other.  Calls fn once, later.  Returns NULL, with
 * errno, if no thread can be started; EBUSY: too many that were given up still hang.
 */
extern Attempt *attempt_start(Loop *loop, const AttemptPlan *plan, AttemptFn fn, void *arg) MUSTCHECK;

/*
 * Gives the attempt up, and does not call fn.  Its thread ends by itself, as soon as
 * nothing holds it up, and without a session.
 */
extern void attempt_cancel(Attempt *attempt);

/*
 * A figure that changes with each address, and the time after which it must have
 * changed unless the resolver or another call hangs.
 */
extern int	attempt_step(const Attempt *attempt);
extern int64 attempt_step_us(const Attempt *attempt);

/* In fn: the server that was tried last, and its warnings or "". */
extern int	attempt_server(const Attempt *attempt);
extern const char *attempt_warnings(const Attempt *attempt);

#endif							/* TWT_ATTEMPT_H */
