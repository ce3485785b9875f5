/*-------------------------------------------------------------------------
 *
 * sql_batch.h
 *		What an answer of the database means for the tasks of a batch.
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

/* Reads a grabbed task; its type is the result's. */
extern void sql_batch_read_grab(const Batch *batch, const PGresult *result, int row, Task *task);

/* A limit of the cluster refused the task in that row of a grab. */
extern void sql_batch_refuse(Batch *batch, const RunnerParts *parts,
							 const PGresult *result, int row);

/* The functions ran: most tasks are finished, some failed or were refused. */
extern void sql_batch_take_answers(Batch *batch, const RunnerParts *parts, const PGresult *result);

/* The task is ours and did not end well: takes it out and reports that. */
extern void sql_batch_fail(Batch *batch, const RunnerParts *parts, Task *task,
						   TaskResult result, const char *why);

/* The task is finished, or left to the database: takes it out. */
extern void sql_batch_release(Batch *batch, const uint8 *id);

/* The statement has done nothing: its tasks wait again, by that function. */
extern void sql_batch_put_back(Batch *batch, SqlWaiting *waiting,
							   void (*add) (SqlWaiting *, Table *, TableEntry *));

/* Leaves cancelled tasks to the database.  False: none is. */
extern bool sql_batch_drop_cancelled(Batch *batch);

#endif							/* TWT_SQL_BATCH_H */
