/*-------------------------------------------------------------------------
 *
 * test_limit_pattern.c
 *		Which limits a type is under, by their patterns.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "common/limit_pattern.h"

static void
assert_name(const char *pattern, const char *type, const char *expected)
{
	char		name[LIMIT_NAME_MAX + 1];
	int			narrowness = limit_pattern_name(pattern, type, name);

	if ((narrowness < 0) != (expected == NULL))
		fail_msg("\"%s\" for \"%s\": %d", pattern, type, narrowness);
	if (expected != NULL)
		assert_string_equal(name, expected);
}

static void
test_valid(void **state)
{
	char		longest[LIMIT_NAME_MAX + 2];

	(void) state;
	memset(longest, 'A', sizeof(longest));
	assert_true(limit_pattern_valid("*", 1));
	assert_true(limit_pattern_valid("A", 1));
	assert_true(limit_pattern_valid("A*", 2));
	assert_true(limit_pattern_valid("A|*", 3));
	assert_true(limit_pattern_valid("|*", 2));
	assert_true(limit_pattern_valid(longest, TRIGGER_TYPE_MAX));
	assert_false(limit_pattern_valid(longest, LIMIT_NAME_MAX));
	longest[LIMIT_NAME_MAX - 1] = '*';
	assert_true(limit_pattern_valid(longest, LIMIT_NAME_MAX));
	longest[LIMIT_NAME_MAX - 1] = 'A';
	longest[LIMIT_NAME_MAX] = '*';
	assert_false(limit_pattern_valid(longest, LIMIT_NAME_MAX + 1));
	assert_false(limit_pattern_valid("", 0));
	assert_false(limit_pattern_valid("**", 2));
	assert_false(limit_pattern_valid("*A", 2));
	assert_false(limit_pattern_valid("A|*|B", 5));
	assert_false(limit_pattern_valid("A B", 3));
	assert_false(limit_pattern_valid("A\nB", 3));
}

static void
test_names(void **state)
{
	(void) state;
	assert_name("*", "A|x", "*");
	assert_name("A*", "A", "A*");
	assert_name("A*", "AB", "A*");
	assert_name("A*", "B", NULL);
	assert_name("A", "A", "A");
	assert_name("A", "A|x|1", "A");
	assert_name("A", "AB", NULL);
	assert_name("A", "B", NULL);
	assert_name("AB", "A", NULL);
	assert_name("A|*", "A", NULL);
	assert_name("A|*", "A|x", "A|x");
	assert_name("A|*", "A|x|1", "A|x");
	assert_name("A|*", "A|", "A|");
	assert_name("A|*", "A||1", "A|");
	assert_name("A|*", "AB|x", NULL);
	assert_name("A|x|*", "A|x|1|2", "A|x|1");
	assert_name("A|x|*", "A|y|1", NULL);
	assert_name("A|x", "A|x|1", "A|x");
	assert_true(limit_pattern_is_keyed("A|*"));
	assert_true(limit_pattern_is_keyed("|*"));
	assert_false(limit_pattern_is_keyed("A*"));
	assert_false(limit_pattern_is_keyed("*"));
	assert_false(limit_pattern_is_keyed("A"));
}

/* The longest type, and a name as long as can be. */
static void
test_longest(void **state)
{
	char		type[TRIGGER_TYPE_MAX + 1];
	char		name[LIMIT_NAME_MAX + 1];

	(void) state;
	memset(type, 'A', TRIGGER_TYPE_MAX);
	type[TRIGGER_TYPE_MAX] = '\0';
	assert_int_equal(limit_pattern_name(type, type, name), 2 * TRIGGER_TYPE_MAX + 1);
	assert_string_equal(name, type);
	type[0] = '|';
	assert_int_equal(limit_pattern_name("|*", type, name), 2 * TRIGGER_TYPE_MAX + 1);
	assert_string_equal(name, type);
}

static const char *const patterns[] = {
	"*", "A*", "A", "A|*", "A|x", "A|x*", "A|x|*", "A|*", "AB", "AB*", "A|x|1", "|*", "|"
};

static const char *const types[] = {
	"A", "AB", "A|x", "A|xy", "A|x|1", "A|x|1|z", "A|y", "A|", "AB|x", "|", "|x", "B"
};

static bool
covers(const char *pattern, const char *type)
{
	char		name[LIMIT_NAME_MAX + 1];

	return limit_pattern_name(pattern, type, name) >= 0;
}

/*
 * If two names cover a type, the wider one covers every type of the narrower.
 * Each of these types gets the same name.
 */
static void
test_narrower_lies_within(void **state)
{
	(void) state;
	for (size_t t = 0; t < lengthof(types); t++)
		for (size_t p = 0; p < lengthof(patterns); p++)
			for (size_t q = 0; q < lengthof(patterns); q++)
			{
				char		wide[LIMIT_NAME_MAX + 1];
				char		narrow[LIMIT_NAME_MAX + 1];
				int			wide_number = limit_pattern_name(patterns[p], types[t], wide);
				int			narrow_number = limit_pattern_name(patterns[q], types[t], narrow);

				if (wide_number < 0 || narrow_number < 0)
					continue;
				assert_int_equal(wide_number == narrow_number, strcmp(wide, narrow) == 0);
				for (size_t u = 0; wide_number <= narrow_number && u < lengthof(types); u++)
					if (covers(narrow, types[u]))
						assert_true(covers(wide, types[u]));
			}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_narrower_lies_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
