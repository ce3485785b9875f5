/*-------------------------------------------------------------------------
 *
 * slots.h
 *		Slots of limits, booked before the grab, on the whole way up.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 * A slot is booked at a limit and at all limits above and across (limit.h), or
 * not at all.  It is freed exactly once.
 *
 * Each freed slot wakes one waiter at every limit on its way up.  A waiter
 * that books wakes the next one where there is more room.  So a freed slot
 * reaches every table that shares it.
 *
 * Waking a waiter does not reserve a slot; the waiter may try to book one.  If
 * it cannot, it wakes the next waiter: slots_wait() does that for a waiter
 * that another limit refused, slots_yield() for one that no longer wants to
 * book.
 *
 * Invariant
 *	- a waiter at a limit with room comes after one that was woken and has not
 *	  booked yet, or that waits at another limit which both have to pass.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SLOTS_H
#define TWT_SLOTS_H

#include "slots/limit.h"

/*
 * Books one slot for that priority at limit and at all limits above and
 * across.  Returns NULL when booked; otherwise books nothing and returns a
 * full limit, the lowest of its line.
 */
extern Limit *slots_book(Limit *limit, int priority) MUSTCHECK;

/*
 * slots_start(): the booked slot starts now, which counts for the rates.
 * slots_cancel(): it does not start, and the slot is given back.
 */
extern void slots_start(Limit *limit);
extern void slots_cancel(Limit *limit);

/* Like slots_cancel(), when the database refused: no slot was freed there. */
extern void slots_undo(Limit *limit);

/* Gives one slot back on the whole way up, and wakes waiters. */
extern void slots_free(Limit *limit);

/*
 * The same in two steps: slots_free_here() at once for limits counted here,
 * the other for limits counted in the database, once the database knows.
 */
extern void slots_free_here(Limit *limit);
extern void slots_free_shared(Limit *limit);

/*
 * Waits at the full limit that slots_book() returned.  Other limits on the
 * waiter's way that have room wake another waiter.  Change the waiter's
 * priority and sequence only between slots_unwait() and slots_wait().
 */
extern void slots_wait(Limit *limit, SlotWaiter *waiter);

/* Stops waiting, without being woken. */
extern void slots_unwait(SlotWaiter *waiter);

/*
 * For a waiter that was woken, or stopped waiting, and will not book: wakes
 * one waiter at each limit on the way up that has room.
 */
extern void slots_yield(Limit *limit);

/* Whether other nodes count the slot too, at this limit or at one above. */
extern bool slots_are_shared(const Limit *limit);

/* The database granted the slot: all shared limits on the way up open. */
extern void slots_grant(Limit *limit);

#endif							/* TWT_SLOTS_H */
