/*-------------------------------------------------------------------------
 *
 * pool.h
 *		Calls to the database over several sessions, so that a call that has to
 *		wait holds up no other call.
 *
 *		from: results.c, to_do.c			to: pg.h
 *
 * Each session has one call at a time; further calls wait until one is free.
 * Sessions open when they are needed, and close when they rest.  A call ends in
 * exactly one of
 *
 *	 POOL_DONE		committed; the rows are there
 *	 POOL_FAILED	the server refused it for what it says; nothing happened
 *	 POOL_LATER		nothing happened, and the same call may succeed later
 *	 POOL_UNKNOWN	the session was lost: nobody knows whether it happened
 *
 * Within POOL_LIFE_US a call has ended, unless its session is silent again and
 * again.  A statement sets its own limits: see POOL_LIMITS.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_POOL_H
#define TWT_POOL_H

#include "base/loop.h"
#include "pg/statement.h"
#include "pg/wire.h"

/*
 * Expressions for the statement before a call.  A function of a user may have
 * changed the session, so they depend on no search_path.
 *
 * Another transaction may keep its locks for hours, so a call does not wait long
 * for one.  Functions of users within the call have their own time limit, and
 * must not fail before it.  The server refuses a limit of 0 only once it has loaded
 * our library, which the first call of a session does.
 */
#define POOL_LIMITS \
	"pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)," \
	" pg_catalog.set_config('lock_timeout', COALESCE(NULLIF(" \
	"pg_catalog.current_setting('twtasks.function_timeout', true), '0'), '1s'), true)," \
	" pg_catalog.set_config('statement_timeout', '10s', true)"

/* The statement_timeout, and how long a session may then be silent. */
#define POOL_STATEMENT_US SECONDS_TO_US(10)
#define POOL_SILENT_US SECONDS_TO_US(4)

/* The longest wait for a session. */
#define POOL_WAIT_US SECONDS_TO_US(3)
#define POOL_LIFE_US (POOL_WAIT_US + POOL_STATEMENT_US + POOL_SILENT_US)

typedef struct Pool Pool;

typedef enum PoolOutcome
{
	POOL_DONE,
	POOL_FAILED,
	POOL_LATER,
	POOL_UNKNOWN
} PoolOutcome;

/*
 * result is valid only during the call; it may be NULL, unless the outcome is
 * POOL_DONE.  why is for the client if the outcome is POOL_LATER.
 */
typedef void (*PoolResultFn) (void *arg, PoolOutcome outcome, PGresult *result,
							  const char *why);

/* role: see pg_new().  max: sessions. */
extern Pool *pool_new(Loop *loop, const char *conninfo, const char *role, int max);

/* fn is called when a session was lost: the database may be away. */
extern void pool_on_loss(Pool *pool, void (*fn) (void *arg), void *arg);

/* Opens the first session now, and keeps it open. */
extern void pool_keep_one(Pool *pool);

/* Ends all calls. */
extern void pool_close(Pool *pool);

/* Whether a session is open. */
extern bool pool_is_up(const Pool *pool);

/* The role with which a session logged in, until the session ends; NULL: none is open. */
extern const char *pool_login(const Pool *pool);

/*
 * Why calls get no answer: the database cannot be reached, or a call has had no
 * answer for longer than a statement may take.  NULL: they do, or there are none.
 */
extern const char *pool_trouble(const Pool *pool);

/*
 * Sends a call, now or when a session is free.  Takes the params, of which the
 * first is for statement->before.  fn is called once, perhaps before the return.
 */
extern void pool_send(Pool *pool, const PgStatement *statement, WireParams *params,
					  PoolResultFn fn, void *arg);

#endif							/* TWT_POOL_H */
