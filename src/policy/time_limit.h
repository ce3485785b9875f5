/*-------------------------------------------------------------------------
 *
 * time_limit.h
 *		twtasks.function_timeout: how long functions of users may run.
 *
 *		from: policy_call.c, try_call.c, user_function.c
 *
 * A session has one limit at a time.  A call within a call that is limited shares
 * the time of the outer one.  If the inner call ends by the limit, or the function
 * catches the cancel, the outer call goes on, and is cut off itself when the same
 * time has passed again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TIME_LIMIT_H
#define TWT_TIME_LIMIT_H

/* Returns false if the time of an outer call runs already. */
extern bool time_limit_start(void);

/*
 * Ends the limit that time_limit_start() has begun, and returns whether its time
 * was over.  Discards a cancel that was meant for the function alone.
 */
extern bool time_limit_stop(void);

/*
 * An inner call has ended by the limit, or has not heard of it: a cancel that comes
 * from now on, until the limit is over once more, is for the statement.
 */
extern void time_limit_spend(void);

/* Whether a limit runs, and its time is over. */
extern bool time_limit_is_over(void);

/* Whether the current error is the cancel with which that limit ends a call. */
extern bool time_limit_caused(void);

/*
 * Notes the function that ran when the time was over.  The first one counts, which
 * is the innermost.
 */
extern void time_limit_blame(const char *name);

/* Raises 53400: the function that was blamed, else this one, took too long. */
extern void time_limit_refuse(const char *name) __attribute__((noreturn));

/*
 * Whether the server itself has cancelled the statement: an operator, the client
 * or statement_timeout wants it to end, or a time limit of ours.  False for a
 * function that raises the same SQLSTATE, as after the cancel of a remote
 * statement.
 */
extern bool error_is_cancel(const ErrorData *error);

#endif							/* TWT_TIME_LIMIT_H */
