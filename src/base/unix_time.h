/*-------------------------------------------------------------------------
 *
 * unix_time.h
 *		Microseconds since 1970, as triggers and ids have them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_UNIX_TIME_H
#define TWT_UNIX_TIME_H

#include "datatype/timestamp.h"

#define UNIX_SHIFT ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/*
 * PostgreSQL's last thousand years do not fit into int64; they become its
 * maximum.
 */
static inline int64
unix_us(TimestampTz at)
{
	return at > PG_INT64_MAX - UNIX_SHIFT ? PG_INT64_MAX : at + UNIX_SHIFT;
}

static inline TimestampTz
postgres_us(int64 us)
{
	return us - UNIX_SHIFT;
}

#endif							/* TWT_UNIX_TIME_H */
