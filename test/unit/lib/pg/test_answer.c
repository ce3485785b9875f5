/*-------------------------------------------------------------------------
 *
 * test_answer.c
 *		An answer with other columns, rows or values than promised is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "pg/answer.h"

/* An answer of that many columns and rows, whose values all have this size; -1: null. */
static PGresult *
make_answer(int ncolumns, int nrows, int size)
{
	PGresult   *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc columns[4] = {{.name = "c"}, {.name = "c"}, {.name = "c"}, {.name = "c"}};
	char		value[16] = {0};

	assert_true(PQsetResultAttrs(result, ncolumns, columns));
	for (int row = 0; row < nrows; row++)
		for (int i = 0; i < ncolumns; i++)
			assert_true(PQsetvalue(result, row, i, size < 0 ? NULL : value, size));
	return result;
}

static void
expect(const char *promise, int ncolumns, int nrows, int size, const char *fault)
{
	const PgStatement statement = {"ask", "", .answer = promise};
	PGresult   *result = make_answer(ncolumns, nrows, size);
	char	   *said = answer_fault(&statement, result);

	if (fault == NULL)
		assert_null(said);
	else
		assert_string_equal(said, fault);
	pfree(said);
	PQclear(result);
}

static void
test_as_promised(void **state)
{
	expect("u", 1, 3, 16, NULL);
	expect("iii", 3, 0, 0, NULL);
	expect("1i", 1, 1, 2, NULL);
	expect("i", 1, 1, 8, NULL);
	expect("pp", 2, 1, 6, NULL);
	expect("tT", 2, 2, 0, NULL);
	expect("bipu", 4, 2, -1, NULL);
	expect("UUU", 3, 2, 16, NULL);
}

static void
test_nobody_reads_it(void **state)
{
	expect(NULL, 0, 0, 0, NULL);
	expect(NULL, 4, 2, 3, NULL);
}

static void
test_columns_and_rows(void **state)
{
	expect("it", 1, 1, 4, "columns in the answer to ask: 1, not 2");
	expect("i", 2, 1, 4, "columns in the answer to ask: 2, not 1");
	expect("1i", 0, 0, 0, "columns in the answer to ask: 0, not 1");
	expect("1i", 1, 0, 4, "rows in the answer to ask: 0, not 1");
	expect("1i", 1, 2, 4, "rows in the answer to ask: 2, not 1");
}

static void
test_values(void **state)
{
	expect("tu", 2, 1, 15, "column 2 of the answer to ask is malformed");
	expect("i", 1, 1, 3, "column 1 of the answer to ask is malformed");
	expect("b", 1, 1, 0, "column 1 of the answer to ask is malformed");
	expect("p", 1, 1, 8, "column 1 of the answer to ask is malformed");
	expect("tT", 2, 1, -1, "column 2 of the answer to ask is malformed");
	expect("uU", 2, 1, -1, "column 2 of the answer to ask is malformed");
	expect("tI", 2, 1, 0, "column 2 of the answer to ask is malformed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_promised),
		cmocka_unit_test(test_nobody_reads_it),
		cmocka_unit_test(test_columns_and_rows),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
