/*-------------------------------------------------------------------------
 *
 * test_candidates.c
 *		A candidate finds its own node by its GUID, and the one before it by
 *		number, among nodes of other names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/zookeeper/candidates.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccc"

static void
test_order(void **state)
{
	char	   *names[] = {C "-0000000001", A "-0000000010", B "-0000000009"};
	struct String_vector list = {lengthof(names), names};

	assert_string_equal(candidates_own(&list, A), names[1]);
	assert_string_equal(candidates_before(&list, names[1]), names[2]);
	assert_string_equal(candidates_before(&list, names[2]), names[0]);
	assert_null(candidates_before(&list, names[0]));
	assert_null(candidates_own(&list, "dddddddddddddddddddddddddddddddd"));
}

static void
test_other_names(void **state)
{
	char	   *names[] = {
		"odd", "0000000000", A "-000000000", A "-00000000000", A "_0000000000",
		A "-000000000x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA-0000000000", B "-0000000005"
	};
	struct String_vector list = {lengthof(names), names};

	assert_null(candidates_own(&list, A));
	assert_string_equal(candidates_own(&list, B), names[7]);
	assert_null(candidates_before(&list, names[7]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_other_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
