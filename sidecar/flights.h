/*-------------------------------------------------------------------------
 *
 * flights.h
 *		Tasks in flight at one worker process, found by what a reply names.
 *
 * A task is in flight from when its line was made until its verdict.  It may
 * have been asked to stop; then it has a reason, and a time when patience
 * ends.  The tasks stay the caller's; Task.node is ours meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FLIGHTS_H
#define TWT_FLIGHTS_H

#include "task.h"

typedef struct Flights Flights;

/* expected: how many there will be; more are no error. */
extern Flights *flights_new(int expected);
extern void flights_free(Flights *flights);

extern void flights_add(Flights *flights, Task *task);
extern int	flights_count(const Flights *flights);

/* NULL: no such task, or not in this version. */
extern Task *flights_find(const Flights *flights, const char *id,
						  int64 version);

/* The one that is in flight the longest; NULL: none. */
extern Task *flights_first(Flights *flights);

/*
 * Takes the task out.  Returns the reason why it was asked to stop (the
 * caller frees it), NULL if it was not.
 */
extern char *flights_remove(Flights *flights, Task *task);

/* Notes that the task was asked to stop; false if it was before.  Times that
 * are given never go back. */
extern bool flights_stop(Flights *flights, Task *task, const char *why,
						 int64 until_us);

/* When the first of those that were asked must have stopped.  False: none. */
extern bool flights_next_stop(Flights *flights, int64 *until_us);

#endif							/* TWT_FLIGHTS_H */
