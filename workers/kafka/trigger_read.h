/*-------------------------------------------------------------------------
 *
 * trigger_read.h
 *		Triggers that other nodes handed on through Kafka.
 *
 *		from: trigger_send.c of any node		to: the sidecar (trigger_line.h)
 *
 * The nodes are consumers of one group, which share the partitions of their
 * buckets' topics.  A trigger's offset is committed when the trigger is on its way to
 * the table, not when its task has run: the table of tasks is the guarantee.  So
 * no task holds up a partition, and nothing is ever paused.
 *
 * Reading starts at the committed offset.  Without one, or when its message is
 * gone, reading starts at the end, and a sweep finds the tasks of the triggers
 * before that.  Nobody reads a partition from its beginning.
 *
 * Anybody who may write to a topic can write anything.  A message that is not a
 * trigger is counted and skipped.
 *
 * A client that fails for good, or that refuses an assignment, cannot go on: the process
 * leaves the group and ends, and the sidecar starts another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGER_READ_H
#define TWT_TRIGGER_READ_H

#include "base/loop.h"
#include "workers/kafka/trigger_settings.h"

typedef struct TriggerRead TriggerRead;

typedef struct TriggerReadParts
{
	Loop	   *loop;
	const TriggerSettings *settings;
	StringInfo	out;			/* gets lines for the sidecar */
	LoopFn		broken;			/* the client cannot go on; may be called at
								 * once */
	void	   *arg;
} TriggerReadParts;

/* Reads triggers from now on. */
extern TriggerRead *trigger_read_open(const TriggerReadParts *parts);
extern void trigger_read_free(TriggerRead *reader);

/* Leaves the partitions to other nodes.  Calls left(arg) once, when that is done or given up. */
extern void trigger_read_leave(TriggerRead *reader, LoopFn left);

#endif							/* TWT_TRIGGER_READ_H */
