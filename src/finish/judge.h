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
#include "utils/jsonb.h"

/* A handler's answer and, once judged, what follows from it. */
typedef struct Answer
{
	bool		is_repeat;		/* else a retry, also after a failure */
	bool		has_delay;		/* delay_ms is the handler's own */
	int64		delay_ms;		/* negative: as 0 */
	text	   *message;		/* NULL: none */
	Jsonb	   *retry;			/* for a type without a retry policy; NULL:
								 * the default figures */
	TimestampTz ask_until;		/* when it is too late to ask a function;
								 * DT_NOBEGIN: none is asked */
	const char *result;			/* judged: "retry", "repeat", "error", or
								 * "later" when it was too late */
} Answer;

/*
 * Judges by the figures of the policy: sets result, and delay_ms unless the
 * handler did.  Returns the function that the policy names instead, for
 * judge_by_function(); NULL if there is none.  The type is a text; tries includes
 * the try that has just ended.
 */
extern char *judge_by_figures(Datum type, int32 tries, Answer *answer);

/*
 * Asks that function about a value of twtasks.task_input.  The figures stand
 * if the function fails, which raises a warning only.  The function may change
 * any row, so rows that the caller has found before are outdated.
 */
extern void judge_by_function(const char *function, Datum task, Answer *answer);

#endif							/* TWT_JUDGE_H */
