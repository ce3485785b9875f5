/*-------------------------------------------------------------------------
 *
 * sql_session.h
 *		One session of a SQL handler, and the batch of tasks it works on.
 *
 *		from: execute_sql.c			to: src/execute/execute.c, finish.h
 *
 * A statement that fails as a whole (its timeout, a deadlock) has done nothing
 * and does not tell which task is to blame.  So its tasks are executed again
 * one by one.  A task that fails alone is grabbed, so that the try counts, and
 * then finished.
 *
 * A task under a limit of the whole cluster goes alone, and a call of its own
 * grabs it first: other nodes must see the slot while the task runs.
 *
 * A cancelled task ends its statement, and the database cancels it.  The other
 * tasks of the statement are executed again.
 *
 *	 state			under way							then
 *	 idle			nothing								executing, or granting
 *	 granting		the grab before a task runs			executing, or idle
 *	 executing		the functions						idle, or counting
 *	 counting		the grab of a task that failed		idle
 *	 grant lost		nothing: no answer to the grab		asking grant
 *	 asking grant	what became of that grab			executing, or idle
 *	 lost			nothing: no answer to the rest		asking
 *	 asking			what the lost statement has done	idle, or counting
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_SESSION_H
#define TWT_SQL_SESSION_H

#include "execute/runner.h"
#include "execute/sql/sql_waiting.h"

typedef struct SqlSession SqlSession;

/* Shared by the sessions of one handler; outlives them. */
typedef struct SqlSetup
{
	const RunnerParts *parts;
	const HandlerConfig *config;
	SqlWaiting *waiting;
} SqlSetup;

extern SqlSession *sql_session_new(const SqlSetup *setup);
extern void sql_session_free(SqlSession *session);

/* Opens the connection.  False: it is up, or the session has a batch. */
extern bool sql_session_open(SqlSession *session);

/* Sends what can be sent: a question for a lost answer, or the next batch. */
extern void sql_session_pump(SqlSession *session);

/* Tasks whose outcome is not known. */
extern int	sql_session_running(const SqlSession *session);

/* Cancels the statement that the task is in.  False: it is in none. */
extern bool sql_session_cancel(SqlSession *session, const CancelWish *wish);

/* The incarnation is gone: nothing under way is ours. */
extern void sql_session_forget(SqlSession *session);

#endif							/* TWT_SQL_SESSION_H */
