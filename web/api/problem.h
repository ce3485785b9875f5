/*-------------------------------------------------------------------------
 *
 * problem.h
 *		The refusals of the management API, as RFC 9457 has them.
 *
 * A problem is one row of a table: its word in statements, its type in answers, its
 * status.  A message of the database may quote data of others, so clients see the
 * sentences of this table only; the log has the message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_PROBLEM_H
#define TWT_PROBLEM_H

#include "libpq-fe.h"

typedef struct Problem
{
	const char *word;			/* as statements say it */
	const char *type;			/* behind /problems/ */
	int			status;
	const char *title;
	const char *detail;			/* NULL: the title says all */
	bool		is_logged;		/* the log has the message of the database */
} Problem;

#define PROBLEM_CONTENT_TYPE "application/problem+json"

/* The n-th row of the table, from 0; NULL: there are no more. */
extern const Problem *problem_at(int n);

/* NULL: no problem has this word. */
extern const Problem *problem_by_word(const char *word);

/* For words that stand in our own code. */
extern const Problem *problem_of(const char *word);

/*
 * The problem of a statement that failed.  A result of NULL: its role could not be
 * taken on.
 */
extern const Problem *problem_of_result(const PGresult *result, bool is_read);

/*
 * Returns the JSON of a problem, palloc'd.  detail: NULL: the one of the problem.
 * members: the text of an object, whose members the problem has too; NULL: none.
 */
extern char *problem_text(const Problem *problem, const char *detail, const char *members);

#endif							/* TWT_PROBLEM_H */
