/*-------------------------------------------------------------------------
 *
 * outcome.h
 *		From what a handler answered to what the database is told.
 *
 *		from: execute.h, execute_sql.h			to: finish.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_OUTCOME_H
#define TWT_OUTCOME_H

#include "finish.h"
#include "task.h"

/*
 * Lets the task's policy decide where the verdict leaves it open, logs what a
 * person may want to know, and hands the outcome to finish.
 */
extern void outcome_report(Finish *finish, const Task *task,
						   const Verdict *verdict);

#endif							/* TWT_OUTCOME_H */
