/*-------------------------------------------------------------------------
 *
 * backoff.h
 *		When a connection that is down tries again.
 *
 * Private to pg.c.
 *
 * Each attempt that fails doubles the wait, up to BACKOFF_MAX_US, and a random
 * half may be left out, since many clients lose a server at once.  All
 * connections of this process wait for the same server, so the first one that
 * gets a session lets the others try at once.  The process is back when its
 * shortest wait is over, without more attempts while the server is away.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_BACKOFF_H
#define TWT_BACKOFF_H

#include "base/loop.h"

#define BACKOFF_MAX_US SECONDS_TO_US(1)

typedef struct Backoff
{
	LoopTimer  *timer;			/* the connection's, which begins the next
								 * attempt */
	const char *conninfo;
	int64		us;				/* the longest next wait */
	bool		is_away;		/* the last attempt gave no session */
	bool		waits;			/* in the list */
	struct Backoff *next;
} Backoff;

extern void backoff_init(Backoff *backoff, LoopTimer *timer, const char *conninfo);

/*
 * Starts the timer.  is_away: the server gave no session, so another session with
 * the same connection string ends the wait.
 */
extern void backoff_wait(Backoff *backoff, bool is_away);

/* The wait is over, or the connection does not want another attempt. */
extern void backoff_end(Backoff *backoff);

/* There is a session.  If the server was away before, the others try at once. */
extern void backoff_connected(Backoff *backoff);

/* The session works: the next wait is short again. */
extern void backoff_reset(Backoff *backoff);

#endif							/* TWT_BACKOFF_H */
