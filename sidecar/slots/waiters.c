/*-------------------------------------------------------------------------
 *
 * waiters.c
 *		Waiters for a slot of one limit, in priority order, then by age.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "slots/waiters.h"

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
set_place(void *item, int place)
{
	((SlotWaiter *) item)->place = place;
}

void
waiters_init(Heap *waiters)
{
	heap_init(waiters, waits_before, set_place);
}

void
waiters_add(Heap *waiters, SlotWaiter *waiter, Limit *limit)
{
	Assert(waiter->limit == NULL);
	waiter->limit = limit;
	heap_push(waiters, waiter);
}

void
waiters_remove(Heap *waiters, SlotWaiter *waiter)
{
	heap_remove(waiters, waiter->place);
	waiter->limit = NULL;
}

/* Removes the waiter before it calls wake(), which may wait again. */
void
waiters_wake_first(Heap *waiters)
{
	SlotWaiter *waiter = heap_first(waiters);

	waiters_remove(waiters, waiter);
	waiter->wake(waiter);
}
