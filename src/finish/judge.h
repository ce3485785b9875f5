/*-------------------------------------------------------------------------
 *
 * judge.h
 *		Judges a task whose handler failed, or asked for another run.
 *
 *		from: finish.c, execute_tasks.c		to: retry.h, policy_call.h
 *
 * A handler may say when its task runs again.  The policies of the task's type
 * say whether: by their figures, or by a function that they name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_JUDGE_H
#define TWT_JUDGE_H

#include "datatype/timestamp.h"

#include "finish/finish_call.h"

/*
 * Judges by the figures of the policy: sets result, and delay_ms unless the
 * handler did.  Returns the function that the policy names instead, for
 * judge_by_function(); NULL if there is none, or this is a repeat.  The type is a
 * text; tries includes the try that has just ended.
 */
extern char *judge_by_figures(Datum type, int32 tries, Try *try);

/*
 * Asks that function about a value of twtasks.task_input.  After until it only
 * sets TRY_LATER.  The figures stand if the function fails, which raises
 * a warning only.  The function may change any row, so rows that the caller has
 * found before are outdated.
 */
extern void judge_by_function(const char *function, Datum task, TimestampTz until, Try *try);

#endif							/* TWT_JUDGE_H */
