/*-------------------------------------------------------------------------
 *
 * statement.h
 *		One SQL statement of the sidecar, and what came of it.
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

typedef enum PgOutcome
{
	PG_DONE,
	PG_FAILED,
	PG_LOST
} PgOutcome;

/* result is valid during the call only; NULL when lost. */
typedef void (*PgResultFn) (void *arg, PgOutcome outcome, PGresult *result);

/* The five characters; "" when there is none. */
extern const char *pg_sqlstate(const PGresult *result);

#endif							/* TWT_STATEMENT_H */
