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
 * Sidecars with different handlers are in different groups (groups.h).  A push
 * wakes a session of any group; one that pops what it does not handle hands it
 * on.
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
#include "queue/groups.h"

typedef struct Queue Queue;

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

/* The same, and does not make one. */
extern Queue *queue_find(const char *bucket);

/* Whether the bucket has none, and none is left for it. */
extern bool queue_is_lacking(const char *bucket);

/* Never fails: when full, counts the trigger and asks for a sweep. */
extern void queue_push(Queue *queue, const TaskTrigger *trigger);

/* Asks one session of each group for a sweep, and wakes it. */
extern void queue_ask(Queue *queue);

/* Wakes one waiting sidecar, if there is one. */
extern void queue_wake(Queue *queue);

/*
 * This session takes triggers, by default of all types; its group.  Both take
 * a lightweight lock.  Others look for what a session that leaves had taken.
 */
extern int	queue_join(Queue *queue, const TypeList *types);
extern void queue_leave(Queue *queue, int group);

/* False when there is nothing; of any type. */
extern bool queue_pop(Queue *queue, TaskTrigger *trigger);

/* What other groups handed on, as being for this one.  It goes no further. */
extern bool queue_pop_handed(Queue *queue, int group, TaskTrigger *trigger);

/* Whether there are other groups. */
extern bool queue_is_shared(Queue *queue, int group);

/* True: given to other groups.  False: there is none that handles it. */
extern bool queue_hand_on(Queue *queue, int group, const TaskTrigger *trigger);

/* Whether a sweep was asked of the group since the last call. */
extern bool queue_take_asked(Queue *queue, int group);

/* Whether one of the three functions above would give something. */
extern bool queue_has_news(Queue *queue, int group);

/* Wakes others for what is there, now that this session no longer looks. */
extern void queue_pass_on(Queue *queue, int group);

/*
 * This backend waits for news, until queue_unwait(), a wake-up or the end of
 * the backend.  False: too many wait already, so it must look by itself.
 */
extern bool queue_wait(Queue *queue, int group);
extern void queue_unwait(Queue *queue, int group);

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
