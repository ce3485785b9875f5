/*-------------------------------------------------------------------------
 *
 * feed.h
 *		How triggers reach this sidecar: from shared memory or by NOTIFY.
 *
 *		from: src/commit/commit.c			to: tables.h (tables_push)
 *
 * A feed of either kind brings only hints.  It says when it may have lost some:
 * then the sidecar must look at the table of tasks itself (sweep.h).  After
 * each connect it must, since tasks may have been committed while nobody
 * listened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FEED_H
#define TWT_FEED_H

#include "node/duties.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef struct Feed Feed;

/* The parts that a feed brings news to; they outlive it. */
typedef struct FeedTargets
{
	Tables	   *tables;			/* triggers */
	Sweep	   *sweep;			/* buckets whose triggers may be lost */
	Duties	   *duties;			/* due tasks, ended sessions of nodes */
	Node	   *node;			/* ended sessions of nodes */
} FeedTargets;

/*
 * Opens a connection of its own, and takes triggers until feed_close().  The
 * configuration stays the caller's.
 */
extern Feed *feed_open(Loop *loop, const Config *config, const FeedTargets *targets);
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
