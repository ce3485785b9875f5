/*-------------------------------------------------------------------------
 *
 * deadlines.h
 *		Tasks ordered by deadline, with one timer for the earliest.
 *
 * A Task holds its own place (due_place) and time (deadline_us).  The owner
 * removes a task before it frees it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_DEADLINES_H
#define TWT_DEADLINES_H

#include "base/heap.h"
#include "base/loop.h"
#include "base/task.h"

typedef struct Deadlines
{
	Loop	   *loop;
	LoopTimer  *timer;
	Heap		tasks;
} Deadlines;

/*
 * The timer calls on_late(arg) when the earliest deadline has passed.
 * on_late() fetches the late tasks with deadlines_late(), then calls
 * deadlines_arm().
 */
extern void deadlines_open(Deadlines *deadlines, Loop *loop, LoopFn on_late, void *arg);
extern void deadlines_free(Deadlines *deadlines);
extern void deadlines_add(Deadlines *deadlines, Task *task);

/* Does nothing if the task is not in the set. */
extern void deadlines_remove(Deadlines *deadlines, Task *task);

/* Changes the deadline of a task without setting the timer again. */
extern void deadlines_move(Deadlines *deadlines, Task *task, int64 deadline_us);

/* The first task whose deadline has passed; NULL: none. */
extern Task *deadlines_late(Deadlines *deadlines);
extern void deadlines_arm(Deadlines *deadlines);
extern void deadlines_clear(Deadlines *deadlines);

#endif							/* TWT_DEADLINES_H */
