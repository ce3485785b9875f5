/*-------------------------------------------------------------------------
 *
 * feed.h
 *		How triggers reach this sidecar: from shared memory or by NOTIFY.
 *
 *		from: src/commit/commit.c			to: table.h (table_push)
 *
 * A queue of either kind only brings hints, and says when it may have lost
 * some: then the sidecar must look at the table itself (on_sweep).  That is
 * the case after every connect, for tasks that were committed while nobody
 * listened.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_QUEUE_H
#define TWT_QUEUE_H

#include "base/loop.h"
#include "common/trigger.h"
#include "config/config.h"
#include "pg/pg.h"

typedef struct Queue Queue;

typedef struct QueueEvents
{
	/* bucket: its place in config->buckets */
	void		(*on_trigger) (void *arg, int bucket, const Trigger *trigger);
	void		(*on_sweep) (void *arg, int bucket);

	/* some task will be due then; microseconds since 1970 */
	void		(*on_due) (void *arg, int64 unix_us);

	/* the session of some node ended */
	void		(*on_node_gone) (void *arg);
} QueueEvents;

/* Opens its own connection, and takes triggers until queue_close(). */
extern Queue *queue_open(Loop *loop, const Config *config,
						 const QueueEvents *events, void *arg);
extern void queue_close(Queue *queue);

/* Takes no more triggers; other sidecars get them. */
extern void queue_stop(Queue *queue);

/* Asks for more triggers; call it when earlier ones are on their way. */
extern void queue_pump(Queue *queue);

/* QUEUE_RING or QUEUE_NOTIFY; QUEUE_AUTO until that is known. */
extern QueueKind queue_kind(const Queue *queue);

/* Shared by both kinds. */
extern void queue_trigger(Queue *queue, int bucket, const Trigger *trigger);
extern void queue_sweep(Queue *queue, int bucket);
extern void queue_sweep_all(Queue *queue);
extern void queue_due(Queue *queue, int64 unix_us);
extern void queue_node_gone(Queue *queue);
extern const Config *queue_config(const Queue *queue);
extern Pg  *queue_pg(const Queue *queue);

/* Each kind begins with this after every connect. */
extern void queue_ring_begin(Queue *queue);
extern void queue_ring_pump(Queue *queue);
extern void queue_notify_begin(Queue *queue);
extern void queue_notify_read(Queue *queue, const char *payload);

#endif							/* TWT_QUEUE_H */
