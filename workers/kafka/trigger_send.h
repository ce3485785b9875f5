/*-------------------------------------------------------------------------
 *
 * trigger_send.h
 *		Triggers on their way to other nodes, through the topics of their buckets.
 *
 *		from: triggers.c			to: trigger_read.c of any node
 *
 * Kafka guarantees nothing, since triggers are only hints.  A trigger that no broker
 * takes goes back to its sidecar.  Then none is sent for a while, so that few of them
 * wait for brokers that are away.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TRIGGER_SEND_H
#define TWT_TRIGGER_SEND_H

#include "base/loop.h"
#include "common/trigger.h"
#include "workers/kafka/trigger_settings.h"

typedef struct TriggerSend TriggerSend;

/*
 * out gets lines for the sidecar.  broken is called, after a line of the log, when
 * another client is needed.  NULL, after such a line: no client can be made.
 */
extern TriggerSend *trigger_send_open(Loop *loop, const TriggerSettings *settings,
									  StringInfo out, LoopFn broken, void *arg) MUSTCHECK;

extern void trigger_send(TriggerSend *sender, int bucket, const Trigger *trigger);

#endif							/* TWT_TRIGGER_SEND_H */
