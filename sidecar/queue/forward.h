/*-------------------------------------------------------------------------
 *
 * forward.h
 *		Triggers that pass through Kafka, from nodes without a free slot.
 *
 *		from: feed_news.c			to: tables.h (tables_push), or the helper
 *
 * A trigger that seems able to start here at once stays here.  Others go to the
 * topic of their bucket, whose partitions the nodes share, through a helper
 * (helper.h, workers/kafka/triggers.h) that also reads them.  A trigger passes
 * through Kafka at most once, so it cannot go round forever.
 *
 * Kafka guarantees nothing, since triggers are only hints.  A trigger that no
 * broker takes waits here, as it does without Kafka or without the helper.  A helper
 * that ends, or that stands still and is ended, may take triggers along, so a sweep of
 * all buckets follows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FORWARD_H
#define TWT_FORWARD_H

#include <jansson.h>

#include "base/loop.h"
#include "config/config.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef struct Forward Forward;

/*
 * Starts the helper, and reads triggers from now on.  config, tables and sweep
 * outlive it.
 */
extern Forward *forward_open(Loop *loop, const Config *config, Tables *tables, Sweep *sweep);
extern void forward_free(Forward *forward);

/* The helper starts again if it must be told something else. */
extern void forward_reload(Forward *forward, const Config *config);

/* Keeps the trigger, or hands it to another node. */
extern void forward_trigger(Forward *forward, int bucket, const Trigger *trigger);

/*
 * Forwards and reads no more, and leaves the partitions to other nodes.  That
 * is done, or given up after a while, when forward_has_left().
 */
extern void forward_leave(Forward *forward);
extern bool forward_has_left(const Forward *forward);

/* Adds the trouble of the helper to the list, if there is one. */
extern void forward_add_troubles(const Forward *forward, json_t *list);

#endif							/* TWT_FORWARD_H */
