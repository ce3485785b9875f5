/*-------------------------------------------------------------------------
 *
 * clock.h
 *		The engine's clock: the server's, unless a test has shifted it.
 *
 * All that says when a task runs, expires, is stuck or was changed goes by
 * this clock.  What says whether a node lives goes by the server's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_CLOCK_H
#define TWT_CLOCK_H

#include "datatype/timestamp.h"

/*
 * The server's clock; with twtasks.testing on, so much later or earlier as
 * twtasks.test_clock says.  Costs nothing more with it off; with it on, a
 * look at the table once per session and after every change.
 */
extern TimestampTz twt_now(void);

/* From _PG_init(). */
extern void clock_init(void);

#endif							/* TWT_CLOCK_H */
