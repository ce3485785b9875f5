/*-------------------------------------------------------------------------
 *
 * try_call.h
 *		Work for one item among several, whose failure stops no other item.
 *
 *		from: policy_call.c, on_end.c, sql/policy/try_call.sql		to: time_limit.h
 *
 * EXCEPTION WHEN OTHERS of PL/pgSQL lets two errors pass that functions of users
 * may raise: a failed ASSERT, and a cancel, with which a time limit and a
 * statement on a remote server end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRY_CALL_H
#define TWT_TRY_CALL_H

/*
 * Does the work in a subtransaction.  Returns NULL if it succeeds, else the error, in
 * the caller's memory.  Raises a cancel of the statement.
 */
extern ErrorData *try_work(void (*work) (void *arg), void *arg);

/*
 * The same for at most twtasks.function_timeout.  The error is 53400 when the time
 * was over, also before the work began.  name is for the message.
 */
extern ErrorData *try_call(const char *name, void (*work) (void *arg), void *arg);

#endif							/* TWT_TRY_CALL_H */
