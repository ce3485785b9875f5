/*-------------------------------------------------------------------------
 *
 * queue.h
 *		Triggers in shared memory: one bounded ring per database and bucket.
 *
 *		from: commit.c (queue_push)		to: taker.c (queue_pop)
 *
 * Any number of backends push, any number of sidecars' backends pop, and
 * nobody waits for anybody.  A full ring drops the trigger and asks for a
 * sweep instead: triggers are hints, the table is the truth.
 *
 * Sidecars with different handlers are in different groups (groups.h).  A push
 * wakes a session of any group.  A session that pops a trigger of a type that
 * it does not handle hands the trigger on.
 *
 * These may be called at commit (no allocation, no error, no lock that can
 * wait): queue_push, queue_ask, queue_ask_all, queue_wake, queue_wake_for.  A queue, once
 * attached, stays valid for the life of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_QUEUE_H
#define TWT_QUEUE_H

#include "datatype/timestamp.h"

#include "common/trigger.h"
#include "queue/groups.h"

typedef struct Queue Queue;

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

/* The same, but makes no queue. */
extern Queue *queue_find(const char *bucket);

/* Never fails: a full queue counts the trigger and asks for a sweep. */
extern void queue_push(Queue *queue, const TaskTrigger *trigger);

/* Asks one session of each group for a sweep, and wakes it. */
extern void queue_ask(Queue *queue);

/* Wakes one waiting sidecar, if there is one. */
extern void queue_wake(Queue *queue);

/*
 * The same, after the push of one trigger, which goes through the door (door.h)
 * of that sidecar too.
 */
extern void queue_wake_for(Queue *queue, const TaskTrigger *trigger);

/*
 * Notes that a prepared transaction has triggers, by the hash of its name; and
 * takes the note back.  After a start of the server all are noted once.  Two
 * names may share a note, so both functions are hints.
 */
extern void queue_note_prepared(uint32 hash);
extern bool queue_take_prepared(uint32 hash);

/*
 * Asks the sessions of all queues of this database for a sweep and for the
 * duties of other extensions, and wakes them.
 */
extern void queue_ask_all(void);

/*
 * Lets this session take triggers, by default of all types; returns its group.
 * Both functions take a lightweight lock.  When a session leaves, other
 * sessions look for the triggers that it had taken.
 */
extern int	queue_join(Queue *queue, const TypeList *types);
extern void queue_leave(Queue *queue, int group);

/* Takes a trigger of any type; false: there is none. */
extern bool queue_pop(Queue *queue, TaskTrigger *trigger);

/*
 * Takes a trigger that another group handed to this one; it is not handed on
 * again.
 */
extern bool queue_pop_handed(Queue *queue, int group, TaskTrigger *trigger);

/* Whether there are other groups. */
extern bool queue_is_shared(Queue *queue, int group);

/*
 * Returns true if other groups have the trigger now, false if none handles it.
 */
extern bool queue_hand_on(Queue *queue, int group, const TaskTrigger *trigger);

/* Whether the group was asked for a sweep since the last call. */
extern bool queue_take_asked(Queue *queue, int group);

/*
 * Wakes other sessions for the waiting triggers, since this one no longer
 * looks.
 */
extern void queue_pass_on(Queue *queue, int group);

/*
 * This backend waits for news, until queue_unwait(), a wake-up or the end of
 * the backend.  False: too many wait already, so it must look by itself.
 */
extern bool queue_wait(Queue *queue, int group);
extern void queue_unwait(Queue *queue, int group);

/*
 * Tells all waiters that the session of a node of this database ended, and
 * wakes them all: the first to wake may be that node's other session.
 */
extern void queue_node_ended(void);

/* How often a node's session ended; a change is news. */
extern uint32 queue_nodes_ended(Queue *queue);

#endif							/* TWT_QUEUE_H */
