/*-------------------------------------------------------------------------
 *
 * chance.h
 *		Randomized delays, so that many clients do not come back at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHANCE_H
#define TWT_CHANCE_H

/* Returns at least half of the delay and at most all of it. */
extern int64 chance_delay(int64 us);

#endif							/* TWT_CHANCE_H */
