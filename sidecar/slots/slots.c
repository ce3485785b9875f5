/*-------------------------------------------------------------------------
 *
 * slots.c
 *		How many tasks may run at once, and how often one may start: limits,
 *		booked before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/heap.h"
#include "slots/rate.h"
#include "slots/slots.h"
#include "slots/turns.h"

#define NEVER PG_INT64_MAX

struct Slots
{
	SlotClock	clock;
	void	   *arg;
	Heap		timed;			/* of Limit, the earliest first */
	dlist_head	freed;			/* of Limit */
};

struct Limit
{
	char	   *name;
	Slots	   *slots;			/* NULL: the limit knows nothing of time */
	LimitTerms	terms;
	int			used;			/* booked and not freed here */
	int			held;			/* booked and not freed in the database */
	Limit	   *parent;
	Limit	   *across[LIMITS_ACROSS];	/* the first entries are used */
	Heap		waiters;		/* of SlotWaiter */
	int			refs;
	void		(*on_unused) (void *arg, Limit *limit);
	void	   *unused_arg;
	Rate		rate;			/* pending: booked and not started */
	int64		next_us;		/* its place in slots->timed depends on this */
	int			place;
	bool		is_shared;
	Turns		turns;			/* of a shared limit */
	int			freed;			/* freed, and the database does not know yet */
	dlist_node	freed_node;
};

/* ---- time ---- */

static int64
now_us(const Limit *limit)
{
	return limit->slots == NULL ? 0 : limit->slots->clock(limit->slots->arg);
}

/* The time for the rate of that limit; a limit without a rate does not ask. */
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
has_room_at(const Limit *limit, int priority, int64 now)
{
	const LimitTerms *terms = &limit->terms;

	if (terms->max >= 0)
	{
		int			used = limit->is_shared ? limit->held : limit->used;
		int64		max = terms->max;

		if (priority <= terms->stretch_priority)
			max += terms->stretch;
		if (used >= max)
			return false;
	}
	return !turns_are_out(&limit->turns) && has_start_at(limit, now);
}

static bool
has_room(const Limit *limit, int priority)
{
	return has_room_at(limit, priority, rate_now_us(limit));
}

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

static bool
is_earlier(const void *a, const void *b)
{
	return ((const Limit *) a)->next_us < ((const Limit *) b)->next_us;
}

static void
set_limit_place(void *item, int place)
{
	((Limit *) item)->place = place;
}

/* When time alone may make room for the waiters. */
static int64
next_time(const Limit *limit, int64 now)
{
	if (limit->waiters.count == 0)
		return NEVER;
	if (turns_are_out(&limit->turns))
		return limit->turns.open_us;
	if (!has_start_at(limit, now))
		return rate_next_us(&limit->rate, now);
	return NEVER;
}

static void
set_timer_at(Limit *limit, int64 now)
{
	int64		next;

	if (limit->slots == NULL)
		return;
	next = next_time(limit, now);
	if (next == limit->next_us)
		return;
	limit->next_us = next;
	if (limit->place != HEAP_NOWHERE && next == NEVER)
		heap_remove(&limit->slots->timed, limit->place);
	else if (limit->place != HEAP_NOWHERE)
		heap_moved(&limit->slots->timed, limit->place);
	else
		heap_push(&limit->slots->timed, limit);
}

static void
set_timer(Limit *limit)
{
	set_timer_at(limit, rate_now_us(limit));
}

/* Takes the waiter out of the heap before telling it: it may wait again. */
static void
wake_first(Limit *limit)
{
	SlotWaiter *waiter = heap_remove(&limit->waiters, 0);

	waiter->limit = NULL;
	waiter->wake(waiter);
}

/*
 * A woken waiter that books wakes the next one while there is room.  Both
 * questions use the same moment: a start that comes due between them would
 * wake nobody and leave no timer.
 */
