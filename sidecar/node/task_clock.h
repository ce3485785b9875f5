/*-------------------------------------------------------------------------
 *
 * task_clock.h
 *		The database's clock, by which tasks are due.
 *
 * The clocks of the sidecars' machines may differ from the database's, and may
 * be set at any time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_CLOCK_H
#define TWT_TASK_CLOCK_H

/*
 * Takes the current time of the database's clock, in microseconds since 1970.
 * Returns how far it is ahead of our expectation; 0 the first time.
 */
extern int64 task_clock_tell(int64 unix_us);

/*
 * Logs once an hour that a test has shifted the clock by shift_us, which may
 * have been left on by mistake.  now_us is the loop's time.
 */
extern void task_clock_warn(int64 now_us, int64 shift_us);

/*
 * The time of the database's clock; before task_clock_tell(), the machine's
 * time.
 */
extern int64 task_clock_us(void);

#endif							/* TWT_TASK_CLOCK_H */
