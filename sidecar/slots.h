/*-------------------------------------------------------------------------
 *
 * slots.h
 *		How many tasks may run at once: limits, booked before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 * Limits form a tree: a slot of a handler is also a slot of the node.  A
 * slot is booked on the whole way up or not at all, and freed exactly once.
 *
 * Who finds a limit full waits at that limit, the most urgent and then the
 * oldest first.  Each freed slot wakes one waiter at every limit on its way
 * up: a freed slot reaches whoever shares it, whichever table it is in.
 *
 * To be woken is a turn to book, not a slot.  Who cannot use its turn hands
 * it on: slots_wait() does that for who is refused by a lower limit than the
 * one that woke it, slots_yield() for who no longer wants to book.
 *
 * Invariants
 *	- 0 <= used <= max at every limit (used may be above max only after the
 *	  limit was lowered while in use);
 *	- a waiter at a limit that has room has somebody before it who was woken
 *	  for each free slot, and has not yet booked or been refused there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SLOTS_H
#define TWT_SLOTS_H

typedef struct Limit Limit;
typedef struct SlotWaiter SlotWaiter;

/* Embedded in whatever waits; limit starts as NULL, place is ours. */
struct SlotWaiter
{
	Limit	   *limit;			/* where it waits, NULL: nowhere */
	int			place;			/* among the waiters there */
	int			priority;		/* 0 first */
	uint64		sequence;		/* then the lowest */

	/* It waits no longer.  May book, free and wait. */
	void		(*wake) (SlotWaiter *waiter);
};

/* max 0 or less: no limit of its own.  parent NULL: a root. */
extern Limit *limit_new(const char *name, int max, Limit *parent);

/* Nobody waits, nothing is booked, no limit is left below it. */
extern void limit_free(Limit *limit);

extern const char *limit_name(const Limit *limit);
extern int	limit_used(const Limit *limit);
extern int	limit_max(const Limit *limit);

/* Changes the limit; when that makes room, wakes its waiters. */
extern void limit_set_max(Limit *limit, int max);

/* Books one slot on limit and all above it.  Returns NULL when booked, else
 * the lowest limit that is full, and nothing is booked. */
extern Limit *slots_book(Limit *limit) MUSTCHECK;

/* Gives one slot back on the whole way up and wakes waiters. */
extern void slots_free(Limit *limit);

/*
 * Waits at the full limit that slots_book() named; limits above it that have
 * room wake somebody else.  The waiter's priority and sequence may only be
 * changed through slots_unwait() and slots_wait().
 */
extern void slots_wait(Limit *limit, SlotWaiter *waiter);

/* Stops waiting, without being woken. */
extern void slots_unwait(SlotWaiter *waiter);

/*
 * For whoever wanted to book limit and was woken, or stopped waiting, and
 * will not ask again: wakes one waiter at each limit on the way up that has
 * room.
 */
extern void slots_yield(Limit *limit);

#endif							/* TWT_SLOTS_H */
