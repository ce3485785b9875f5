/*-------------------------------------------------------------------------
 *
 * task_line.h
 *		The line of a task, as a sidecar writes it to a worker.
 *
 *		from: worker_line.h
 *
 * data and context are copied verbatim from the line, so the receiver gets
 * what was added, to the last digit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_LINE_H
#define TWT_TASK_LINE_H

#include "base/task.h"

/*
 * Returns the task, or NULL if the line is not one.  *start_by_us is the loop
 * time until which the task may be started.
 */
extern Task *task_line_read(const char *line, int64 *start_by_us) MUSTCHECK;
extern void task_line_free(Task *task);

#endif							/* TWT_TASK_LINE_H */
