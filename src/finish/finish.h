/*-------------------------------------------------------------------------
 *
 * finish.h
 *		PROCESSING -> whatever the handler made of a task.
 *
 *		from: execute_tasks.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_H
#define TWT_FINISH_H

/* 22023 unless it is a result that finish_tasks() knows. */
extern void finish_check_result(const char *result);

#endif							/* TWT_FINISH_H */
