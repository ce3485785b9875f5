/*-------------------------------------------------------------------------
 *
 * queue.h
 *		Triggers in shared memory: one bounded ring per database and bucket.
 *
 *		from: commit.c (queue_push)		to: next_triggers.c (queue_pop)
 *
 * Any number of backends push, any number of sidecars' backends pop, nobody
 * waits for anybody.  A ring that is full drops the trigger and asks for a
 * sweep instead: triggers are hints, the table is the truth.
 *
 * What may be called at commit (no allocation, no error, no lock that can
 * wait): queue_push, queue_ask, queue_wake.  A queue, once attached, stays
 * valid for the life of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_QUEUE_H
#define TWT_QUEUE_H

#include "datatype/timestamp.h"

#include "common/trigger.h"

typedef struct Queue Queue;

#define QUEUE_NEED_SWEEP 1		/* triggers were lost: look at the table */

typedef struct QueueStats
{
	char		bucket[TRIGGER_BUCKET_MAX + 1];
	uint64		waiting;
	uint64		pushed;
	uint64		dropped;
	int			waiters;
	bool		need_sweep;
} QueueStats;

/* From _PG_init(): reserves the shared memory when we are preloaded. */
extern void queue_init(void);

/* Whether there is shared memory, that is, whether we were preloaded. */
extern bool queue_available(void);

/*
 * The queue of a bucket of this database, made on first use.  NULL: not
 * preloaded, or all twtasks.queues are in use.  Takes a lightweight lock on
 * first use in this backend; may raise an error.
 */
extern Queue *queue_attach(const char *bucket);

/* Never fails: when full, counts the trigger and asks for a sweep. */
extern void queue_push(Queue *queue, const TaskTrigger *trigger);

/* Sets flags (QUEUE_...) for whoever pops next. */
extern void queue_ask(Queue *queue, uint32 flags);

/* Wakes one waiting sidecar, if there is one. */
extern void queue_wake(Queue *queue);

/* False when the queue is empty. */
extern bool queue_pop(Queue *queue, TaskTrigger *trigger);

/* The flags set since the last call, which clears them. */
extern uint32 queue_take_flags(Queue *queue);

/* Whether queue_pop() or queue_take_flags() would give something. */
extern bool queue_has_news(Queue *queue);

/*
 * This backend waits for news, until queue_unwait(), a wake-up or the end of
 * the backend.  False: too many wait already, so it must look by itself.
 */
extern bool queue_wait(Queue *queue);
extern void queue_unwait(Queue *queue);

/*
 * The session of a node of this database ended: tells, and wakes, all who
 * wait, for the first to wake may be that node's other session.
 */
extern void queue_node_ended(void);

/* How often that happened; a change is news. */
extern uint32 queue_nodes_ended(Queue *queue);

/* Copies figures of the n-th queue of this database; false: no more. */
extern bool queue_stats(int n, QueueStats *stats);

#endif							/* TWT_QUEUE_H */
