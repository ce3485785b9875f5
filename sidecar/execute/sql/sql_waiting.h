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

/* config stays the caller's. */
extern SqlWaiting *sql_waiting_new(const HandlerConfig *config);

/* It must be empty. */
extern void sql_waiting_free(SqlWaiting *list);

/* Takes the trigger and its booked slot. */
extern void sql_waiting_add(SqlWaiting *list, Table *table, TableEntry *entry);

/* The same for a task that gets a batch of its own. */
extern void sql_waiting_add_alone(SqlWaiting *list, Table *table, TableEntry *entry);

extern int	sql_waiting_count(const SqlWaiting *list);

/*
 * The next batch, sorted; a task must wait.  Its tasks have the same timeout,
 * since their statement has one.  Quick tasks share a batch.
 */
extern Batch *sql_waiting_take(SqlWaiting *list);

/* A task took so long. */
extern void sql_waiting_learn(SqlWaiting *list, double task_us);

/* One of n tasks that will come again broke a session: n batches have one task. */
extern void sql_waiting_part(SqlWaiting *list, int n);

/* All of them go back to where they came from, their slots are freed. */
extern void sql_waiting_give_back(SqlWaiting *list);

#endif							/* TWT_SQL_WAITING_H */
