/*-------------------------------------------------------------------------
 *
 * task_id.h
 *		Ids of tasks, in order of time.
 *
 * The layout is UUID version 7 of RFC 9562: 48 bits of milliseconds since
 * 1970, then (its method 3) 12 bits for the fraction of the millisecond, then
 * 62 random bits.  Later ids sort later, so inserts go to the right edge of
 * the index.  The ids are not secrets.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_ID_H
#define TWT_TASK_ID_H

#include <stdint.h>

/* unix_us: microseconds since 1970, 0 or more.  id has 16 bytes. */
extern void task_id_make(int64_t unix_us, uint64_t random, uint8_t *id);

/* Milliseconds since 1970 in an id of this layout; -1: another layout. */
extern int64_t task_id_ms(const uint8_t *id);

#endif							/* TWT_TASK_ID_H */
