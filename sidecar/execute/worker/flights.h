/*-------------------------------------------------------------------------
 *
 * flights.h
 *		Tasks in flight at one worker process, looked up by id and version.
 *
 * A task is in flight from the making of its line until its verdict.  The
 * process may have been asked to stop it; then the task has a reason and a
 * time limit.  The caller keeps the tasks, but Task.node is used here.
 *
 * A line has one task, or a batch.  A worker may report which tasks it has taken
 * up; with one task it takes up the whole line, so all tasks of a batch have the
 * same time.  After its first report, the tasks of all other lines are ahead of
 * the worker: their time does not run, and they have not run.  If the worker has
 * taken up no task, the oldest line counts as taken up, so that a worker that
 * hangs at a line cannot keep its tasks for ever.  If a worker sends no such
 * reports, each task counts as taken up when it was given.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FLIGHTS_H
#define TWT_FLIGHTS_H

#include "base/task.h"

typedef struct Flights Flights;

extern Flights *flights_new(void);
extern void flights_free(Flights *flights);

/*
 * Takes the tasks of one line out of the list, at least one.  begins, ends: positions
 * of the line in the input of the process.
 */
extern void flights_add(Flights *flights, dlist_head *tasks, int64 begins,
						int64 ends, int64 now_us);
extern int	flights_count(const Flights *flights);

/* The number of lines with tasks in flight. */
extern int	flights_lines(const Flights *flights);

/* NULL: no such task in flight, or another version of it. */
extern Task *flights_find(const Flights *flights, const char *id,
						  int64 version);

/* The worker reported that it has taken up the task, and with it the whole line. */
extern void flights_take_up(Flights *flights, Task *task, int64 now_us);

/* Call it after a task was removed while the worker goes on. */
extern void flights_go_on(Flights *flights, int64 now_us);

/* Forgets whether the worker reports tasks: its next program may differ. */
extern void flights_forget_worker(Flights *flights);

/* Whether the process may have seen a part of the task, after that number of bytes was written. */
extern bool flights_was_sent(const Flights *flights, const Task *task, int64 sent);

/* Whether the task may have run: it was sent whole, and is not ahead of the worker. */
extern bool flights_may_have_run(const Flights *flights, const Task *task,
								 int64 sent);
extern bool flights_any_may_have_run(const Flights *flights, int64 sent);

/* The tasks that are in flight the longest, and the shortest; NULL: none. */
extern Task *flights_first(Flights *flights);
extern Task *flights_last(Flights *flights);

/*
 * Removes the task.  Returns the reason of a stop, which the caller frees;
 * NULL: no stop was asked.
 */
extern char *flights_remove(Flights *flights, Task *task);

/*
 * Notes that the process was asked to stop the task; false if it was asked
 * before.  until_us must not be before the one of an earlier call.
 */
extern bool flights_stop(Flights *flights, Task *task, const char *why,
						 int64 until_us);

/* The earliest time by which a task must have stopped.  False: there is none. */
extern bool flights_next_stop(Flights *flights, int64 *until_us);

#endif							/* TWT_FLIGHTS_H */
