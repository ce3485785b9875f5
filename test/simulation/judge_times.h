/*-------------------------------------------------------------------------
 *
 * judge_times.h
 *		The part of the judge that looks at times, as the rest of it calls it.
 *
 *		from: judge.c			to: machines.h, tables.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SIM_JUDGE_TIMES_H
#define SIM_JUDGE_TIMES_H

#include "judge.h"

extern void times_begin(void);

/* See judge_excuse_late() and judge_expect_starts(). */
extern void times_excuse(void);
extern void times_expect_starts(void);

/* The row is grabbed now. */
extern void times_grab(const Row *row);

/* A call asks for the task, so others of the call do not pass over it. */
extern void times_leave(const Row *row);

/* See judge_ask(); after times_leave() for all tasks of the call. */
extern void times_ask(const Process *process, const Row *row);

#endif							/* SIM_JUDGE_TIMES_H */