static void
yield_at(Limit *limit)
{
	const SlotWaiter *first = heap_first(&limit->waiters);
	int64		now;

	if (first == NULL)
		return;
	now = rate_now_us(limit);
	if (has_room_at(limit, first->priority, now))
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

int64
slots_next_us(const Slots *slots)
{
	const Limit *first = heap_first(&slots->timed);

	return first == NULL ? -1 : first->next_us;
}

void
slots_tick(Slots *slots)
{
	int64		now = slots->clock(slots->arg);
	Limit	   *limit;

	while ((limit = heap_first(&slots->timed)) != NULL && limit->next_us <= now)
	{
		turns_tick(&limit->turns, now);
		yield_at(limit);
		/* a clock that stands still must not keep us here */
		if (limit->next_us <= now)
			break;
	}
}

/* ---- limits ---- */

static Limit *
make_limit(Slots *slots, const char *name, int max, Limit *parent)
{
	Limit	   *limit = palloc0(sizeof(Limit));

	limit->name = pstrdup(name);
	limit->slots = slots;
	limit->terms.max = max > 0 ? max : -1;
	limit->parent = parent;
	limit->next_us = NEVER;
	limit->place = HEAP_NOWHERE;
	turns_init(&limit->turns);
	heap_init(&limit->waiters, waits_before, set_waiter_place);
	return limit;
}

Limit *
limit_new(const char *name, int max, Limit *parent)
{
	return make_limit(parent == NULL ? NULL : parent->slots, name, max, parent);
}

Limit *
limit_new_root(Slots *slots, const char *name, int max)
{
	return make_limit(slots, name, max, NULL);
}

void
limit_free(Limit *limit)
{
	Assert(limit->used == 0 && limit->held == 0);
	Assert(limit->waiters.count == 0);
	if (limit->place != HEAP_NOWHERE)
		heap_remove(&limit->slots->timed, limit->place);
	if (limit->freed > 0)
		dlist_delete(&limit->freed_node);
	heap_clear(&limit->waiters);
	pfree(limit->name);
	pfree(limit);
}

Slots *
slots_new(SlotClock clock, void *arg)
{
	Slots	   *slots = palloc0(sizeof(Slots));

	slots->clock = clock;
	slots->arg = arg;
	heap_init(&slots->timed, is_earlier, set_limit_place);
	dlist_init(&slots->freed);
	return slots;
}

void
slots_destroy(Slots *slots)
{
	Assert(slots->timed.count == 0);
	heap_clear(&slots->timed);
	pfree(slots);
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

int
limit_max(const Limit *limit)
{
	return limit->terms.max;
}

bool
limit_has_waiters(const Limit *limit)
{
	return limit->waiters.count > 0;
}

void
limit_set_max(Limit *limit, int max)
{
	limit->terms.max = max > 0 ? max : -1;
	yield_at(limit);
}

void
limit_set_terms(Limit *limit, const LimitTerms *terms)
{
	limit->terms = *terms;
	rate_set(&limit->rate, terms->rate, terms->period_us, terms->burst,
			 now_us(limit));
	yield_at(limit);
}

void
limit_set_parent(Limit *limit, Limit *parent)
{
	Limit	   *step;

	for (step = limit->parent; step != NULL; step = step->parent)
	{
		step->used -= limit->used;
		step->held -= limit->held;
		step->rate.pending -= limit->rate.pending;
	}
	limit->parent = parent;
	for (step = parent; step != NULL; step = step->parent)
	{
		step->used += limit->used;
		step->held += limit->held;
		step->rate.pending += limit->rate.pending;
	}
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

void
limit_keep(Limit *limit)
{
	limit->refs++;
}

bool
limit_is_unused(const Limit *limit)
{
	return limit->refs == 0 && limit->used == 0 && limit->held == 0 &&
		limit->freed == 0;
}

static void
tell_unused(Limit *limit)
{
	if (limit->on_unused != NULL && limit_is_unused(limit))
		limit->on_unused(limit->unused_arg, limit);
}

void
limit_release(Limit *limit)
{
	limit->refs--;
	tell_unused(limit);
}

void
limit_on_unused(Limit *limit, void (*fn) (void *arg, Limit *limit), void *arg)
{
	limit->on_unused = fn;
	limit->unused_arg = arg;
}

/* ---- booking ---- */

/* The next limit on the way up from leaf: across, then its own line. */
static Limit *
step_up(const Limit *leaf, const Limit *step)
{
	int			next = 0;

	if (step != leaf)
	{
		while (next < LIMITS_ACROSS && leaf->across[next] != step)
			next++;
		if (next == LIMITS_ACROSS)
			return step->parent;
		next++;
	}
	return next < LIMITS_ACROSS && leaf->across[next] != NULL ?
		leaf->across[next] : leaf->parent;
}

Limit *
slots_book(Limit *limit, int priority)
{
	Limit	   *step;

	for (step = limit; step != NULL; step = step_up(limit, step))
	{
		if (!has_room(step, priority))
			return step;
	}
	for (step = limit; step != NULL; step = step_up(limit, step))
	{
		step->used++;
		step->held++;
		step->rate.pending++;
		turns_use(&step->turns);
	}
	slots_yield(limit);
	return NULL;
}

static void
add_freed(Limit *limit, int n)
{
	if (limit->freed == 0)
		dlist_push_tail(&limit->slots->freed, &limit->freed_node);
	limit->freed += n;
}

static void
end_pending(Limit *limit)
{
	int			freed = turns_end_grab(&limit->turns);

	limit->rate.pending--;
	if (freed > 0)
		add_freed(limit, freed);
}

void
slots_start(Limit *limit)
{
	for (Limit *step = limit; step != NULL; step = step_up(limit, step))
	{
		end_pending(step);
		if (step->rate.step_ns > 0)
			rate_start(&step->rate, now_us(step));
	}
}

/* The database decides whose turn it is; until then nobody here has it. */
static void
note_freed(Limit *limit)
{
	add_freed(limit, 1);
	if (limit->waiters.count > 0)
		turns_close(&limit->turns, now_us(limit));
	set_timer(limit);
}

static void
drop_here(Limit *limit)
{
	Limit	   *step = limit;

	do
	{
		Assert(step->used > 0);
		step->used--;
	} while ((step = step_up(limit, step)) != NULL);
}

static void
drop_shared(Limit *limit, bool is_freed)
{
	Limit	   *step = limit;

	do
	{
		Assert(step->held > step->used);
		step->held--;
		if (step->is_shared && is_freed)
			note_freed(step);
	} while ((step = step_up(limit, step)) != NULL);
}

/* The limit may be gone after this call. */
static void
after_drop(Limit *limit)
{
	slots_yield(limit);
	tell_unused(limit);
}

void
slots_free_here(Limit *limit)
{
	drop_here(limit);
	slots_yield(limit);
}

void
slots_free_shared(Limit *limit)
{
	drop_shared(limit, true);
	after_drop(limit);
}

void
slots_free(Limit *limit)
{
	drop_here(limit);
	drop_shared(limit, true);
	after_drop(limit);
}

static void
drop_pending(Limit *limit)
{
	Limit	   *step = limit;

	do
	{
		end_pending(step);
	} while ((step = step_up(limit, step)) != NULL);
}

void
slots_cancel(Limit *limit)
{
	drop_pending(limit);
	slots_free(limit);
}

void
slots_undo(Limit *limit)
{
	drop_pending(limit);
	drop_here(limit);
	drop_shared(limit, false);
	after_drop(limit);
}

/*
 * A waiter that one limit woke and another refuses would keep its turn at the
 * first, and a free slot there would reach nobody.  Waiters further down the
 * line must pass this limit as well, so they can wait until it has room.  The
 * limit itself may have got room since it was found full.
 */
void
slots_wait(Limit *limit, SlotWaiter *waiter)
{
	const Limit *leaf = waiter->wants;
	Limit	   *above = limit->parent;

	Assert(waiter->limit == NULL);
	Assert(limit->rate.step_ns > 0 || !has_room(limit, waiter->priority));
	waiter->limit = limit;
	heap_push(&limit->waiters, waiter);
	yield_at(limit);
	for (int i = 0; leaf != NULL && i < LIMITS_ACROSS; i++)
	{
		if (leaf->across[i] == limit)
			above = leaf->parent;
		else if (leaf->across[i] != NULL)
			yield_at(leaf->across[i]);
	}
	for (; above != NULL; above = above->parent)
		yield_at(above);
}

void
slots_unwait(SlotWaiter *waiter)
{
	Limit	   *limit = waiter->limit;

	Assert(limit != NULL);
	heap_remove(&limit->waiters, waiter->place);
	waiter->limit = NULL;
	set_timer(limit);
}

void
slots_yield(Limit *limit)
{
	for (Limit *step = limit; step != NULL; step = step_up(limit, step))
		yield_at(step);
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

bool
slots_are_shared(const Limit *limit)
{
	for (; limit != NULL; limit = limit->parent)
		if (limit->is_shared)
			return true;
	return false;
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
		yield_at(limit);
}

void
slots_grant(Limit *limit)
{
	for (; limit != NULL; limit = limit->parent)
		if (limit->is_shared)
			limit_grant(limit);
}

bool
limit_offer(Limit *limit, int turns, bool is_told)
{
	TurnsOffered offered = turns_offer(&limit->turns, turns, is_told,
									   limit->waiters.count > 0, limit->rate.pending);

	if (offered == TURNS_TAKEN)
		yield_at(limit);
	return offered != TURNS_USELESS;
}

void
slots_take_freed(Slots *slots,
				 void (*fn) (void *arg, Limit *limit, int freed, bool is_wanted),
				 void *arg)
{
	while (!dlist_is_empty(&slots->freed))
	{
		Limit	   *limit = dlist_container(Limit, freed_node,
											dlist_pop_head_node(&slots->freed));
		int			freed = limit->freed;

		limit->freed = 0;
		fn(arg, limit, freed, limit->waiters.count > 0);
		tell_unused(limit);
	}
}

bool
slots_has_freed(const Slots *slots)
{
	return !dlist_is_empty(unconstify(dlist_head *, &slots->freed));
}
