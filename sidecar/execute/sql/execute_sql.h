/*-------------------------------------------------------------------------
 *
 * execute_sql.h
 *		Handlers that are functions of the database.
 *
 *		from: table.h			to: finish.h
 *
 * Grab, function and finish are one statement, so one transaction: what the
 * function does in the database happens exactly once.  Several tasks share a
 * statement as long as they are quick; each has its own subtransaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_EXECUTE_SQL_H
#define TWT_EXECUTE_SQL_H

#include "base/loop.h"
#include "config/config.h"
#include "execute/handler.h"
#include "finish/finish.h"
#include "node/node.h"
#include "slots/offers.h"
#include "table/table.h"

typedef struct SqlRunner SqlRunner;

/* Opens connections of its own as tasks want them, at most as many as the handler
 * has processes.  config must stay. */
extern SqlRunner *sql_open(Loop *loop, const Config *config, Handler *handler,
						   Node *node, Finish *finish);

/* What a limit of the cluster refuses is told there; once, after the open. */
extern void sql_set_offers(SqlRunner *sql, Offers *offers);
extern void sql_free(SqlRunner *sql);

/* Takes the trigger and its booked slot. */
extern void sql_add(SqlRunner *sql, Table *table, TableEntry *entry);

/* Sends what can be sent; at the end of each turn. */
extern void sql_pump(SqlRunner *sql);

/*
 * An operator wants the task to end: cancels the statement that it is in.
 * False: it is in none.
 */
extern bool sql_cancel(SqlRunner *sql, const uint8 *id, int64 version,
					   const char *why);

/* Triggers without a known outcome. */
extern int	sql_running(const SqlRunner *sql);

/* Gives back what was not sent; for a drain, or a gone incarnation. */
extern void sql_give_back(SqlRunner *sql);

/* The incarnation is gone: nothing under way is ours. */
extern void sql_forget(SqlRunner *sql);

#endif							/* TWT_EXECUTE_SQL_H */
