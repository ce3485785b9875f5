/*-------------------------------------------------------------------------
 *
 * sql_failure.h
 *		Why a SQL handler failed, from the server's answer.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_SQL_FAILURE_H
#define TWT_SQL_FAILURE_H

#include "libpq-fe.h"

/* Message, places in functions, SQLSTATE and hint; palloc'd. */
extern char *sql_failure_text(const PGresult *result);

/* Whether our extension refused the handler function before it was called. */
extern bool sql_failure_is_unfit(const PGresult *result);

#endif							/* TWT_SQL_FAILURE_H */
