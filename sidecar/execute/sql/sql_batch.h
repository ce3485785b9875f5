/*-------------------------------------------------------------------------
 *
 * sql_batch.h
 *		Applies an answer of the database to the tasks of a batch.
 *
 *		from: sql_session.h			to: finish.h, offers.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_BATCH_H
#define TWT_SQL_BATCH_H

#include "execute/runner.h"
#include "execute/sql/sql_waiting.h"
#include "libpq-fe.h"

/* Handles a row of a grab whose task a cluster-wide limit refused. */
extern void sql_batch_refuse(Batch *batch, const RunnerParts *parts,
							 const PGresult *result, int row);

/* The grab of a batch of one has won its task, whose function runs next. */
extern Task sql_batch_grant(Batch *batch, const PGresult *result);

/*
 * Takes the rows of an executed statement: tasks are finished, failed or
 * refused.  Each has run for each_us on average.
 */
extern void sql_batch_take_answers(Batch *batch, const RunnerParts *parts, const PGresult *result, double each_us);

/* Takes a failed task that this node holds out of the batch, and reports it. */
extern void sql_batch_fail(Batch *batch, const RunnerParts *parts, Task *task,
						   TaskResult result, const char *why);

/* The statement had no effect: its tasks wait again. */
extern void sql_batch_put_back(Batch *batch, SqlWaiting *waiting, bool each_alone);

/*
 * Takes cancelled tasks out and leaves them to the database.  False: there are
 * none.
 */
extern bool sql_batch_drop_cancelled(Batch *batch);

#endif							/* TWT_SQL_BATCH_H */
