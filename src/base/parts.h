/*-------------------------------------------------------------------------
 *
 * parts.h
 *		Partitions by time: of the history, and of attempts.
 *
 *		from: src/finish/history.c, src/finish/attempts.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PARTS_H
#define TWT_PARTS_H

#include "datatype/timestamp.h"
#include "utils/relcache.h"

/* The partition for a time, else the default partition; InvalidOid: there is none. */
extern Oid	parts_find(Relation whole, TimestampTz at);

#endif							/* TWT_PARTS_H */
