/*-------------------------------------------------------------------------
 *
 * slots.h
 *		How many tasks may run at once, and how often one may start: limits,
 *		booked before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 * Limits form a tree: a slot of a handler is also a slot of the node.  A
 * limit may besides have limits across, outside of its own line: a type has a
 * limit of its own, its handler's and its bucket's across, and above it the
 * limits of the database.  A slot is booked on the whole way up or not at all, and
 * freed exactly once.
 *
 * Who finds a limit full waits at that limit, the most urgent and then the
 * oldest first.  Each freed slot wakes one waiter at every limit on its way
 * up, and who books wakes the next one where there is more room: a freed slot
 * reaches whoever shares it, whichever table it is in.
 *
 * To be woken is a turn to book, not a slot.  Who cannot use its turn hands
 * it on: slots_wait() does that for who is refused by another limit than the
 * one that woke it, slots_yield() for who no longer wants to book.
 *
 * A shared limit counts together with other nodes (shared.h).  Here it is
 * only what this node knows of it: what it uses itself, and whether the
 * database has refused more (then the limit is closed).  A slot that is freed
 * there wakes nobody here before the database has said whose turn it is.
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

/* Embedded in whatever waits; limit starts as NULL, place is ours. */
struct SlotWaiter
{
	Limit	   *limit;			/* where it waits, NULL: nowhere */
	Limit	   *wants;			/* what it wants to book */
	int			place;			/* among the waiters there */
	int			priority;		/* 0 first */
	uint64		sequence;		/* then the lowest */

	/* It waits no longer.  May book, free and wait. */
	void		(*wake) (SlotWaiter *waiter);
};

/* What a limit says. */
typedef struct LimitTerms
{
	int			max;			/* slots; below 0: no limit */
	int			stretch;		/* so many more for the urgent */
	int			stretch_priority;	/* those up to this priority */
	int			rate;			/* starts per period; 0: no limit */
	int64		period_us;
	int			burst;			/* starts at once at most */
} LimitTerms;

/* Microseconds that never go back. */
typedef int64 (*SlotClock) (void *arg);

/* What limits have in common that know of time or of other nodes. */
extern Slots *slots_new(SlotClock clock, void *arg);

/* No limit is left. */
extern void slots_destroy(Slots *slots);

/* The next time to call slots_tick(), by the clock; -1: none. */
extern int64 slots_next_us(const Slots *slots);

/* Wakes those whose time has come. */
extern void slots_tick(Slots *slots);

/* max 0 or less: no limit of its own.  parent NULL: a root. */
extern Limit *limit_new(const char *name, int max, Limit *parent);

/* Those below it get its slots as well. */
extern Limit *limit_new_root(Slots *slots, const char *name, int max);

/* Nobody waits, nothing is booked, no limit is left below it. */
extern void limit_free(Limit *limit);

extern const char *limit_name(const Limit *limit);
extern int	limit_used(const Limit *limit);
extern int	limit_max(const Limit *limit);
extern bool limit_has_waiters(const Limit *limit);

/* Changes the limit; when that makes room, wakes its waiters. */
extern void limit_set_max(Limit *limit, int max);
extern void limit_set_terms(Limit *limit, const LimitTerms *terms);

/* Whether all starts that its rate allows at once are to be had. */
extern bool limit_is_rested(const Limit *limit);

/*
 * Another place in the tree: what is used moves along.  Those who wait above
 * may have to be asked again: limit_wake() them.
 */
extern void limit_set_parent(Limit *limit, Limit *parent);

/* One more limit outside of its line; nothing may be booked yet. */
#define LIMITS_ACROSS 2
extern void limit_add_across(Limit *limit, Limit *across);

/* Whoever keeps a limit that others may free: see limit_on_unused(). */
extern void limit_keep(Limit *limit);
extern void limit_release(Limit *limit);

/*
 * Calls fn(arg, limit) when nobody keeps the limit any more and nothing is
 * booked; it may free the limit.
 */
extern void limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit),
							void *arg);
extern bool limit_is_unused(const Limit *limit);

/* Wakes all who wait there, whether there is room or not. */
extern void limit_wake(Limit *limit);

/*
 * Books one slot for that priority on limit and all above and across.
 * Returns NULL when booked, else a limit that is full, the lowest of its
 * line; nothing is booked then.
 */
extern Limit *slots_book(Limit *limit, int priority) MUSTCHECK;

/*
 * What was booked starts now, which counts for the rates; or it does not: the
 * slot is given back.
 */
extern void slots_start(Limit *limit);
extern void slots_cancel(Limit *limit);

/* The same when the database refused it: nothing was freed there. */
extern void slots_undo(Limit *limit);

/* Gives one slot back on the whole way up and wakes waiters. */
extern void slots_free(Limit *limit);

/*
 * The same in two steps: at once what is counted here, and when the database
 * knows it what is counted there.
 */
extern void slots_free_here(Limit *limit);
extern void slots_free_shared(Limit *limit);

/*
 * Waits at the full limit that slots_book() named; other limits on the
 * waiter's way that have room wake somebody else.  The waiter's priority and
 * sequence may only be changed through slots_unwait() and slots_wait().
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

/* ---- shared limits ---- */

extern void limit_set_shared(Limit *limit);

/* Whether the limit is shared, or one above it is. */
extern bool limit_is_shared(const Limit *limit);
extern bool slots_are_shared(const Limit *limit);

/*
 * The database refused a slot of that limit: it is closed for again_us, or,
 * with 0, until it is opened, offered, or time to try with one task.
 */
extern void limit_refuse(Limit *limit, int64 again_us);

/* It granted one: the limit is open; or all on the way up are. */
extern void limit_grant(Limit *limit);
extern void slots_grant(Limit *limit);

/*
 * So many slots were freed for this node.  One more than that is tried: if it
 * is refused, the database knows that we wait for the next one.  When nobody
 * waits here, somebody may come whose refusal is on its way; else, and when
 * we were told because we wait, the turns are handed on.  False: of no use
 * here, the caller has to hand them on.
 */
extern bool limit_offer(Limit *limit, int turns, bool is_told);

/*
 * Takes note of what was freed at shared limits since the last call: fn gets
 * each limit, how many slots, and whether somebody waits for it here.
 */
extern void slots_take_freed(Slots *slots,
							 void (*fn) (void *arg, Limit *limit, int freed,
										 bool is_wanted),
							 void *arg);
extern bool slots_has_freed(const Slots *slots);

#endif							/* TWT_SLOTS_H */
