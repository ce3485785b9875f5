/*-------------------------------------------------------------------------
 *
 * sql_guard.h
 *		Ends a statement of a SQL handler from outside.
 *
 *		from: sql_session.h			to: node.h (its connection)
 *
 * statement_timeout ends a function that takes too long, unless it catches
 * that and goes on: then its session is ended.  A cancelled task's statement
 * is cancelled, which the function may catch as well.
 *
 * Both are signals, and reach whatever the backend executes by then.  So while
 * one is under way the session must not be given another statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_GUARD_H
#define TWT_SQL_GUARD_H

#include "base/loop.h"
#include "node/node.h"
#include "pg/pg.h"

typedef struct SqlGuard SqlGuard;

/* Guards the session of that connection, which outlives the guard. */
extern SqlGuard *sql_guard_new(Loop *loop, Node *node, Pg *pg);
extern void sql_guard_free(SqlGuard *guard);

/* A statement was sent; after so long its session is ended. */
extern void sql_guard_watch(SqlGuard *guard, int64 patience_us);

/* It was answered, or lost.  True: because patience was at its end. */
extern bool sql_guard_release(SqlGuard *guard);

/* Cancels the statement that is watched. */
extern void sql_guard_cancel(SqlGuard *guard);

/* No signal is under way. */
extern bool sql_guard_is_idle(const SqlGuard *guard);

#endif							/* TWT_SQL_GUARD_H */
