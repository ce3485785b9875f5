/*-------------------------------------------------------------------------
 *
 * flights.h
 *		Tasks in flight at one worker process, found by what a reply names.
 *
 * A task is in flight from when its line was made until its verdict.  It may
 * have been asked to stop; then it has a reason, and a time when patience
 * ends.  The tasks stay the caller's; Task.node is ours meanwhile.
 *
 * A worker may say which tasks it has taken up.  Once it has said so, all
 * others in flight are ahead of it: their time does not run, and they have not
 * run.  If it has taken up none, the oldest counts as taken up: a worker that
 * stops at a line for ever must not keep the task for ever.  All tasks of a
 * worker that never says so count as taken up when they were given.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FLIGHTS_H
#define TWT_FLIGHTS_H

#include "base/task.h"

typedef struct Flights Flights;

/* expected: how many there will be; more are no error. */
extern Flights *flights_new(int expected);
extern void flights_free(Flights *flights);

/* begins: the position of its line among all that is written. */
extern void flights_add(Flights *flights, Task *task, int64 begins,
						int64 now_us);
extern int	flights_count(const Flights *flights);

/* NULL: no such task, or not in this version. */
extern Task *flights_find(const Flights *flights, const char *id,
						  int64 version);

/* The worker said that it has taken up the task. */
extern void flights_take_up(Flights *flights, Task *task, int64 now_us);

/* Call it after a task was taken out while the worker goes on. */
extern void flights_go_on(Flights *flights, int64 now_us);

/* The worker may be another program from now on. */
extern void flights_forget_worker(Flights *flights);

/* Could it have run, when so many bytes were written? */
extern bool flights_may_have_run(const Flights *flights, const Task *task,
								 int64 sent);

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
