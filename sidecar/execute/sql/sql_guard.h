/*-------------------------------------------------------------------------
 *
 * sql_guard.h
 *		Ends a statement of a SQL handler from outside.
 *
 *		from: sql_session.h			to: node.h (its connection)
 *
 * statement_timeout ends a function that takes too long.  If the function
 * catches that error and goes on, the guard ends its session.  For a cancelled
 * task the guard cancels the statement, which the function may catch too.
 *
 * Both are signals and hit whatever statement the backend executes when they
 * arrive.  So the session gets no other statement while a signal is under way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_GUARD_H
#define TWT_SQL_GUARD_H

#include "base/loop.h"
#include "node/node.h"
#include "pg/pg.h"

typedef struct SqlGuard SqlGuard;

/* Guards the session of the connection pg, which outlives the guard. */
extern SqlGuard *sql_guard_new(Loop *loop, Node *node, Pg *pg);
extern void sql_guard_free(SqlGuard *guard);

/* A statement was sent.  Ends its session if it takes longer than patience_us. */
extern void sql_guard_watch(SqlGuard *guard, int64 patience_us);

/* The statement was answered or lost.  True: the guard ended its session. */
extern bool sql_guard_release(SqlGuard *guard);

/* Cancels the watched statement. */
extern void sql_guard_cancel(SqlGuard *guard);

/* No signal is under way. */
extern bool sql_guard_is_idle(const SqlGuard *guard);

#endif							/* TWT_SQL_GUARD_H */
