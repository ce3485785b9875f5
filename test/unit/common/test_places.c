/*-------------------------------------------------------------------------
 *
 * test_places.c
 *		The places in an error's context: three, whole, and of functions alone.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "common/places.h"

static void
expect(const char *context, const char *expected)
{
	char		places[PLACES_BYTES];

	places_name(context, places);
	assert_string_equal(places, expected);
}

static void
test_lines_of_functions(void **state)
{
	expect(NULL, "");
	expect("", "");
	expect("\n\n", "");
	expect("PL/", "");
	expect("SQL function", "");
	expect("PL/pgSQL function f() line 1 at assignment", ", in PL/pgSQL function f() line 1 at assignment");
	expect("PL/Python function \"f\"\nSQL function \"g\" statement 1\n", ", in PL/Python function \"f\", in SQL function \"g\" statement 1");
	expect("SQL statement \"UPDATE t\nSET a = 'secret'\"\nPL/pgSQL assignment \"x := 'secret'\"\nSQL expression \"'secret'\"\n"
		   "COPY t, line 1: \"secret\"\nPL/pgSQL function f() line 1 at SQL statement",
		   ", in PL/pgSQL function f() line 1 at SQL statement");
}

/* A sender of data must not learn what follows them in a statement. */
static void
test_statement_that_looks_like_a_place(void **state)
{
	expect("SQL statement \"INSERT INTO t VALUES ('x\nPL/x function ', 'secret')\"\nPL/pgSQL function f() line 1 at EXECUTE",
		   ", in PL/pgSQL function f() line 1 at EXECUTE");
}

static void
test_raise_stands_alone(void **state)
{
	expect("PL/pgSQL function f() line 1 at RAISE\nPL/pgSQL function g() line 2 at PERFORM", "");
	expect("SQL function \"f\" statement 1\nPL/pgSQL function g() line 2 at RAISE",
		   ", in SQL function \"f\" statement 1, in PL/pgSQL function g() line 2 at RAISE");
}

static void
test_our_functions_end_the_places(void **state)
{
	expect("PL/pgSQL function f() line 1 at EXECUTE\nSQL statement \"SELECT twtasks_internal.x()\"\n"
		   "PL/pgSQL function twtasks_internal.call_handler(text) line 6 at EXECUTE\nPL/pgSQL function g() line 1 at PERFORM",
		   ", in PL/pgSQL function f() line 1 at EXECUTE");
	expect("PL/pgSQL function f() line 1 at EXECUTE\nPL/pgSQL function g() line 1 at PERFORM\nstatement of twtasks_internal.x()",
		   ", in PL/pgSQL function f() line 1 at EXECUTE, in PL/pgSQL function g() line 1 at PERFORM");
}

static void
test_bounds(void **state)
{
	char		context[3 * PLACES_BYTES];
	char		places[PLACES_BYTES];
	size_t		fits = PLACES_BYTES - 1 - strlen(", in ");

	expect("SQL function a\nSQL function b\nSQL function c\nSQL function d",
		   ", in SQL function a, in SQL function b, in SQL function c");
	memset(context, 'x', sizeof(context));
	memcpy(context, "SQL function ", strlen("SQL function "));
	context[fits] = '\0';
	places_name(context, places);
	assert_int_equal(strlen(places), PLACES_BYTES - 1);
	context[fits] = 'x';
	context[fits + 1] = '\0';
	expect(context, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_functions),
		cmocka_unit_test(test_statement_that_looks_like_a_place),
		cmocka_unit_test(test_raise_stands_alone),
		cmocka_unit_test(test_our_functions_end_the_places),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
