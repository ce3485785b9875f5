/*-------------------------------------------------------------------------
 *
 * slots.h
 *		Books slots at a limit and all limits above it, before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 * A slot is booked at a limit and all limits above and across (limit.h), or at
 * none.  It is freed exactly once.
 *
 * Each freed slot wakes one waiter at every limit on its way up.  A waiter
 * that books wakes the next waiter at each limit with more room.  So a freed
 * slot reaches every table that shares the limit.
 *
 * Waking a waiter does not reserve a slot; the waiter may try to book one.  If
 * it cannot, it wakes the next waiter: slots_wait() does that for a waiter
 * that another limit refused, slots_yield() for one that no longer wants to
 * book.
 *
 * Invariant
 *	- while a waiter waits at a limit with room, an earlier one was woken and has
 *	  not booked yet, or waits at another limit that both need.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SLOTS_H
#define TWT_SLOTS_H

#include "slots/limit.h"

/*
 * Books one slot for that priority at limit and all limits above and across.
 * Returns NULL when booked.  Otherwise books nothing and returns the first
 * full limit on the way up.
 */
extern Limit *slots_book(Limit *limit, int priority) MUSTCHECK;

/*
 * The number of slots that could be booked now, if no rate stops it before;
 * INT_MAX: no limit.
 */
extern int	slots_room(const Limit *limit, int priority);

/*
 * slots_start(): the task of the slot starts now, which counts for the rates.
 * slots_cancel(): the task does not start, and the slot is given back.
 */
extern void slots_start(Limit *limit);
extern void slots_cancel(Limit *limit);

/*
 * Like slots_cancel(), after a refusal by the database, which has no slot to
 * free.
 */
extern void slots_undo(Limit *limit);

/* Gives one slot back on the whole way up, and wakes waiters. */
extern void slots_free(Limit *limit);

/*
 * slots_free() in two steps: slots_free_here() at once, for limits counted
 * here; slots_free_shared() when the database has the outcome, for shared
 * limits.
 */
extern void slots_free_here(Limit *limit);
extern void slots_free_shared(Limit *limit);

/*
 * Waits at the full limit that slots_book() returned.  Other limits on the way
 * up that have room wake another waiter.  Change priority and sequence of a
 * waiter only between slots_unwait() and slots_wait().
 */
extern void slots_wait(Limit *limit, SlotWaiter *waiter);

/* Stops waiting, without being woken. */
extern void slots_unwait(SlotWaiter *waiter);

/*
 * Call it for a waiter that was woken, or stopped waiting, and will not book.
 * Wakes one waiter at each limit on the way up that has room.
 */
extern void slots_yield(Limit *limit);

/* Whether this limit or one above or across is shared with other nodes. */
extern bool slots_are_shared(const Limit *limit);

/* The database granted the slot: all shared limits on the way up open. */
extern void slots_grant(Limit *limit);

#endif							/* TWT_SLOTS_H */
