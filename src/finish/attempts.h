/*-------------------------------------------------------------------------
 *
 * attempts.h
 *		Attempts of tasks that did not succeed, on their way into
 *		twtasks.task_attempt.
 *
 *		from: finish.c, live.c, sql/watch/attempts.sql
 *
 * The transaction that ends a try writes its attempt, so there is a row for each
 * try, or its task has not changed.  A success has none: it is in the history.
 *
 *		bound		100 tries a task and day that were repeated, and an error that a
 *					row of the same day has is not stored again
 *		failure		a warning, and the attempts of the call are lost.  The rows are
 *					written in a subtransaction, since the ends of the tasks stay
 *		absence		SQL of 1.0 has no such table, and twtasks.keep_attempts may be 0:
 *					then nothing is written
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ATTEMPTS_H
#define TWT_ATTEMPTS_H

#include "datatype/timestamp.h"
#include "executor/tuptable.h"

typedef struct Attempts Attempts;

/* For at most so many tries, which end at that time. */
extern Attempts *attempts_begin(TimestampTz at, int max);

/*
 * Adds the last try of a task by its row as it was before.  result NULL: the try has
 * no attempt.  error and next may be NULL.
 */
extern void attempts_add(Attempts *attempts, TupleTableSlot *row, const char *result, text * error,
						 const TimestampTz *next);

/* Writes what was added. */
extern void attempts_write(Attempts *attempts);

#endif							/* TWT_ATTEMPTS_H */
