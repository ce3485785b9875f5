/*-------------------------------------------------------------------------
 *
 * forward.h
 *		Triggers that pass through Kafka, from nodes without a free slot.
 *
 *		from: feed_news.c			to: tables.h (tables_push), or a topic
 *
 * A trigger that seems able to start here at once stays here.  Others go to the
 * topic of their bucket, whose partitions the nodes share: forwarded.h reads
 * them.  A trigger passes through Kafka at most once, so it cannot go round
 * forever.
 *
 * Kafka guarantees nothing, since triggers are only hints.  A trigger that no
 * broker takes waits here, as it does without Kafka.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FORWARD_H
#define TWT_FORWARD_H

#include "base/loop.h"
#include "config/config.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef struct Forward Forward;

/*
 * Opens the clients of Kafka, and reads triggers from now on.  config,
 * tables and sweep outlive it.
 */
extern Forward *forward_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep);
extern void forward_free(Forward *forward);

/* Keeps the trigger, or hands it to another node. */
extern void forward_trigger(Forward *forward, int bucket, const Trigger *trigger);

/*
 * Forwards and reads no more, and leaves the partitions to other nodes.  That
 * is done, or given up after a while, when forward_has_left().
 */
extern void forward_leave(Forward *forward);
extern bool forward_has_left(const Forward *forward);

#endif							/* TWT_FORWARD_H */
