/*-------------------------------------------------------------------------
 *
 * ask.h
 *		Asks the functions of policies what becomes of tasks that failed.
 *
 *		from: outcome.h			to: sql/policy/retry.sql (ask_retry), outcome.h
 *
 * On a connection of its own, open while there are questions: such a function
 * may be slow, and nothing else is to wait for it.
 *
 * Every question is answered in the end.  When the function failed, the
 * database refuses to say, or has not said for a while, the answer is to go
 * by the figures of the policy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ASK_H
#define TWT_ASK_H

#include "base/loop.h"
#include "base/task.h"
#include "config/config.h"

typedef struct Ask Ask;

typedef enum AskAnswer
{
	ASK_RETRY,					/* after the delay */
	ASK_ERROR,					/* no more tries */
	ASK_POLICY					/* as the figures say */
} AskAnswer;

/* task has its ids, version, type, tries and policy, for the call. */
typedef void (*AskFn) (void *arg, const Task *task, const Verdict *verdict,
					   AskAnswer answer, int64 delay_us);

extern Ask *ask_open(Loop *loop, const Config *config, AskFn fn, void *arg);
extern void ask_free(Ask *ask);

/* Copies what it needs of both. */
extern void ask_add(Ask *ask, const Task *task, const Verdict *verdict);

/* Sends what has come together; at the end of each turn. */
extern void ask_pump(Ask *ask);

/* Questions without an answer. */
extern int	ask_pending(const Ask *ask);

/* The incarnation is gone: no answers are wanted. */
extern void ask_forget(Ask *ask);

#endif							/* TWT_ASK_H */
