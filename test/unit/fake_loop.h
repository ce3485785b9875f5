/*-------------------------------------------------------------------------
 *
 * fake_loop.h
 *		The event loop of a test that makes its own time: timers, and no I/O.
 *
 * Takes the place of loop.o in the one test that includes it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FAKE_LOOP_H
#define TWT_FAKE_LOOP_H

#include "base/loop.h"
#include "check.h"
#include "lib/ilist.h"

struct LoopTimer
{
	dlist_node	node;
	LoopFn		fn;
	void	   *arg;
	int64		at;
	bool		is_active;
};

static int64 loop_time;
static dlist_head loop_timers = DLIST_STATIC_INIT(loop_timers);
static bool turn_wanted;

static inline void
check_timer(const LoopTimer *timer)
{
	dlist_iter	iter;

	dlist_foreach(iter, &loop_timers)
		if (dlist_container(LoopTimer, node, iter.cur) == timer)
		return;
	fail_msg("a timer that is none, or none any more");
}

int64
loop_now_us(Loop *loop)
{
	return loop_time;
}

LoopTimer *
loop_timer_new(Loop *loop, LoopFn fn, void *arg)
{
	LoopTimer  *timer = palloc0(sizeof(LoopTimer));

	timer->fn = fn;
	timer->arg = arg;
	dlist_push_head(&loop_timers, &timer->node);
	return timer;
}

void
loop_timer_start(LoopTimer *timer, int64 delay_us)
{
	check_timer(timer);
	timer->at = loop_time + Max(delay_us, 0);
	timer->is_active = true;
}

void
loop_timer_stop(LoopTimer *timer)
{
	check_timer(timer);
	timer->is_active = false;
}

bool
loop_timer_active(const LoopTimer *timer)
{
	return timer->is_active;
}

void
loop_timer_free(LoopTimer *timer)
{
	dlist_delete(&timer->node);
	pfree(timer);
}

void
loop_want_turn(Loop *loop)
{
	turn_wanted = true;
}

void
loop_defer_free(Loop *loop, void *pointer)
{
	pfree(pointer);
}

/* NULL: none is due by then. */
static inline LoopTimer *
first_timer(int64 until)
{
	LoopTimer  *first = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &loop_timers)
	{
		LoopTimer  *timer = dlist_container(LoopTimer, node, iter.cur);

		if (timer->is_active && timer->at <= until && (first == NULL || timer->at < first->at))
			first = timer;
	}
	return first;
}

/* Time passes, with all that comes due in it. */
static inline void
pass_us(int64 us)
{
	int64		until = loop_time + us;
	LoopTimer  *timer;

	while ((timer = first_timer(until)) != NULL)
	{
		loop_time = Max(loop_time, timer->at);
		timer->is_active = false;
		timer->fn(timer->arg);
	}
	loop_time = until;
}

#endif							/* TWT_FAKE_LOOP_H */
