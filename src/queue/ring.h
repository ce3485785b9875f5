/*-------------------------------------------------------------------------
 *
 * ring.h
 *		A bounded queue of triggers in shared memory.
 *
 *		from: queue.c, groups.c
 *
 * Any number of processes push and pop, and none waits for another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_RING_H
#define TWT_RING_H

#include "port/atomics.h"

#include "common/trigger.h"

typedef struct RingCell
{
	pg_atomic_uint64 turn;
	TaskTrigger trigger;
} RingCell;

/* In shared memory; opaque to all but ring.c. */
typedef struct Ring
{
	uint64		mask;
	RingCell   *cells;
	char		pad1[PG_CACHE_LINE_SIZE];
	pg_atomic_uint64 tail;		/* next push */
	char		pad2[PG_CACHE_LINE_SIZE];
	pg_atomic_uint64 head;		/* next pop */
	char		pad3[PG_CACHE_LINE_SIZE];
} Ring;

/*
 * Makes an empty ring over that many cells, a power of two; nobody uses it
 * yet.
 */
extern void ring_init(Ring *ring, RingCell *cells, uint64 ncells);

/* False when it is full.  Never fails otherwise, and may be called at commit. */
extern bool ring_push(Ring *ring, const TaskTrigger *trigger);

/* False when it is empty. */
extern bool ring_pop(Ring *ring, TaskTrigger *trigger);

/* Whether ring_pop() would give something; and how many triggers are in it. */
extern bool ring_has_news(Ring *ring);
extern uint64 ring_waiting(Ring *ring);

#endif							/* TWT_RING_H */
