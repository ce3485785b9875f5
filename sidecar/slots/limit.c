/*-------------------------------------------------------------------------
 *
 * limit.c
 *		One limit: how many tasks may run at once, and how often one may start.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <limits.h>

#include "slots/limit.h"
#include "slots/rate.h"

struct Limit
{
	LimitsEntry entry;			/* first: limits.h gives it back */
	char	   *name;
	Limits	   *all;			/* NULL: the limit has no clock */
	LimitTerms	terms;
	int			used;			/* booked and not freed here */
	int			held;			/* booked and not freed in the database */
	Limit	   *parent;
	Limit	   *across[LIMITS_ACROSS];	/* unused entries are NULL, at the end */
	Heap		waiters;		/* SlotWaiters */
	int			refs;
	void		(*on_unused) (void *arg, Limit *limit);
	void	   *unused_arg;
	Rate		rate;			/* pending: booked, not yet started */
	bool		is_shared;
	Turns		turns;			/* for a shared limit */
};

/* ---- time ---- */

static int64
now_us(const Limit *limit)
{
	return limit->all == NULL ? 0 : limits_now_us(limit->all);
}

/* The time for the limit's rate; without a rate the clock is not read. */
static int64
rate_now_us(const Limit *limit)
{
	return limit->rate.step_ns == 0 ? 0 : now_us(limit);
}

static bool
has_start_at(const Limit *limit, int64 now)
{
	return limit->rate.step_ns == 0 || rate_next_us(&limit->rate, now) <= now;
}

bool
limit_is_rested(const Limit *limit)
{
	return rate_is_rested(&limit->rate, now_us(limit));
}

/* ---- waiting ---- */

static bool
waits_before(const void *a, const void *b)
{
	const SlotWaiter *left = a;
	const SlotWaiter *right = b;

	if (left->priority != right->priority)
		return left->priority < right->priority;
	return left->sequence < right->sequence;
}

static void
set_waiter_place(void *item, int place)
{
	((SlotWaiter *) item)->place = place;
}

static int
room_at(const Limit *limit, int priority, int64 now)
{
	const LimitTerms *terms = &limit->terms;
	int64		room = terms->max;

	if (turns_are_out(&limit->turns) || !has_start_at(limit, now))
		return 0;
	if (room < 0)
		return INT_MAX;
	if (priority <= terms->stretch_priority)
		room += terms->stretch;
	room -= limit->is_shared ? limit->held : limit->used;
	return (int) Max(Min(room, INT_MAX), 0);
}

int
limit_room(const Limit *limit, int priority)
{
	return room_at(limit, priority, rate_now_us(limit));
}

/* When time alone may make room for the waiters; LIMITS_NEVER if it cannot. */
static int64
next_time(const Limit *limit, int64 now)
{
	if (limit->waiters.count == 0)
		return LIMITS_NEVER;
	if (turns_are_out(&limit->turns))
		return limit->turns.open_us;
	if (!has_start_at(limit, now))
		return rate_next_us(&limit->rate, now);
	return LIMITS_NEVER;
}

static void
set_timer_at(Limit *limit, int64 now)
{
	if (limit->all != NULL)
		limits_set_time(limit->all, &limit->entry, next_time(limit, now));
}

static void
set_timer(Limit *limit)
{
	set_timer_at(limit, rate_now_us(limit));
}

/* Removes the waiter before it calls wake(), which may wait again. */
static void
wake_first(Limit *limit)
{
	SlotWaiter *waiter = heap_first(&limit->waiters);

	heap_remove(&limit->waiters, waiter->place);
	waiter->limit = NULL;
	waiter->wake(waiter);
}

/*
 * A woken waiter that books a slot wakes the next one while there is room.
 * Both checks below use the same time: a start that came due between them
 * would wake no waiter and set no timer.
 */
void
limit_yield(Limit *limit)
{
	const SlotWaiter *first = heap_first(&limit->waiters);
	int64		now;

	if (first == NULL)
		return;
	now = rate_now_us(limit);
	if (room_at(limit, first->priority, now) > 0)
		wake_first(limit);
	set_timer_at(limit, now);
}

void
limit_wake(Limit *limit)
{
	int			n = limit->waiters.count;

	while (n-- > 0 && limit->waiters.count > 0)
		wake_first(limit);
	set_timer(limit);
}

void
limits_tick(Limits *limits)
{
	int64		now = limits_now_us(limits);
	LimitsEntry *entry;

	while ((entry = limits_due(limits, now)) != NULL)
	{
		Limit	   *limit = (Limit *) entry;

		turns_tick(&limit->turns, now);
		limit_yield(limit);
		/* do not loop forever if the clock stands still */
		if (entry->next_us <= now)
			break;
	}
}

/* ---- limits ---- */

Limit *
limit_new(const char *name, int max, Limit *parent)
{
	Limit	   *limit = palloc0(sizeof(Limit));

	limit->name = pstrdup(name);
	limit->all = parent == NULL ? NULL : parent->all;
	limit->terms.max = max > 0 ? max : -1;
	limit->parent = parent;
	limits_entry_init(&limit->entry);
	turns_init(&limit->turns);
	heap_init(&limit->waiters, waits_before, set_waiter_place);
	return limit;
}

Limit *
limit_new_root(Limits *limits, const char *name, int max)
{
	Limit	   *limit = limit_new(name, max, NULL);

	limit->all = limits;
	return limit;
}

