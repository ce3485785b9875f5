/*-------------------------------------------------------------------------
 *
 * grab_answers.h
 *		Reads what the database answers to a grab: tasks won, tasks refused.
 *
 *		from: batch.h			to: grab.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GRAB_ANSWERS_H
#define TWT_GRAB_ANSWERS_H

#include "base/loop.h"
#include "base/task.h"
#include "grab/batch.h"

typedef struct GrabAnswers GrabAnswers;

/* The question to which an answer came. */
typedef struct GrabQuestion
{
	Batch	   *batch;
	int64		sent_us;		/* when the grab was sent, not the question
								 * for its outcome */
	char	   *unreadable;		/* why it is grabbed without data; NULL: with
								 * it */
} GrabQuestion;

/* A task that is ours; the receiver owns it and its slot. */
typedef void (*GrabTask) (void *arg, Task *task);

/*
 * A cluster-wide limit refused tasks; until_us by the database's clock, 0 if
 * it did not say.  False: that limit is not known.
 */
typedef bool (*GrabRefused) (void *arg, const char *limit, int64 until_us);

extern GrabAnswers *grab_answers_new(Loop *loop, GrabTask on_task, GrabRefused on_refused,
									 void *arg);
extern void grab_answers_free(GrabAnswers *answers);

/*
 * Hands on the tasks that we won, and puts the refused ones back into their
 * tables.  The rest of the batch went to others.  Takes what the question
 * holds.
 */
extern void grab_answers_take(GrabAnswers *answers, GrabQuestion question,
							  const PGresult *result);

#endif							/* TWT_GRAB_ANSWERS_H */
