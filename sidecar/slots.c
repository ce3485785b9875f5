/*-------------------------------------------------------------------------
 *
 * slots.c
 *		How many tasks may run at once: limits, booked before the grab.
 *
 *		from: table.h (slots_book)		to: execute.h (slots_free)
 *
 *-------------------------------------------------------------------------
 */
#include "port.h"

#include "heap.h"
#include "slots.h"

struct Limit
{
	char	   *name;
	int			max;			/* 0 or less: none */
	int			used;
	Limit	   *parent;
	Heap		waiters;		/* of SlotWaiter */
};

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

Limit *
limit_new(const char *name, int max, Limit *parent)
{
	Limit	   *limit = palloc0(sizeof(Limit));

	limit->name = pstrdup(name);
	limit->max = max;
	limit->parent = parent;
	heap_init(&limit->waiters, waits_before, set_waiter_place);
	return limit;
}

void
limit_free(Limit *limit)
{
	Assert(limit->used == 0);
	Assert(limit->waiters.count == 0);
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

int
limit_max(const Limit *limit)
{
	return limit->max;
}

static bool
has_room(const Limit *limit)
{
	return limit->max <= 0 || limit->used < limit->max;
}

/* The waiter is out of the heap before it is told: it may wait again. */
static void
wake_first(Limit *limit)
{
	SlotWaiter *waiter = heap_remove(&limit->waiters, 0);

	waiter->limit = NULL;
	waiter->wake(waiter);
}

/* Ends also if a woken waiter comes back: it found the limit full again. */
void
limit_set_max(Limit *limit, int max)
{
	limit->max = max;
	while (limit->waiters.count > 0 && has_room(limit))
		wake_first(limit);
}

Limit *
slots_book(Limit *limit)
{
	Limit	   *step;

	for (step = limit; step != NULL; step = step->parent)
	{
		if (!has_room(step))
			return step;
	}
	for (step = limit; step != NULL; step = step->parent)
		step->used++;
	return NULL;
}

void
slots_free(Limit *limit)
{
	Limit	   *step;

	for (step = limit; step != NULL; step = step->parent)
	{
		Assert(step->used > 0);
		step->used--;
	}
	slots_yield(limit);
}

/*
 * A waiter that was woken at an upper limit and is refused by a lower one
 * would take its turn at the upper limit along, and a free slot there would
 * reach nobody.
 */
void
slots_wait(Limit *limit, SlotWaiter *waiter)
{
	Assert(waiter->limit == NULL);
	Assert(!has_room(limit));
	waiter->limit = limit;
	heap_push(&limit->waiters, waiter);
	slots_yield(limit->parent);
}

void
slots_unwait(SlotWaiter *waiter)
{
	Assert(waiter->limit != NULL);
	heap_remove(&waiter->limit->waiters, waiter->place);
	waiter->limit = NULL;
}

void
slots_yield(Limit *limit)
{
	for (; limit != NULL; limit = limit->parent)
	{
		if (limit->waiters.count > 0 && has_room(limit))
			wake_first(limit);
	}
}
