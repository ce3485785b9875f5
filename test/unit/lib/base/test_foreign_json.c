/*-------------------------------------------------------------------------
 *
 * test_foreign_json.c
 *		JSON that others wrote: its size costs what it must, and no more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "base/foreign_json.h"

static double
processor_time(void)
{
	return (double) clock() / CLOCKS_PER_SEC;
}

/* Very many numbers behind one that is too large. */
static void
test_many_numbers(void **state)
{
	StringInfoData text;
	json_t	   *json;
	double		before;
	ForeignJsonFault fault;
	int			n = 500000;

	(void) state;
	initStringInfo(&text);
	appendStringInfoString(&text, "[99999999999999999999");
	for (int i = 1; i < n; i++)
		appendStringInfoString(&text, ",1");
	appendStringInfoChar(&text, ']');
	before = processor_time();
	json = foreign_json_load(text.data, text.len, NULL, &fault);
	/* it takes a tenth of a second; were it quadratic, much longer */
	assert_true(processor_time() - before < 10);
	assert_int_equal(json_array_size(json), n);
	assert_string_equal(json_string_value(json_array_get(json, 0)), "99999999999999999999");
	assert_int_equal(json_integer_value(json_array_get(json, n - 1)), 1);
	json_decref(json);
	pfree(text.data);
}

/* Numbers that are too large, and numbers that only look so. */
static void
test_large_numbers(void **state)
{
	const char *text = "[-99999999999999999999, 1e400, -9223372036854775808, 1.5, 2e3]";
	json_t	   *json;
	ForeignJsonFault fault;

	(void) state;
	json = foreign_json_load(text, strlen(text), NULL, &fault);
	assert_string_equal(json_string_value(json_array_get(json, 0)), "-99999999999999999999");
	assert_string_equal(json_string_value(json_array_get(json, 1)), "1e400");
	assert_true(json_integer_value(json_array_get(json, 2)) == PG_INT64_MIN);
	assert_true(json_real_value(json_array_get(json, 3)) == 1.5);
	assert_true(json_real_value(json_array_get(json, 4)) == 2000);
	json_decref(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_numbers),
		cmocka_unit_test(test_large_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
