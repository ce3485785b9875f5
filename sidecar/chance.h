/*-------------------------------------------------------------------------
 *
 * chance.h
 *		Random parts of delays, so that many do not come back at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CHANCE_H
#define TWT_CHANCE_H

/* At least 0, less than 1. */
extern double chance(void);

#endif							/* TWT_CHANCE_H */
