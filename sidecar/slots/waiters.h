/*-------------------------------------------------------------------------
 *
 * waiters.h
 *		Waiters for a slot of one limit, in priority order, then by age.
 *
 *		from: limit.h		to: column.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_WAITERS_H
#define TWT_WAITERS_H

#include "base/heap.h"

typedef struct Limit Limit;
typedef struct SlotWaiter SlotWaiter;

/*
 * Embedded in the struct that waits.  limit starts as NULL; waiters.c sets
 * place.
 */
struct SlotWaiter
{
	Limit	   *limit;			/* the limit at which it waits; NULL: none */
	Limit	   *wants;			/* the limit to book */
	int			place;			/* position in the heap of waiters */
	int			priority;		/* lower values wake first */
	uint64		sequence;		/* then lower values, that is older waiters */

	/* Called after the waiter stopped waiting.  It may book, free and wait. */
	void		(*wake) (SlotWaiter *waiter);
};

/* A Heap of SlotWaiter. */
extern void waiters_init(Heap *waiters);
extern void waiters_add(Heap *waiters, SlotWaiter *waiter, Limit *limit);
extern void waiters_remove(Heap *waiters, SlotWaiter *waiter);
extern void waiters_wake_first(Heap *waiters);

#endif							/* TWT_WAITERS_H */
