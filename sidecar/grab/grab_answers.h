/*-------------------------------------------------------------------------
 *
 * grab_answers.h
 *		Reads the database's answer to a grab: tasks won, tasks refused.
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

/* The grab that an answer belongs to. */
typedef struct GrabQuestion
{
	Batch	   *batch;
	int64		sent_us;		/* when the grab was sent, not a later query
								 * for its outcome */
	char	   *unreadable;		/* why the task is grabbed without its data;
								 * NULL: it has them */
} GrabQuestion;

/*
 * Whether the failure of a grab recurs whenever its task is read, and the reason
 * for the task (palloc'd).
 */
extern bool grab_answers_blame_content(const PGresult *failure);
extern char *grab_answers_describe(const PGresult *failure);

/* Grabbed tasks go to execute; refusals by cluster-wide limits go to offers. */
extern GrabAnswers *grab_answers_new(Loop *loop, TaskClock *clock, Execute *execute, Offers *offers);
extern void grab_answers_free(GrabAnswers *answers);

/*
 * Hands on the tasks that we won, and puts refused tasks back into their
 * tables.  Other nodes have the rest of the batch.  Takes over the members of
 * the question.
 */
extern void grab_answers_take(GrabAnswers *answers, GrabQuestion question,
							  const PGresult *result);

#endif							/* TWT_GRAB_ANSWERS_H */
