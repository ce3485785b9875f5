/*-------------------------------------------------------------------------
 *
 * sql_waiting.h
 *		Tasks of a SQL handler that wait for a session, first in, first out.
 *
 *		from: execute_sql.h			to: batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_WAITING_H
#define TWT_SQL_WAITING_H

#include "grab/batch.h"
#include "table/table.h"

typedef struct SqlWaiting SqlWaiting;

/* Of that handler, which stays. */
extern SqlWaiting *sql_waiting_new(const Handler *handler);

/* It must be empty. */
extern void sql_waiting_free(SqlWaiting *list);

/* Takes the trigger and its booked slot.  alone: in a batch of its own. */
extern void sql_waiting_add(SqlWaiting *list, Table *table, TableEntry *entry,
							bool alone);

extern int	sql_waiting_count(const SqlWaiting *list);

/*
 * The next ones, size at most, sorted; there must be one.  All have the same
 * timeout, since it is that of their statement.
 */
extern Batch *sql_waiting_take(SqlWaiting *list, int size);

/* All of them go back to where they came from, their slots are freed. */
extern void sql_waiting_give_back(SqlWaiting *list);

#endif							/* TWT_SQL_WAITING_H */
