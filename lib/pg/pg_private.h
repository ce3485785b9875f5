/*-------------------------------------------------------------------------
 *
 * pg_private.h
 *		The struct of a connection, for the two files that work on it.
 *
 * Private to pg.c and set_up.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PG_PRIVATE_H
#define TWT_PG_PRIVATE_H

#include "pg/attempt.h"
#include "pg/former.h"
#include "pg/pipeline.h"
#include "pg/silence.h"
#include "pg/trouble.h"

typedef enum PgState
{
	STATE_NEW,					/* or at rest */
	STATE_WAITING,				/* for the next attempt to connect */
	STATE_CONNECTING,
	STATE_SETTING_UP,
	STATE_UP
} PgState;

struct Pg
{
	Loop	   *loop;
	char	   *conninfo;
	int			server;			/* the one in it that worked last */
	Attempt    *attempt;		/* NULL: none is running */
	int			step;			/* the attempt's, when the timer was started */
	int64		step_us;		/* the most time for an address */
	char	   *role;
	void		(*on_state) (void *arg, bool is_up);
	void		(*on_notify) (void *arg, const char *channel, const char *payload);
	void	   *arg;
	PGconn	   *conn;
	LoopIo	   *io;
	LoopTimer  *timer;			/* next attempt, end of this one, or rest */
	PgState		state;
	int64		backoff_us;
	bool		in_trouble;		/* connects, but its last session failed */
	const PgStatement *failed;	/* the statement that caused the trouble */
	int64		up_us;			/* when the session was set up */
	int64		rest_us;		/* rests after this time; 0: never */
	int64		used_us;		/* when the last call was sent */
	Trouble		trouble;
	bool		in_doubt;		/* a commit was not confirmed by a standby */
	int64		waits_us;		/* the next call waits so long on purpose */
	int64		started_us;		/* when the backend started */
	Former		former;			/* the session before, if we gave it up */
	Silence		silence;
	Pipeline	pipeline;
};

/* ---- pg.c ---- */

/* A connection comes up step by step, and may go down at any step. */
extern void pg_set_state(struct Pg *pg, PgState state);

/* Loses the calls, logs the reason, and connects again soon. */
extern void pg_go_down(struct Pg *pg, const char *why);
extern void pg_go_down_because(struct Pg *pg, const char *why, TroubleState trouble);

/* The session works again, which is more than being connected. */
extern void pg_out_of_trouble(struct Pg *pg);

/* Waits until the socket can be read or written. */
extern void pg_watch(struct Pg *pg, int want);

/* Sends the calls that wait for the session. */
extern void pg_send_held(struct Pg *pg);

/* ---- set_up.c ---- */

/* The connection is there: makes a session of it. */
extern void pg_set_up(struct Pg *pg);

#endif							/* TWT_PG_PRIVATE_H */
