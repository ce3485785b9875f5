/*-------------------------------------------------------------------------
 *
 * statement.h
 *		One SQL statement of the sidecar, and the SQLSTATE of its failure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STATEMENT_H
#define TWT_STATEMENT_H

#include "libpq-fe.h"

/* Static, known by its address. */
typedef struct PgStatement
{
	const char *name;
	const char *sql;
	bool		caller_logs;	/* the caller logs a failure */
} PgStatement;

/* The five characters; "" when there is none. */
extern const char *pg_sqlstate(const PGresult *result);

#endif							/* TWT_STATEMENT_H */
