/*-------------------------------------------------------------------------
 *
 * feed.h
 *		Brings triggers to this sidecar, from shared memory or by NOTIFY.
 *
 *		from: src/commit/commit.c			to: tables.h (tables_push)
 *
 * Triggers are only hints.  When a feed may have lost some, the sidecar looks
 * at the table of tasks itself (sweep.h).  It does so after each connect,
 * since tasks may have been committed while it was not connected.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FEED_H
#define TWT_FEED_H

#include <jansson.h>

#include "node/duties.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef struct Feed Feed;

/* The parts that a feed reports to; they outlive the feed. */
typedef struct FeedTargets
{
	Tables	   *tables;			/* get triggers */
	Sweep	   *sweep;			/* gets buckets whose triggers may be lost */
	Duties	   *duties;			/* get due tasks, ended sessions of nodes */
	Node	   *node;			/* gets ended sessions of nodes */
} FeedTargets;

/*
 * Opens its own connection, and takes triggers until feed_close().  The caller
 * keeps the configuration.
 */
extern Feed *feed_open(Loop *loop, const Config *config, const FeedTargets *targets);
extern void feed_close(Feed *feed);

/*
 * Takes no more triggers; other sidecars get them.  The helper that passes
 * triggers through Kafka then leaves its partitions to them, and feed_is_idle()
 * tells when it has left.
 */
extern void feed_stop(Feed *feed);
extern bool feed_is_idle(const Feed *feed);

/* The helper logs by this configuration from now on. */
extern void feed_reload(Feed *feed, const Config *config);

/* Adds the trouble of the helper to the list. */
extern void feed_add_troubles(void *feed, json_t *list);

/* Asks for more triggers.  Call it when all earlier ones were grabbed. */
extern void feed_pump(Feed *feed);

/*
 * The kind of the feed: QUEUE_RING or QUEUE_NOTIFY, or QUEUE_AUTO if not known
 * yet.
 */
extern QueueKind feed_kind(const Feed *feed);

/* Takes the payload of a notification on the channel twtasks. */
extern void feed_notify_read(Feed *feed, const char *payload);

#endif							/* TWT_FEED_H */
