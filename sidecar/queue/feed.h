/*-------------------------------------------------------------------------
 *
 * feed.h
 *		How triggers reach this sidecar: from shared memory or by NOTIFY.
 *
 *		from: src/commit/commit.c			to: table.h (table_push)
 *
 * A feed of either kind brings only hints.  It says when it may have lost some:
 * then the sidecar must look at the table of tasks itself (on_sweep).  After
 * each connect it must, since tasks may have been committed while nobody
 * listened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FEED_H
#define TWT_FEED_H

#include "base/loop.h"
#include "common/trigger.h"
#include "config/config.h"

typedef struct Feed Feed;

typedef struct FeedEvents
{
	/* bucket: its place in config->buckets */
	void		(*on_trigger) (void *arg, int bucket, const Trigger *trigger);
	void		(*on_sweep) (void *arg, int bucket);

	/* a task will be due at that time, in microseconds since 1970 */
	void		(*on_due) (void *arg, int64 unix_us);

	/* the session of some node ended */
	void		(*on_node_gone) (void *arg);
} FeedEvents;

/*
 * Opens a connection of its own, and takes triggers until feed_close().  The
 * configuration and the events stay the caller's.
 */
extern Feed *feed_open(Loop *loop, const Config *config,
					   const FeedEvents *events, void *arg);
extern void feed_close(Feed *feed);

/* Takes no more triggers; other sidecars get them. */
extern void feed_stop(Feed *feed);

/* Asks for more triggers.  Call it when all earlier ones were grabbed. */
extern void feed_pump(Feed *feed);

/* QUEUE_RING or QUEUE_NOTIFY; QUEUE_AUTO until that is known. */
extern QueueKind feed_kind(const Feed *feed);

/* Takes the payload of a notification on the channel twtasks. */
extern void feed_notify_read(Feed *feed, const char *payload);

#endif							/* TWT_FEED_H */
