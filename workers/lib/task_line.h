/*-------------------------------------------------------------------------
 *
 * task_line.h
 *		The line of a task, as a sidecar writes it to a worker.
 *
 *		from: worker_main.c
 *
 * The texts of data and context are taken as they stand in the line: what is
 * sent on is what was added, to the last digit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_TASK_LINE_H
#define TWT_TASK_LINE_H

#include "base/task.h"

/*
 * Returns the task, or NULL if the line is not one; *start_by_us is until when
 * it may be started, in the loop's time.
 */
extern Task *task_line_read(const char *line, int64 *start_by_us) MUSTCHECK;
extern void task_line_free(Task *task);

#endif							/* TWT_TASK_LINE_H */
