/*-------------------------------------------------------------------------
 *
 * task_clock.h
 *		The time by which tasks are due: the database's.
 *
 * The clocks of the sidecars' machines may differ from it, and somebody may set
 * them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_CLOCK_H
#define TWT_TASK_CLOCK_H

/*
 * The database's clock shows this now, in microseconds since 1970.  Returns
 * how far the clock is ahead of what we expected; 0 the first time.
 */
extern int64 task_clock_tell(int64 unix_us);

/*
 * Logs that a test has shifted the clock by so much, once an hour: somebody may
 * have left the shift on by mistake.  now_us is the loop's time.
 */
extern void task_clock_warn(int64 now_us, int64 shift_us);

/* The time of the database's clock; before the first tell, the machine's. */
extern int64 task_clock_us(void);

#endif							/* TWT_TASK_CLOCK_H */
