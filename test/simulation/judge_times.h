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

/* The world's time for that one of the database. */
extern int64 times_world_us(int64 clock_us);

/* The time since something was due, or since the faults are light; -1: they are not. */
extern int64 times_late_us(int64 due_us);

/* The row is grabbed now. */
extern void times_grab(const Row *row);

/* One node works alone, and nothing fails. */
extern bool times_is_alone(void);

/* ---- judge_order.c ---- */

extern void order_begin(void);
extern void order_look(void);

/* A node may start it, and it waits for that. */
extern bool order_can_run(const Row *row);

/* A call asks for the task, so others of the call do not pass over it. */
extern void order_leave(const Row *row);

/* See judge_ask(); after order_leave() for all tasks of the call. */
extern void order_ask(const Process *process, const Row *row);

/* ---- judge_rates.c ---- */

extern void rates_begin(void);

/* The call of the grab was sent then; the faults are light since light_us. */
extern void rates_grab(const Row *row, int64 sent_us, int64 light_us);

/* ---- judge_schedules.c ---- */

extern void judge_schedules_begin(void);
extern void judge_schedules_look(void);

#endif							/* SIM_JUDGE_TIMES_H */
