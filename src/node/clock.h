/*-------------------------------------------------------------------------
 *
 * clock.h
 *		The engine's clock: the server's, unless a test has shifted it.
 *
 * This clock decides when a task runs, expires, is stuck or was changed.  The
 * server's clock decides whether a node lives.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CLOCK_H
#define TWT_CLOCK_H

#include "datatype/timestamp.h"

/* A longer time from now on could leave the range of timestamps. */
#define LONGEST_MS (INT64CONST(100) * 365 * 86400 * 1000)

/*
 * The server's clock.  While twtasks.testing is on, twtasks.test_clock shifts
 * it.  That costs a look at the table once per session and after every change,
 * and nothing while the setting is off.
 */
extern TimestampTz twt_now(void);

/* From _PG_init(). */
extern void clock_init(void);

#endif							/* TWT_CLOCK_H */
