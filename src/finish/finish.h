/*-------------------------------------------------------------------------
 *
 * finish.h
 *		The ways of a task out of PROCESSING.
 *
 *		from: execute_tasks.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_FINISH_H
#define TWT_FINISH_H

/* Raises 22023 unless finish_tasks() knows the result. */
extern void finish_check_result(const char *result);

#endif							/* TWT_FINISH_H */
