/*-------------------------------------------------------------------------
 *
 * outcome.h
 *		From what a handler answered to what the database is told.
 *
 *		from: execute.h, execute_sql.h			to: finish.h
 *
 * A failure is judged by the task's policy: by its figures, or by a function
 * of the database, which is asked first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OUTCOME_H
#define TWT_OUTCOME_H

#include "base/task.h"
#include "config/config.h"
#include "finish/finish.h"

typedef struct Outcome Outcome;

extern Outcome *outcome_open(Loop *loop, const Config *config, Finish *finish);
extern void outcome_free(Outcome *outcome);

/*
 * Lets the task's policy decide where the verdict leaves it open, logs what a
 * person may want to know, and hands the outcome to finish.
 */
extern void outcome_report(Outcome *outcome, const Task *task,
						   const Verdict *verdict);

/* Sends what has to be asked; at the end of each turn. */
extern void outcome_pump(Outcome *outcome);

/* Tasks of which the database has not yet said what becomes of them. */
extern int	outcome_pending(const Outcome *outcome);

/* The incarnation is gone: nothing of this is ours to report. */
extern void outcome_forget(Outcome *outcome);

#endif							/* TWT_OUTCOME_H */
