/*-------------------------------------------------------------------------
 *
 * former.h
 *		The session that a connection has given up, until its backend is ended.
 *
 * Private to pg.c.
 *
 * The backend of a session that we give up may still be at work, hold locks, or
 * wait for the rest of a call.  The next session of the connection ends it.  The
 * time at which the backend started tells it from a later one with the same
 * process id.  A frozen backend ends when it goes on, at the latest before its
 * next call.  A backend that waits for a standby goes on waiting.
 *
 * The old socket stays open until then: other nodes wait for a node whose
 * session has ended for a few seconds only, and a server that is slow may take
 * longer to give us another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FORMER_H
#define TWT_FORMER_H

#include "libpq-fe.h"

#include "pg/wire.h"

typedef struct Former
{
	PGconn	   *conn;			/* NULL: closed */
	int			pid;			/* 0: there is none */
	int64		started_us;
} Former;

/* Takes over the connection, whose backend started at that time; 0: not known. */
extern void former_keep(Former *former, PGconn *conn, int64 started_us);

/* Closes the socket, without waiting. */
extern void former_close(Former *former);

/*
 * Whether there is a backend to end.  If so, adds its pid and its start in
 * microseconds since 1970, and forgets the session.
 */
extern bool former_take(Former *former, WireParams *params);

#endif							/* TWT_FORMER_H */
