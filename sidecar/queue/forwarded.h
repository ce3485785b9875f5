/*-------------------------------------------------------------------------
 *
 * forwarded.h
 *		Triggers that other nodes handed on through Kafka.
 *
 *		from: forward.c of any node			to: tables.h (tables_push)
 *
 * The nodes are consumers of one group, which share the partitions of their
 * buckets' topics.  A trigger's offset is committed when the trigger is in the
 * table, not when its task has run: the table of tasks is the guarantee.  So
 * no task holds up a partition, and nothing is ever paused.
 *
 * Reading starts at the committed offset.  Without one, or when its message is
 * gone, reading starts at the end, and a sweep finds the tasks of the triggers
 * before that.  Nobody reads a partition from its beginning.
 *
 * Anybody who may write to a topic can write anything.  A message that is no
 * trigger is counted and skipped.
 *
 * A client that fails for good is replaced, the first time in a second and later
 * in up to a minute.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FORWARDED_H
#define TWT_FORWARDED_H

#include "base/loop.h"
#include "config/config.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef struct Forwarded Forwarded;

/* As forward_open(), forward_leave(), forward_has_left() and forward_free(). */
extern Forwarded *forwarded_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep);
extern void forwarded_leave(Forwarded *forwarded);
extern bool forwarded_has_left(const Forwarded *forwarded);
extern void forwarded_free(Forwarded *forwarded);

#endif							/* TWT_FORWARDED_H */
