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
 * A commit whose wait for a standby was cancelled counts as PG_LOST.
 *
 * A session may rest: it is closed when nobody has used it for a while, and opens
 * again when somebody wants to.  That is no failure, and nobody is told.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PG_H
#define TWT_PG_H

#include "libpq-fe.h"

#include "base/loop.h"
#include "pg/wire.h"

/* How long most sessions stay open without a call. */
#define PG_REST_US SECONDS_TO_US(10)

typedef struct Pg Pg;

typedef enum PgOutcome
{
	PG_DONE,
	PG_FAILED,
	PG_LOST
} PgOutcome;

/* One SQL statement of ours; static, known by its address. */
typedef struct PgStatement
{
	const char *name;
	const char *sql;
	bool		caller_logs;	/* a failure is the caller's to tell */
} PgStatement;

/* result is valid during the call only; NULL when lost. */
typedef void (*PgResultFn) (void *arg, PgOutcome outcome, PGresult *result);

/* is_up: just connected and set up, or just lost. */
typedef void (*PgStateFn) (void *arg, bool is_up);

/* payload of a notification on the channel we listen to */
typedef void (*PgNotifyFn) (void *arg, const char *channel, const char *payload);

/*
 * role tells connections apart in logs and in pg_stat_activity.  Does not
 * connect before pg_start().
 */
extern Pg  *pg_new(Loop *loop, const char *conninfo, const char *role,
				   PgStateFn on_state, void *arg);
extern void pg_start(Pg *pg);

/* From now on it rests after so long without a call; pg_start() ends that. */
extern void pg_rest_after(Pg *pg, int64 us);

/* Ends the connection; pending calls get PG_LOST first. */
extern void pg_close(Pg *pg);

extern bool pg_is_up(const Pg *pg);
extern bool pg_is_failing(const Pg *pg);	/* its last attempt to connect */
extern int	pg_in_flight(const Pg *pg); /* calls without an answer */
extern int	pg_backend_pid(const Pg *pg);

extern void pg_on_notify(Pg *pg, PgNotifyFn fn);

/*
 * Sends a call; fn is called later.  params may be NULL and is free again
 * afterwards.  A session that may rest is opened for the call, which is lost when
 * that fails; any other one has to be up.
 */
extern void pg_send(Pg *pg, const PgStatement *statement, WireParams *params,
					PgResultFn fn, void *arg);

/* Calls with that arg that were sent are answered to nobody; arg may go. */
extern void pg_forget(Pg *pg, const void *arg);

/* Breaks the connection as if the network had; it comes back by itself. */
extern void pg_reset(Pg *pg, const char *why);

/* The five characters; "" when there is none. */
extern const char *pg_sqlstate(const PGresult *result);

#endif							/* TWT_PG_H */
