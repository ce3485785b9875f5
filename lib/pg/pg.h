/*-------------------------------------------------------------------------
 *
 * pg.h
 *		One asynchronous connection to PostgreSQL that comes back by itself.
 *
 * Calls are prepared statements with binary parameters and results, sent in
 * pipeline mode, each its own transaction.  A call ends in exactly one of
 *
 *	 PG_DONE	committed; the rows are there
 *	 PG_FAILED	the server refused it, nothing happened; logged, if not lately
 *	 PG_LOST	the connection broke: nobody knows whether it happened
 *
 * A commit whose wait for a standby was cancelled counts as PG_LOST, and so does an
 * error without a SQLSTATE, which is not the server's.
 *
 * A session that stays silent while calls are under way is given up, its calls
 * are lost, and the next session ends its backend: see silence.h.
 *
 * A session may rest: it closes after a while without calls, and opens again
 * at the next call.  Resting is not a failure, and no callback reports it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PG_H
#define TWT_PG_H

#include "libpq-fe.h"

#include "base/loop.h"
#include "pg/statement.h"
#include "pg/wire.h"

/* Most sessions stay open for this long without a call. */
#define PG_REST_US SECONDS_TO_US(10)

/* A session is given up after this time of silence. */
#define PG_GIVE_UP_US SECONDS_TO_US(20)

typedef struct Pg Pg;

/* is_up: the session was just set up; otherwise it was just lost. */
typedef void (*PgStateFn) (void *arg, bool is_up);

/* Gets the payload of a notification on a channel to which we listen. */
typedef void (*PgNotifyFn) (void *arg, const char *channel, const char *payload);

/*
 * role tells connections apart in logs and in pg_stat_activity.  The
 * connection opens at pg_start().
 */
extern Pg  *pg_new(Loop *loop, const char *conninfo, const char *role,
				   PgStateFn on_state, void *arg);
extern void pg_start(Pg *pg);

/*
 * Lets the session rest after this time without a call, until pg_start() or
 * the next call.
 */
extern void pg_rest_after(Pg *pg, int64 us);

/* Gives the session up after this time of silence at the latest. */
extern void pg_give_up_within(Pg *pg, int64 us);

/* The next call waits so long on purpose, and may be silent meanwhile. */
extern void pg_expect_wait(Pg *pg, int64 us);

/*
 * Names the session of this process that has been silent for the longest time
 * beyond the one that its call waits, if that is half the time after which it is
 * given up.  Also a session that cannot be opened for so long.  NULL: there is
 * none; palloc'd.
 */
extern char *pg_silent(void);

/*
 * Says why the extension in the database does not fit this program, if calls
 * failed for that lately; NULL: it fits.
 */
extern const char *pg_misfit(int64 now_us);

/* Ends the connection; pending calls get PG_LOST first. */
extern void pg_close(Pg *pg);

extern bool pg_is_up(const Pg *pg);
extern bool pg_is_failing(const Pg *pg);	/* the last attempt to connect
											 * failed */
extern int	pg_in_flight(const Pg *pg); /* calls without an answer */
extern int	pg_backend_pid(const Pg *pg);

/* The role that logged in, until the session ends; NULL: none. */
extern const char *pg_login(const Pg *pg);

/*
 * Adds an array of text: the address by which the session reaches its server, as
 * host:port/database, and then those of all servers that the connection string
 * names.  The session is up.
 */
extern void pg_add_addresses(const Pg *pg, WireParams *params);

extern void pg_on_notify(Pg *pg, PgNotifyFn fn);

/*
 * Sends a call; fn is called later.  params may be NULL; the caller may free
 * it afterwards.  A session that may rest opens for the call, and the call is
 * lost if that fails.  Any other session must be up.
 */
extern void pg_send(Pg *pg, const PgStatement *statement, WireParams *params,
					PgResultFn fn, void *arg);

/*
 * Forgets the callbacks of sent calls with this arg, which may then be freed.
 */
extern void pg_forget(Pg *pg, const void *arg);

/* Breaks the connection as a network failure would; it reconnects by itself. */
extern void pg_reset(Pg *pg, const char *why);

#endif							/* TWT_PG_H */
