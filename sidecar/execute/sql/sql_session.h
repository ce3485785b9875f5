/*-------------------------------------------------------------------------
 *
 * sql_session.h
 *		One session of a SQL handler, and the batch of tasks it works on.
 *
 *		from: execute_sql.c			to: src/execute/execute.c, finish.h
 *
 * A statement that fails as a whole (a timeout, a deadlock) has had no effect
 * and does not tell which task caused it.  So its tasks run again one by one.
 * A task that fails alone is grabbed, so that the attempt counts, and then
 * finished.  A function that takes an array of tasks and raises an error does not fail
 * the statement: the database divides the array until it finds the task.
 *
 * A task under a cluster-wide limit runs alone, and a separate call grabs it
 * first: other nodes must see its slot while it runs.
 *
 * The cancel of a task cancels its statement; the database ends the task.  The
 * other tasks of the statement run again.
 *
 *	 state			under way							then
 *	 idle			nothing								executing, or granting
 *	 granting		the grab before a task runs			executing, or idle
 *	 executing		the functions						idle, or counting
 *	 counting		the grab of a task that failed		idle
 *	 grant lost		nothing: no answer to the grab		asking grant
 *	 asking grant	the outcome of that grab			executing, or idle
 *	 lost			nothing: no answer to the rest		asking
 *	 asking			the effect of the lost statement	idle, or counting
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_SESSION_H
#define TWT_SQL_SESSION_H

#include "execute/runner.h"
#include "execute/sql/sql_waiting.h"

typedef struct SqlSession SqlSession;

/* The sessions of one handler share it; it outlives them. */
typedef struct SqlSetup
{
	const RunnerParts *parts;
	const HandlerConfig *config;
	SqlWaiting *waiting;
} SqlSetup;

extern SqlSession *sql_session_new(const SqlSetup *setup);
extern void sql_session_free(SqlSession *session);

/* Opens the connection.  False: it is already up, or the session has a batch. */
extern bool sql_session_open(SqlSession *session);

/*
 * Sends what can be sent: a query for the fate of a lost statement, or the
 * next batch.
 */
extern void sql_session_pump(SqlSession *session);

/* The number of tasks without a known outcome. */
extern int	sql_session_running(const SqlSession *session);

/* Cancels the statement of the task.  False: the task is not in this session. */
extern bool sql_session_cancel(SqlSession *session, const CancelRequest *request);

/* The incarnation is gone: forgets the batch and closes the connection. */
extern void sql_session_forget(SqlSession *session);

#endif							/* TWT_SQL_SESSION_H */
