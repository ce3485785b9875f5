/*-------------------------------------------------------------------------
 *
 * limit.h
 *		One limit: how many tasks may run at once, and how often one may start.
 *
 *		from: type_limits.h, handler.h		to: slots.h
 *
 * Limits form a tree: a slot of a handler is also a slot of the node.  A limit
 * may also have limits across, outside its own line: a type has a limit of its
 * own, its handler's and its bucket's limits across, and above it the limits
 * of the database.  slots.h books along the whole way up.
 *
 * A shared limit counts together with other nodes (offers.h).  This file has
 * only this node's view of it: the slots in use here, and whether the database
 * has refused more (turns.h).  A slot that is freed there wakes no waiter
 * here before the database has said whose turn it is.
 *
 * Invariant
 *	- 0 <= used <= max at every limit (used may be above max only after the
 *	  limit was lowered, or put above others, while in use).
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_LIMIT_H
#define TWT_LIMIT_H

#include "slots/turns.h"
#include "slots/waiters.h"

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

/* ---- all limits that know of time or of other nodes ---- */

typedef struct Limits Limits;

/* Microseconds that never go back. */
typedef int64 (*LimitClock) (void *arg);

extern Limits *limits_new(LimitClock clock, void *arg);

/* Each limit is gone already. */
extern void limits_free(Limits *limits);

/* The next time to call limits_tick(), by the clock; -1: none. */
extern int64 limits_next_us(const Limits *limits);

/* Wakes the waiters whose time has come. */
extern void limits_tick(Limits *limits);

/* A shared limit, the slots freed, and whether a waiter here wants one. */
typedef void (*LimitFreed) (void *arg, Limit *limit, int freed, bool is_wanted);

/* Calls fn for each shared limit that had slots freed since the last call. */
extern void limits_take_freed(Limits *limits, LimitFreed fn, void *arg);

/* ---- a limit ---- */

/* max 0 or less: the limit itself does not limit.  parent NULL: a root. */
extern Limit *limit_new(const char *name, int max, Limit *parent);

/* Limits below it belong to the same Limits. */
extern Limit *limit_new_root(Limits *limits, const char *name, int max);

/* Nobody waits, nothing is booked, and no limit is left below it. */
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
 * caller must limit_wake() the limits above if their waiters have to be asked
 * again.
 */
extern void limit_set_parent(Limit *limit, Limit *parent);
extern Limit *limit_parent(const Limit *limit);

/* Adds a limit outside the line; nothing may be booked yet. */
#define LIMITS_ACROSS 2
extern void limit_add_across(Limit *limit, Limit *across);

/* NULL: there are not so many. */
extern Limit *limit_across(const Limit *limit, int i);

/* Keeps a limit that others may free: see limit_on_unused(). */
extern void limit_keep(Limit *limit);
extern void limit_release(Limit *limit);

/*
 * Calls fn(arg, limit) when the limit is no longer kept and nothing is booked;
 * fn may free the limit.
 */
extern void limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit),
							void *arg);

/* Wakes all waiters of the limit, whether there is room or not. */
extern void limit_wake(Limit *limit);

/* ---- shared limits ---- */

extern void limit_set_shared(Limit *limit);
extern bool limit_is_shared(const Limit *limit);

/*
 * The database refused a slot of that limit.  The limit closes for again_us;
 * with 0, until it is opened, offered, or time to try with one task.
 */
extern void limit_refuse(Limit *limit, int64 again_us);

/* The database granted a slot: the limit opens. */
extern void limit_grant(Limit *limit);

/*
 * The database freed that many slots for this node.  We try one more than
 * that: a refusal tells the database that we wait for the next one.  Without a
 * waiter we keep the turns while grabs are under way, since one may be refused.
 * False: the turns are of no use here, and the caller has to hand them on.
 */
extern bool limit_offer(Limit *limit, int turns, TurnsSource source);

/* ---- one step of slots.c ---- */

extern bool limit_has_room(const Limit *limit, int priority);
extern void limit_book(Limit *limit);

/* The grab has ended: the booked slot starts, or does not. */
extern void limit_start(Limit *limit);
extern void limit_end_grab(Limit *limit);

/*
 * A slot is free again, in this order: here, then in the database; or the
 * database never gave it.
 */
extern void limit_free_here(Limit *limit);
extern void limit_free_shared(Limit *limit);
extern void limit_forget_shared(Limit *limit);

/* Calls limit_on_unused()'s function if it is time; the limit may be gone. */
extern void limit_tell_unused(Limit *limit);

/* Wakes the first waiter if there is room for it. */
extern void limit_yield(Limit *limit);

extern void limit_add_waiter(Limit *limit, SlotWaiter *waiter);
extern void limit_remove_waiter(SlotWaiter *waiter);

#endif							/* TWT_LIMIT_H */
