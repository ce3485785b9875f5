/*-------------------------------------------------------------------------
 *
 * given_line.h
 *		The next line for a worker process, made of tasks that wait.
 *
 *		from: worker_process.c		to: worker_input.h
 *
 * Without the option "batch", a line has one task.  With it, a line has the tasks that
 * wait, at most that many; a line of more than 1 MB gets no more tasks.  Nothing waits
 * for a line to become full: tasks gather while the processes are busy.
 *
 * A process that ends takes the tasks of its batch with it, and the reason may be a
 * single one of them.  So each failed try makes the batch of a task smaller, also one
 * that the worker has answered, and the last one of several tries has a batch of its
 * own.  A retry function knows no last try.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GIVEN_LINE_H
#define TWT_GIVEN_LINE_H

#include "execute/runner.h"

/*
 * Moves tasks from waiting, which has at least one, to the empty list tasks, and
 * appends the line of them to out.
 */
extern void given_line_make(StringInfo out, const HandlerConfig *config, dlist_head *waiting,
							dlist_head *tasks, int64 start_by_us);

#endif							/* TWT_GIVEN_LINE_H */
