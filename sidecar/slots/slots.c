/*-------------------------------------------------------------------------
 *
 * slots.c
 *		Books slots at a limit and all limits above it, before the grab.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <limits.h>

#include "slots/slots.h"

/*
 * The next limit on the way up from leaf: first the limits across, then its
 * line.
 */
static Limit *
step_up(const Limit *leaf, const Limit *step)
{
	int			next = 0;

	if (step != leaf)
	{
		while (next < LIMITS_ACROSS && limit_across(leaf, next) != step)
			next++;
		if (next == LIMITS_ACROSS)
			return limit_parent(step);
		next++;
	}
	return limit_across(leaf, next) != NULL ? limit_across(leaf, next) : limit_parent(leaf);
}

static void
each_step(Limit *leaf, void (*fn) (Limit *limit))
{
	for (Limit *step = leaf; step != NULL; step = step_up(leaf, step))
		fn(step);
}

Limit *
slots_book(Limit *limit, int priority)
{
	for (Limit *step = limit; step != NULL; step = step_up(limit, step))
	{
		if (limit_room(step, priority) == 0)
			return step;
	}
	each_step(limit, limit_book);
	slots_yield(limit);
	return NULL;
}

int
slots_room(const Limit *limit, int priority)
{
	int			room = INT_MAX;

	for (const Limit *step = limit; step != NULL; step = step_up(limit, step))
		room = Min(room, limit_room(step, priority));
	return room;
}

void
slots_start(Limit *limit)
{
	each_step(limit, limit_start);
}

void
slots_free_here(Limit *limit)
{
	each_step(limit, limit_free_here);
	slots_yield(limit);
}

/* The limit may be gone after this call. */
void
slots_free_shared(Limit *limit)
{
	each_step(limit, limit_free_shared);
	slots_yield(limit);
	limit_tell_unused(limit);
}

void
slots_free(Limit *limit)
{
	each_step(limit, limit_free_here);
	slots_free_shared(limit);
}

void
slots_cancel(Limit *limit)
{
	each_step(limit, limit_end_grab);
	slots_free(limit);
}

void
slots_undo(Limit *limit)
{
	each_step(limit, limit_end_grab);
	each_step(limit, limit_free_here);
	each_step(limit, limit_forget_shared);
	slots_yield(limit);
	limit_tell_unused(limit);
}

/*
 * One limit may wake a waiter that another limit then refuses.  The waiter
 * passes its turn at the first limit on, or a free slot there would reach no
 * waiter.  Waiters below this limit need not be woken: they need room at this
 * limit too.  This limit itself may have got room meanwhile, so it is asked
 * again.  Turns that nobody here can use go to other nodes.
 */
void
slots_wait(Limit *limit, SlotWaiter *waiter)
{
	const Limit *leaf = waiter->wants;
	Limit	   *above = limit_parent(limit);

	limit_add_waiter(limit, waiter);
	limit_yield(limit);
	for (int i = 0; leaf != NULL && limit_across(leaf, i) != NULL; i++)
	{
		if (limit_across(leaf, i) == limit)
			above = limit_parent(leaf);
		else
			limit_yield(limit_across(leaf, i));
	}
	for (; above != NULL; above = limit_parent(above))
		limit_yield(above);
	each_step(waiter->wants, limit_hand_on);
}

void
slots_unwait(SlotWaiter *waiter)
{
	limit_remove_waiter(waiter);
}

void
slots_yield(Limit *limit)
{
	each_step(limit, limit_yield);
}

bool
slots_are_shared(const Limit *limit)
{
	for (; limit != NULL; limit = limit_parent(limit))
		if (limit_is_shared(limit))
			return true;
	return false;
}

void
slots_grant(Limit *limit)
{
	for (; limit != NULL; limit = limit_parent(limit))
		if (limit_is_shared(limit))
			limit_grant(limit);
}
