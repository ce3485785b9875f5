/*-------------------------------------------------------------------------
 *
 * answer.h
 *		Whether an answer has the columns and rows that its statement promises.
 *
 *		from: pg.h
 *
 * Private to pg.c.
 *
 * Code that reads an answer takes its columns for granted.  A server may send anything:
 * somebody replaced a function, or it is not the server that we believe it is.  So each
 * statement whose answer is read says what its rows have, and pg.c drops a connection that
 * answers otherwise before anybody reads a value.
 *
 * PgStatement.answer has a letter for each column.  Sizes are those of the binary format:
 *
 *	 b	boolean			i	integer of 2, 4 or 8 bytes, or a time
 *	 p	tid				t	any bytes, such as text, jsonb, bytea and arrays
 *	 u	uuid
 *
 * A capital letter is a column that is never null.  A "1" before the letters stands for
 * exactly one row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef TWT_ANSWER_H
#define TWT_ANSWER_H

#include "pg/statement.h"

/* Says what is wrong with the answer to a call that succeeded, palloc'd; NULL: nothing. */
extern char *answer_fault(const PgStatement *statement, const PGresult *result) MUSTCHECK;

#endif							/* TWT_ANSWER_H */
