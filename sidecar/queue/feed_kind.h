/*-------------------------------------------------------------------------
 *
 * feed_kind.h
 *		The struct of a feed, for its two kinds.
 *
 * Private to the files feed*.c.  Both kinds call feed_news.c, and never
 * feed.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FEED_KIND_H
#define TWT_FEED_KIND_H

#include "base/lines.h"
#include "node/duties.h"
#include "pg/pg.h"
#include "queue/forward.h"
#include "queue/sweep.h"
#include "table/tables.h"

typedef enum FeedState
{
	FEED_WAITING,				/* for the connection, or to learn its kind */
	FEED_RUNNING,
	FEED_STOPPED				/* for good */
} FeedState;

/* A bucket's second look, for transactions that sent no notification. */
typedef struct FeedNews
{
	bool		is_wanted;		/* a second look has to come */
	bool		is_asked;		/* the call for late commits covers it */
} FeedNews;

struct Feed
{
	Loop	   *loop;
	const Config *config;
	Tables	   *tables;			/* these four get its reports */
	Sweep	   *sweep;
	Duties	   *duties;
	Node	   *node;
	Pg		   *pg;
	Forward    *forward;		/* NULL: triggers do not pass through Kafka */
	QueueKind	kind;
	int			door;			/* -1: none is open */
	LoopIo	   *door_io;
	LineReader	door_lines;
	FeedState	state;
	FeedNews   *news;			/* by bucket */
	LoopTimer  *second;			/* before the call for late commits */
	bool		looks_twice;	/* the server relies on second looks */
};

/* ---- feed_news.c ---- */

/*
 * A trigger came: hands it to tables or to another node now, or tells duties
 * when its task is due.
 */
extern void feed_trigger(struct Feed *feed, int bucket, const Trigger *trigger);

/* Triggers of the bucket were lost, also of due tasks and of duties. */
extern void feed_lost(struct Feed *feed, int bucket);

/* Triggers of all buckets may be lost. */
extern void feed_sweep_all(struct Feed *feed);

/* ---- feed_ring.c and feed_notify.c ---- */

/* Call the begin function of the kind after every connect. */
extern void feed_ring_begin(struct Feed *feed);
extern void feed_ring_pump(struct Feed *feed);
extern void feed_notify_begin(struct Feed *feed);
extern void feed_notify_second(void *feed); /* for the timer */

/* ---- feed_door.c ---- */

/* Opens the pipe of the feed's session, if one is configured. */
extern void feed_door_open(struct Feed *feed);

/* Closing what is not open does nothing. */
extern void feed_door_close(struct Feed *feed);

#endif							/* TWT_FEED_KIND_H */
