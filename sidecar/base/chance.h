/*-------------------------------------------------------------------------
 *
 * chance.h
 *		Random parts of delays, so that many do not come back at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHANCE_H
#define TWT_CHANCE_H

/* At least half of a delay, at most all of it. */
extern int64 chance_delay(int64 us);

#endif							/* TWT_CHANCE_H */
