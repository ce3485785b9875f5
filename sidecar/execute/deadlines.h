/*-------------------------------------------------------------------------
 *
 * deadlines.h
 *		Tasks by deadline, and one timer for the earliest.
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
 * on_late(arg) is called when the first deadline has passed.  It takes the late
 * tasks, one by one, and then calls deadlines_arm().
 */
extern void deadlines_open(Deadlines *deadlines, Loop *loop, LoopFn on_late, void *arg);
extern void deadlines_free(Deadlines *deadlines);
extern void deadlines_add(Deadlines *deadlines, Task *task);

/* The task need not be there. */
extern void deadlines_remove(Deadlines *deadlines, Task *task);

/* The task has another deadline; the timer stays as it is. */
extern void deadlines_move(Deadlines *deadlines, Task *task, int64 deadline_us);

/* The first task whose deadline has passed; NULL: none. */
extern Task *deadlines_late(Deadlines *deadlines);
extern void deadlines_arm(Deadlines *deadlines);
extern void deadlines_clear(Deadlines *deadlines);

#endif							/* TWT_DEADLINES_H */