void
limit_free(Limit *limit)
{
	Assert(limit->used == 0 && limit->held == 0);
	Assert(limit->waiters.count == 0);
	limits_forget(limit->all, &limit->entry);
	heap_clear(&limit->waiters);
	pfree(limit->name);
	pfree(limit);
}

const char *
limit_name(const Limit *limit)
{
	return limit->name;
}

int
limit_used(const Limit *limit)
{
	return limit->used;
}

void
limit_set_max(Limit *limit, int max)
{
	limit->terms.max = max > 0 ? max : -1;
	limit_yield(limit);
}

void
limit_set_terms(Limit *limit, const LimitTerms *terms)
{
	limit->terms = *terms;
	rate_set(&limit->rate, terms->rate, terms->period_us, terms->burst,
			 now_us(limit));
	limit_yield(limit);
}

/* Adds (sign 1) or subtracts (-1) the limit's slots at all limits above. */
static void
count_above(Limit *above, const Limit *limit, int sign)
{
	for (; above != NULL; above = above->parent)
	{
		above->used += sign * limit->used;
		above->held += sign * limit->held;
		above->rate.pending += sign * limit->rate.pending;
	}
}

void
limit_set_parent(Limit *limit, Limit *parent)
{
	count_above(limit->parent, limit, -1);
	limit->parent = parent;
	count_above(parent, limit, 1);
}

Limit *
limit_parent(const Limit *limit)
{
	return limit->parent;
}

void
limit_add_across(Limit *limit, Limit *across)
{
	int			n = 0;

	Assert(limit->used == 0);
	while (limit->across[n] != NULL)
		n++;
	Assert(n < LIMITS_ACROSS);
	limit->across[n] = across;
}

Limit *
limit_across(const Limit *limit, int i)
{
	return i < LIMITS_ACROSS ? limit->across[i] : NULL;
}

void
limit_keep(Limit *limit)
{
	limit->refs++;
}

static bool
is_unused(const Limit *limit)
{
	return limit->refs == 0 && limit->used == 0 && limit->held == 0 &&
		limit->entry.freed == 0;
}

void
limit_tell_unused(Limit *limit)
{
	if (limit->on_unused != NULL && is_unused(limit))
		limit->on_unused(limit->unused_arg, limit);
}

void
limit_release(Limit *limit)
{
	limit->refs--;
	limit_tell_unused(limit);
}

void
limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit), void *arg)
{
	limit->on_unused = fn;
	limit->unused_arg = arg;
}

/* ---- a limit as one step of slots.c ---- */

void
limit_book(Limit *limit)
{
	limit->used++;
	limit->held++;
	limit->rate.pending++;
	turns_use(&limit->turns);
}

void
limit_end_grab(Limit *limit)
{
	int			freed = turns_end_grab(&limit->turns);

	limit->rate.pending--;
	if (freed > 0)
		limits_add_freed(limit->all, &limit->entry, freed);
}

void
limit_start(Limit *limit)
{
	limit_end_grab(limit);
	rate_start(&limit->rate, rate_now_us(limit));
}

void
limit_free_here(Limit *limit)
{
	Assert(limit->used > 0);
	limit->used--;
}

void
limit_forget_shared(Limit *limit)
{
	Assert(limit->held > limit->used);
	limit->held--;
}

/* Closes the limit for waiters here until the database decides who is next. */
void
limit_free_shared(Limit *limit)
{
	limit_forget_shared(limit);
	if (!limit->is_shared)
		return;
	limits_add_freed(limit->all, &limit->entry, 1);
	if (limit->waiters.count > 0)
		turns_close(&limit->turns, now_us(limit));
	set_timer(limit);
}

void
limit_add_waiter(Limit *limit, SlotWaiter *waiter)
{
	Assert(limit->rate.step_ns > 0 || limit_room(limit, waiter->priority) == 0);
	Assert(waiter->limit == NULL);
	waiter->limit = limit;
	heap_push(&limit->waiters, waiter);
}

void
limit_remove_waiter(SlotWaiter *waiter)
{
	Limit	   *limit = waiter->limit;

	heap_remove(&limit->waiters, waiter->place);
	waiter->limit = NULL;
	set_timer(limit);
}

/* ---- shared limits ---- */

void
limit_set_shared(Limit *limit)
{
	limit->is_shared = true;
}

bool
limit_is_shared(const Limit *limit)
{
	return limit->is_shared;
}

void
limit_refuse(Limit *limit, int64 again_us)
{
	turns_refuse(&limit->turns, again_us, now_us(limit));
	set_timer(limit);
}

void
limit_grant(Limit *limit)
{
	if (turns_grant(&limit->turns))
		limit_yield(limit);
}

bool
limit_offer(Limit *limit, int turns, TurnsSource source)
{
	TurnsOffered offered = turns_offer(&limit->turns, turns, source,
									   limit->waiters.count, limit->rate.pending);

	if (offered == TURNS_TAKEN)
		limit_yield(limit);
	return offered != TURNS_USELESS;
}

void
limit_hand_on(Limit *limit)
{
	int			n = limit->waiters.count > 0 ? 0 : turns_hand_on(&limit->turns);

	if (n > 0)
		limits_add_freed(limit->all, &limit->entry, n);
}

void
limits_take_freed(Limits *limits, LimitFreed fn, void *arg)
{
	int			freed;
	LimitsEntry *entry;

	while ((entry = limits_pop_freed(limits, &freed)) != NULL)
	{
		Limit	   *limit = (Limit *) entry;

		fn(arg, limit, freed, limit->waiters.count > 0);
		limit_tell_unused(limit);
	}
}
