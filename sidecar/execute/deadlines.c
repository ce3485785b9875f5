/*
 * deadlines.c -- tasks ordered by deadline, with one timer for the earliest.
 */
#include "base/port.h"

#include "execute/deadlines.h"

static bool
is_before(const void *a, const void *b)
{
	return ((const Task *) a)->deadline_us < ((const Task *) b)->deadline_us;
}

static void
set_place(void *item, int place)
{
	((Task *) item)->due_place = place;
}

void
deadlines_open(Deadlines *deadlines, Loop *loop, LoopFn on_late, void *arg)
{
	deadlines->loop = loop;
	deadlines->timer = loop_timer_new(loop, on_late, arg);
	heap_init(&deadlines->tasks, is_before, set_place);
}

void
deadlines_clear(Deadlines *deadlines)
{
	heap_clear(&deadlines->tasks);
	loop_timer_stop(deadlines->timer);
}

void
deadlines_free(Deadlines *deadlines)
{
	loop_timer_free(deadlines->timer);
}

void
deadlines_arm(Deadlines *deadlines)
{
	const Task *first = heap_first(&deadlines->tasks);

	if (first != NULL)
		loop_timer_start(deadlines->timer, first->deadline_us - loop_now_us(deadlines->loop));
	else
		loop_timer_stop(deadlines->timer);
}

void
deadlines_add(Deadlines *deadlines, Task *task)
{
	heap_push(&deadlines->tasks, task);
	if (heap_first(&deadlines->tasks) == task)
		deadlines_arm(deadlines);
}

void
deadlines_remove(Deadlines *deadlines, Task *task)
{
	if (task->due_place != HEAP_NOWHERE)
		heap_remove(&deadlines->tasks, task->due_place);
	if (heap_first(&deadlines->tasks) == NULL)
		loop_timer_stop(deadlines->timer);
}

void
deadlines_move(Deadlines *deadlines, Task *task, int64 deadline_us)
{
	heap_remove(&deadlines->tasks, task->due_place);
	task->deadline_us = deadline_us;
	heap_push(&deadlines->tasks, task);
}

Task *
deadlines_late(Deadlines *deadlines)
{
	Task	   *first = heap_first(&deadlines->tasks);

	if (first == NULL || first->deadline_us > loop_now_us(deadlines->loop))
		return NULL;
	return first;
}
