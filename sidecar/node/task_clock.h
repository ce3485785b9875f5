/*-------------------------------------------------------------------------
 *
 * task_clock.h
 *		The database's clock, by which tasks are due.
 *
 * The clocks of the sidecars' machines may differ from the database's, and may
 * be set at any time.  So a node goes by the database's clock: each tick tells the
 * time, and the loop's clock says how much has passed since.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_CLOCK_H
#define TWT_TASK_CLOCK_H

#include "base/loop.h"

typedef struct TaskClock TaskClock;

extern TaskClock *task_clock_new(Loop *loop);
extern void task_clock_free(TaskClock *clock);

/*
 * Takes the current time of the database's clock, in microseconds since 1970.
 * Returns how far it is ahead of our expectation; 0 the first time.
 */
extern int64 task_clock_tell(TaskClock *clock, int64 unix_us);

/*
 * Logs once an hour that a test has shifted the clock by shift_us, which may
 * have been left on by mistake.
 */
extern void task_clock_warn(TaskClock *clock, int64 shift_us);

/*
 * The time of the database's clock; before task_clock_tell(), the machine's
 * time.
 */
extern int64 task_clock_us(const TaskClock *clock);

#endif							/* TWT_TASK_CLOCK_H */
