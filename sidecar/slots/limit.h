/*-------------------------------------------------------------------------
 *
 * limit.h
 *		One limit: how many tasks may run at once, and how often one may start.
 *
 *		from: type_limits.h, handler.h		to: slots.h
 *
 * Limits form a tree: a slot of a handler is also a slot of the node.  A limit
 * may also have limits across, outside its own line.  A type has its own
 * limit, the limits of its handler and its bucket across, and the limits of
 * the database above.  slots.h books a slot at all of them.
 *
 * A shared limit also counts tasks of other nodes (offers.h).  This file has
 * only this node's view of it: the slots in use here, and whether the database
 * has refused more (turns.h).  A freed slot of a shared limit wakes no waiter
 * here until the database has decided which node is next.
 *
 * Invariant
 *	- 0 <= used <= max at every limit (used may be above max only after the
 *	  limit was lowered, or put above others, while in use).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_H
#define TWT_LIMIT_H

#include "base/heap.h"
#include "slots/limits.h"
#include "slots/turns.h"

typedef struct Limit Limit;
typedef struct SlotWaiter SlotWaiter;

/*
 * Embedded in the struct that waits.  limit starts as NULL; limit.c sets
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

/* The numbers that define a limit. */
typedef struct LimitTerms
{
	int			max;			/* slots; below 0: no limit */
	int			stretch;		/* extra slots for urgent tasks */
	int			stretch_priority;	/* tasks up to this priority are urgent */
	int			rate;			/* starts per period; 0: no limit */
	int64		period_us;
	int			burst;			/* most starts at once */
} LimitTerms;

/* ---- all limits with a rate or shared with other nodes ---- */

/* Wakes waiters of limits that got room by time. */
extern void limits_tick(Limits *limits);

/*
 * Gets a shared limit, the number of freed slots, and whether a waiter here
 * wants one.
 */
typedef void (*LimitFreed) (void *arg, Limit *limit, int freed, bool is_wanted);

/* Calls fn for each shared limit that had slots freed since the last call. */
extern void limits_take_freed(Limits *limits, LimitFreed fn, void *arg);

/* ---- a limit ---- */

/* max 0 or less: no limit of its own.  parent NULL: a root. */
extern Limit *limit_new(const char *name, int max, Limit *parent);

/* A root that belongs to limits, as all limits below it do. */
extern Limit *limit_new_root(Limits *limits, const char *name, int max);

/* The limit must have no waiters, no booked slots, and no limits below it. */
extern void limit_free(Limit *limit);

extern const char *limit_name(const Limit *limit);
extern int	limit_used(const Limit *limit);

/* Changes the limit, and wakes its waiters if that makes room. */
extern void limit_set_max(Limit *limit, int max);
extern void limit_set_terms(Limit *limit, const LimitTerms *terms);

/* Whether the limit's rate allows its whole burst now. */
extern bool limit_is_rested(const Limit *limit);

/*
 * Moves the limit to another place in the tree, with its slots in use.  The
 * caller must limit_wake() the limits above if their waiters should try again.
 */
extern void limit_set_parent(Limit *limit, Limit *parent);
extern Limit *limit_parent(const Limit *limit);

/* Adds a limit across.  No slot may be booked yet. */
#define LIMITS_ACROSS 2
extern void limit_add_across(Limit *limit, Limit *across);

/* The limit across number i; NULL: there is none. */
extern Limit *limit_across(const Limit *limit, int i);

/* Count a use of the limit, so that it is not freed: see limit_on_unused(). */
extern void limit_keep(Limit *limit);
extern void limit_release(Limit *limit);

/*
 * Calls fn(arg, limit) when the limit is no longer kept and has no booked
 * slots.  fn may free the limit.
 */
extern void limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit),
							void *arg);

/* Wakes all waiters of the limit, whether there is room or not. */
extern void limit_wake(Limit *limit);

/* ---- shared limits ---- */

extern void limit_set_shared(Limit *limit);
extern bool limit_is_shared(const Limit *limit);

/*
 * The database refused a slot of the limit, which closes for again_us.  With 0
 * it stays closed until a grant or an offer, and now and then one task tries.
 */
extern void limit_refuse(Limit *limit, int64 again_us);

/* The database granted a slot: the limit opens. */
extern void limit_grant(Limit *limit);

/*
 * The database offers this number of slots to this node.  We try one more task
 * than that: its refusal tells the database that we wait for the next slot.
 * Without a waiter we keep the turns while grabs are under way, since one may
 * be refused.  False: this node cannot use the turns, and the caller hands
 * them on.
 */
extern bool limit_offer(Limit *limit, int turns, TurnsSource source);

/*
 * A task that had a turn here waits at another limit.  If no other waits here, the turns
 * go to other nodes.  With one that waits, two nodes could tell each other without end.
 */
extern void limit_hand_on(Limit *limit);

/* ---- a limit as one step of slots.c ---- */

/* The number of tasks with room now; INT_MAX: no limit. */
extern int	limit_room(const Limit *limit, int priority);
extern void limit_book(Limit *limit);

/* The grab has ended: the booked slot starts, or does not. */
extern void limit_start(Limit *limit);
extern void limit_end_grab(Limit *limit);

/*
 * A slot is freed here, and later in the database.  limit_forget_shared()
 * replaces the second step if the database never gave the slot.
 */
extern void limit_free_here(Limit *limit);
extern void limit_free_shared(Limit *limit);
extern void limit_forget_shared(Limit *limit);

/*
 * Calls the function of limit_on_unused() if the limit is unused.  The limit
 * may be gone afterwards.
 */
extern void limit_tell_unused(Limit *limit);

/* Wakes the first waiter if there is room for its task. */
extern void limit_yield(Limit *limit);

extern void limit_add_waiter(Limit *limit, SlotWaiter *waiter);
extern void limit_remove_waiter(SlotWaiter *waiter);

#endif							/* TWT_LIMIT_H */
