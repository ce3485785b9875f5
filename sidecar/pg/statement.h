/*-------------------------------------------------------------------------
 *
 * statement.h
 *		One SQL statement of the sidecar, and its outcome.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_STATEMENT_H
#define TWT_STATEMENT_H

#include "libpq-fe.h"

/* A static object, which its address identifies. */
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

/* result is valid only during the call; it is NULL for a lost call. */
typedef void (*PgResultFn) (void *arg, PgOutcome outcome, PGresult *result);

/* Returns the five characters of the SQLSTATE; "" if there is none. */
extern const char *pg_sqlstate(const PGresult *result);

#endif							/* TWT_STATEMENT_H */
