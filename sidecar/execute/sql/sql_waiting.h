/*-------------------------------------------------------------------------
 *
 * sql_waiting.h
 *		Tasks of a SQL handler that wait for a session, first in, first out.
 *
 *		from: execute_sql.c			to: batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_WAITING_H
#define TWT_SQL_WAITING_H

#include "grab/batch.h"
#include "table/table.h"

typedef struct SqlWaiting SqlWaiting;

/* The caller keeps config. */
extern SqlWaiting *sql_waiting_new(const HandlerConfig *config);

/* The list must be empty. */
extern void sql_waiting_free(SqlWaiting *list);

/*
 * Takes over the trigger and its booked slot.  goes_alone: the task needs a batch
 * of its own, as each task under a cluster-wide limit does.
 */
extern void sql_waiting_add(SqlWaiting *list, Table *table, TableEntry *entry, bool goes_alone);

extern int	sql_waiting_count(const SqlWaiting *list);

/*
 * Takes the next batch, sorted; the list must not be empty.  All its tasks
 * have the same timeout, since they share one statement.  Quick tasks share a
 * batch.
 */
extern Batch *sql_waiting_take(SqlWaiting *list);

/* Learns how long a task took, for the size of batches. */
extern void sql_waiting_learn(SqlWaiting *list, double task_us);

/*
 * One of n tasks broke a session, and all n will come again.  So the next n
 * batches have one task each.
 */
extern void sql_waiting_part(SqlWaiting *list, int n);

/* Gives all triggers back to their tables and frees their slots. */
extern void sql_waiting_give_back(SqlWaiting *list);

#endif							/* TWT_SQL_WAITING_H */
