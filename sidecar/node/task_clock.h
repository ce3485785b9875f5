/*-------------------------------------------------------------------------
 *
 * task_clock.h
 *		The clock that tasks go by: the database's.
 *
 * Those of the sidecars' machines may differ from it, and be set.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_CLOCK_H
#define TWT_TASK_CLOCK_H

/*
 * What it shows at this moment: microseconds since 1970.  Returns how far it has
 * gone ahead of what was to be expected; 0 the first time.
 */
extern int64 task_clock_tell(int64 unix_us);

/* The same now; the machine's clock while nobody has told. */
extern int64 task_clock_us(void);

#endif							/* TWT_TASK_CLOCK_H */
