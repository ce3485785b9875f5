/*-------------------------------------------------------------------------
 *
 * test_words.c
 *		Lists that end in NULL: their length, and their variables.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "base/words.h"

static char *nothing[] = {NULL};
static char *variables[] = {"PATH=/bin", "PAT=x", "EMPTY=", "TWICE=1", "TWICE=2", "BARE", "A=B=C", NULL};

static void
test_count(void **state)
{
	assert_int_equal(words_count(NULL), 0);
	assert_int_equal(words_count(nothing), 0);
	assert_int_equal(words_count(variables), 7);
	assert_int_equal(words_count(variables + 6), 1);
}

static void
test_variable(void **state)
{
	assert_string_equal(words_variable(variables, "PATH"), "/bin");
	assert_string_equal(words_variable(variables, "PAT"), "x");
	assert_string_equal(words_variable(variables, "EMPTY"), "");
	assert_string_equal(words_variable(variables, "TWICE"), "1");
	assert_string_equal(words_variable(variables, "A"), "B=C");
}

/* Beginnings of names, entries without a value, and other cases are no match. */
static void
test_no_variable(void **state)
{
	assert_null(words_variable(NULL, "PATH"));
	assert_null(words_variable(nothing, "PATH"));
	assert_null(words_variable(variables, "PA"));
	assert_null(words_variable(variables, "PATHS"));
	assert_null(words_variable(variables, "path"));
	assert_null(words_variable(variables, "BARE"));
	assert_null(words_variable(variables, "C"));
	assert_null(words_variable(variables, "B"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_variable),
		cmocka_unit_test(test_no_variable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
