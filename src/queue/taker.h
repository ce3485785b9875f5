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
 * The taker of a bucket, made on first use.  NULL: all queues are in use, so
 * notifications carry the bucket's triggers.
 */
extern Taker *taker_find(const char *bucket);

/*
 * Returns the next trigger for this session, and hands on triggers that only
 * other sessions handle.  A trigger that no session handles counts as ours:
 * the client logs it.  Each trigger popped takes 1 from *looks.  False: no
 * more, or *looks is 0.
 */
extern bool taker_pop(Taker *taker, TaskTrigger *trigger, int *looks);

/* Whether a sweep was asked for, or some node's session ended, since the last call. */
extern bool taker_take_sweep(Taker *taker);
extern bool taker_take_ended(Taker *taker);

/* Between these two calls, a wake-up sets this process's latch. */
extern void taker_wait(Taker *taker);
extern void taker_unwait(Taker *taker);

/* Stops all waiting, and passes on a wake-up that we no longer act on. */
extern void takers_stop(void);

/* Wakes other sessions for the triggers that this one leaves in the queue. */
extern void taker_pass_on(Taker *taker);

#endif							/* TWT_TAKER_H */
