/*-------------------------------------------------------------------------
 *
 * grab_answers.h
 *		Reads what the database answers to a grab: tasks won, tasks refused.
 *
 *		from: batch.h			to: execute.h (execute_task)
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_GRAB_ANSWERS_H
#define TWT_GRAB_ANSWERS_H

#include "execute/execute.h"
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

/* Grabbed tasks go to execute; offers hears what cluster-wide limits refuse. */
extern GrabAnswers *grab_answers_new(Loop *loop, Execute *execute, Offers *offers);
extern void grab_answers_free(GrabAnswers *answers);

/*
 * Hands on the tasks that we won, and puts the refused ones back into their
 * tables.  The rest of the batch went to others.  Takes what the question
 * holds.
 */
extern void grab_answers_take(GrabAnswers *answers, GrabQuestion question,
							  const PGresult *result);

#endif							/* TWT_GRAB_ANSWERS_H */
