/*-------------------------------------------------------------------------
 *
 * slots.h
 *		How many tasks may run at once, and how often one may start: limits,
 *		booked before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 * Limits form a tree: a slot of a handler is also a slot of the node.  A limit
 * may also have limits across, outside its own line: a type has a limit of its
 * own, its handler's and its bucket's limits across, and above it the limits
 * of the database.  A slot is booked on the whole way up or not at all, and
 * freed exactly once.
 *
 * A caller that finds a limit full waits there.  Waiters wake in priority
 * order, then by age.  Each freed slot wakes one waiter at every limit on its
 * way up.  A waiter that books wakes the next one where there is more room.
 * So a freed slot reaches every table that shares it.
 *
 * Waking a waiter does not reserve a slot; the waiter may try to book one.  If
 * it cannot, it wakes the next waiter: slots_wait() does that for a waiter
 * that another limit refused, slots_yield() for one that no longer wants to
 * book.
 *
 * A shared limit counts together with other nodes (offers.h).  This file has
 * only this node's view of it: the slots in use here, and whether the database
 * has refused more (then the limit is closed).  A slot that is freed there
 * wakes nobody here before the database has said whose turn it is.
 *
 * Invariants
 *	- 0 <= used <= max at every limit (used may be above max only after the
 *	  limit was lowered, or put above others, while in use);
 *	- a waiter at a limit that has room has somebody before it who was woken
 *	  and has not yet booked, or been refused by a limit that both have to
 *	  pass and waits there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SLOTS_H
#define TWT_SLOTS_H

typedef struct Slots Slots;
typedef struct Limit Limit;
typedef struct SlotWaiter SlotWaiter;

/* Embedded in the struct that waits; limit starts as NULL, place is ours. */
struct SlotWaiter
{
	Limit	   *limit;			/* where it waits, NULL: nowhere */
	Limit	   *wants;			/* the limit to book */
	int			place;			/* among the waiters there */
	int			priority;		/* 0 first */
	uint64		sequence;		/* then the lowest */

	/* The waiter no longer waits.  May book, free and wait. */
	void		(*wake) (SlotWaiter *waiter);
};

/* The figures of a limit. */
typedef struct LimitTerms
{
	int			max;			/* slots; below 0: no limit */
	int			stretch;		/* extra slots for urgent tasks */
	int			stretch_priority;	/* urgent: up to this priority */
	int			rate;			/* starts per period; 0: no limit */
	int64		period_us;
	int			burst;			/* most starts at one moment */
} LimitTerms;

/* Microseconds that never go back. */
typedef int64 (*SlotClock) (void *arg);

/* Shared by all limits that know of time or of other nodes. */
extern Slots *slots_new(SlotClock clock, void *arg);

/* All limits are gone already. */
extern void slots_destroy(Slots *slots);

/* The next time to call slots_tick(), by the clock; -1: none. */
extern int64 slots_next_us(const Slots *slots);

/* Wakes the waiters whose time has come. */
extern void slots_tick(Slots *slots);

/* max 0 or less: the limit itself does not limit.  parent NULL: a root. */
extern Limit *limit_new(const char *name, int max, Limit *parent);

/* Limits below it share its slots. */
extern Limit *limit_new_root(Slots *slots, const char *name, int max);

/* Nobody waits, nothing is booked, and no limit is left below it. */
extern void limit_free(Limit *limit);

extern const char *limit_name(const Limit *limit);
extern int	limit_used(const Limit *limit);
extern int	limit_max(const Limit *limit);
extern bool limit_has_waiters(const Limit *limit);

/* Changes the limit, and wakes its waiters if that makes room. */
extern void limit_set_max(Limit *limit, int max);
extern void limit_set_terms(Limit *limit, const LimitTerms *terms);

/* Whether the limit's rate allows its whole burst now. */
extern bool limit_is_rested(const Limit *limit);

/*
 * Moves the limit to another place in the tree, with its slots in use.  The
 * caller must limit_wake() the limits above if their waiters have to be asked
 * again.
 */
extern void limit_set_parent(Limit *limit, Limit *parent);

/* Adds a limit outside the line; nothing may be booked yet. */
#define LIMITS_ACROSS 2
extern void limit_add_across(Limit *limit, Limit *across);

/* Keeps a limit that others may free: see limit_on_unused(). */
extern void limit_keep(Limit *limit);
extern void limit_release(Limit *limit);

/*
 * Calls fn(arg, limit) when nobody keeps the limit any more and nothing is
 * booked; fn may free the limit.
 */
extern void limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit),
							void *arg);
extern bool limit_is_unused(const Limit *limit);

/* Wakes all waiters of the limit, whether there is room or not. */
extern void limit_wake(Limit *limit);

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

/* ---- shared limits ---- */

extern void limit_set_shared(Limit *limit);

/* Whether the limit is shared, or one above it is. */
extern bool limit_is_shared(const Limit *limit);
extern bool slots_are_shared(const Limit *limit);

/*
 * The database refused a slot of that limit.  The limit closes for again_us;
 * with 0, until it is opened, offered, or time to try with one task.
 */
extern void limit_refuse(Limit *limit, int64 again_us);

/*
 * The database granted a slot: the limit opens; or all limits on the way up
 * do.
 */
extern void limit_grant(Limit *limit);
extern void slots_grant(Limit *limit);

/*
 * The database freed that many slots for this node.  We try one more than
 * that: a refusal tells the database that we wait for the next one.  If nobody
 * waits here, a waiter may come whose refusal is on its way.  Otherwise, if
 * the database told us because we wait, the caller hands the turns on.  False:
 * the turns are of no use here, and the caller has to hand them on.
 */
extern bool limit_offer(Limit *limit, int turns, bool is_told);

/*
 * Collects the slots freed at shared limits since the last call.  fn gets each
 * limit, the number of slots, and whether somebody waits for the limit here.
 */
extern void slots_take_freed(Slots *slots,
							 void (*fn) (void *arg, Limit *limit, int freed,
										 bool is_wanted),
							 void *arg);
extern bool slots_has_freed(const Slots *slots);

#endif							/* TWT_SLOTS_H */
