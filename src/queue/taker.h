/*-------------------------------------------------------------------------
 *
 * taker.h
 *		The queues that this session takes triggers from.
 *
 *		from: queue.c			to: next_triggers.c
 *
 * A session joins a queue when it first asks for the bucket's triggers, and
 * leaves all its queues when it ends or names other types that it handles.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TAKER_H
#define TWT_TAKER_H

#include "common/trigger.h"

/* One queue of this session. */
typedef struct Taker Taker;

/*
 * The taker of a bucket.  NULL: all queues are in use, so notifications carry
 * the bucket's triggers.
 */
extern Taker *taker_find(const char *bucket);

/*
 * The next trigger that this session handles, or that nobody handles: the
 * client says so in its log.  Triggers for others are handed on.  Each look at
 * the queue takes 1 from *looks; false: the queue is empty, or *looks is 0.
 */
extern bool taker_pop(Taker *taker, TaskTrigger *trigger, int *looks);

/* Whether a sweep was asked for, or some node's session ended, since the last call. */
extern bool taker_take_sweep(Taker *taker);
extern bool taker_take_ended(Taker *taker);

/* A wake-up sets this process's latch between the two. */
extern void taker_wait(Taker *taker);
extern void taker_unwait(Taker *taker);

/* Stops all waiting, and hands on a wake-up on which we no longer act. */
extern void takers_stop(void);

/* Wakes others for the triggers that this session leaves in the queue. */
extern void taker_pass_on(Taker *taker);

#endif							/* TWT_TAKER_H */
