/*-------------------------------------------------------------------------
 *
 * failures.h
 *		The log of tries that failed and after which the task goes on.
 *
 *		from: finish.c
 *
 * Thousands of tasks may fail at once, for one reason.  The first failure of a type
 * has a line of its own.  Failures of the next second are counted, in one line.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FAILURES_H
#define TWT_FAILURES_H

#include "base/loop.h"
#include "base/task.h"

typedef struct Failures Failures;

extern Failures *failures_open(Loop *loop);

/* Logs what was counted. */
extern void failures_free(Failures *failures);

/* A try of the task has failed; next is a text that says what follows. */
extern void failures_note(Failures *failures, const Task *task, const char *next, const char *message);

#endif							/* TWT_FAILURES_H */
