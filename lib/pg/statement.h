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
	bool		is_newer;		/* SQL of 1.0 lacks its function, and that is
								 * no fault */

	/*
	 * With a statement before: all parameters have the type text, whatever
	 * the SQL makes of them; otherwise the SQL gives the types.
	 */
	bool		takes_text;

	const char *extension;		/* it needs more than twtasks; NULL: no */
	const char *answer;			/* the columns of its rows, see answer.h;
								 * NULL: nobody reads them */

	/*
	 * Runs before this one, in the same transaction, and takes the first
	 * parameter; NULL: none.  Neither of the two is prepared, so the server
	 * checks each anew in the state that the first one leaves.
	 */
	const struct PgStatement *before;
} PgStatement;

typedef enum PgOutcome
{
	PG_DONE,
	PG_FAILED,
	PG_LOST
} PgOutcome;

/*
 * result is valid only during the call.  It is NULL for a lost call, and for a
 * failed one whose statement "before" failed, which is logged.
 */
typedef void (*PgResultFn) (void *arg, PgOutcome outcome, PGresult *result);

/* Returns the five characters of the SQLSTATE; "" if there is none. */
extern const char *pg_sqlstate(const PGresult *result);

/* Whether libpq gives such a result again and again, until a copy ends. */
extern bool pg_begins_copy(const PGresult *result);

#endif							/* TWT_STATEMENT_H */
