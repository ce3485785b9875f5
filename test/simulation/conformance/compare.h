/*-------------------------------------------------------------------------
 *
 * compare.h
 *		Answers, rows and triggers as text, the same for both sides.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONFORM_COMPARE_H
#define CONFORM_COMPARE_H

#include "libpq-fe.h"

#include "server.h"

/* A statement, as the comparison knows it. */
typedef struct Shape
{
	const PgStatement *statement;

	/*
	 * A letter for each column of the answer: u an id, i a number, b a truth,
	 * t a text, T a time, s an incarnation; n: only whether it is null; -:
	 * anything.
	 */
	const char *columns;
	int			incarnation;	/* place of that parameter; -1: there is none */
	bool		has_order;		/* the order of the rows counts */
} Shape;

/* Fails the history if the test does not know the statement. */
extern const Shape *shape_of(const PgStatement *statement);

/* state: an error; is_server: incarnations are the server's. */
extern void answer_text(StringInfo to, const Shape *shape, const PGresult *result, const char *state, bool is_server);

/* The rows of tasks and of living nodes, a line for each. */
extern void model_rows_text(StringInfo to);
extern void server_rows_prepare(PGconn *conn);
extern void server_rows_text(StringInfo to, PGconn *conn);

/* Adds the triggers of one payload, a line for each. */
extern void payload_text(StringInfo to, const char *payload);

/* Sorts the lines, so that two sets can be compared. */
extern void sort_lines(StringInfo text);

#endif							/* CONFORM_COMPARE_H */
