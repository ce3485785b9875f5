/*-------------------------------------------------------------------------
 *
 * answer.c
 *		Whether an answer has the columns and rows that its statement promises.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <ctype.h>

#include "pg/answer.h"

static bool
has_size(char kind, int len)
{
	switch (kind)
	{
		case 'b':
			return len == 1;
		case 'i':
			return len == 2 || len == 4 || len == 8;
		case 'p':
			return len == 6;
		case 'u':
			return len == 16;
		default:
			return true;
	}
}

/*
 * Each value of each answer comes here.  So libpq is asked whether it is NULL only
 * where its length leaves that open.
 */
static bool
fits(char letter, const PGresult *result, int row, int column)
{
	bool		may_be_null = islower((unsigned char) letter);
	char		kind = letter | ('a' - 'A');
	int			len;

	if (may_be_null && has_size(kind, 0))
		return true;
	len = PQgetlength(result, row, column);
	if (len > 0)
		return has_size(kind, len);
	return PQgetisnull(result, row, column) ? may_be_null : has_size(kind, 0);
}

/* Returns the number of the first column with a value that does not fit, from 1; 0: none. */
static int
unfit_column(const char *letters, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++)
		for (int i = 0; letters[i] != '\0'; i++)
			if (!fits(letters[i], result, row, i))
				return i + 1;
	return 0;
}

char *
answer_fault(const PgStatement *statement, const PGresult *result)
{
	const char *letters = statement->answer;
	bool		has_one_row;
	int			unfit;

	if (letters == NULL)
		return NULL;
	has_one_row = *letters == '1';
	letters += has_one_row;
	if (PQnfields(result) != (int) strlen(letters))
		return psprintf("columns in the answer to %s: %d, not %zu", statement->name,
						PQnfields(result), strlen(letters));
	if (has_one_row && PQntuples(result) != 1)
		return psprintf("rows in the answer to %s: %d, not 1", statement->name, PQntuples(result));
	unfit = unfit_column(letters, result);
	return unfit == 0 ? NULL :
		psprintf("column %d of the answer to %s is malformed", unfit, statement->name);
}
