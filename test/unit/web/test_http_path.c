/*-------------------------------------------------------------------------
 *
 * test_http_path.c
 *		The path of a request: its encoding, and the patterns that it matches.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "web/http_path.h"

static void
test_encoding(void **state)
{
	assert_true(http_path_is_encoded(""));
	assert_true(http_path_is_encoded("/a+b"));
	assert_true(http_path_is_encoded("/%41%2f%2F%25"));
	assert_true(http_path_is_encoded("/%C3%a9%01"));
	assert_false(http_path_is_encoded("/%"));
	assert_false(http_path_is_encoded("/%4"));
	assert_false(http_path_is_encoded("/%4g"));
	assert_false(http_path_is_encoded("/%g4"));
	assert_false(http_path_is_encoded("/%%41"));
	assert_false(http_path_is_encoded("/a%00"));
}

static void
test_match(void **state)
{
	HttpParts	parts = {0};

	assert_true(http_path_match("/health", "/health", &parts));
	assert_int_equal(parts.n, 0);
	assert_false(http_path_match("/health", "/healthy", &parts));
	assert_false(http_path_match("/health", "/healt", &parts));
	assert_false(http_path_match("/health", "/h%65alth", &parts));
	assert_false(http_path_match("/a/*", "/a/", &parts));
	assert_false(http_path_match("/a/*", "/a/b/", &parts));
	assert_false(http_path_match("/a/*", "/a/b/c", &parts));
	assert_false(http_path_match("/a/*/c", "/a//c", &parts));
	http_parts_free(&parts);
}

static void
test_parts(void **state)
{
	HttpParts	parts = {0};

	assert_true(http_path_match("/a/*", "/a/x", &parts));
	assert_true(http_path_match("/a/*/*", "/a/b%2Fc/%25%41", &parts));
	assert_int_equal(parts.n, 2);
	assert_string_equal(parts.parts[0], "b/c");
	assert_string_equal(parts.parts[1], "%A");
	assert_false(http_path_match("/*/*/*/*/*/*/*/*/*", "/a/b/c/d/e/f/g/h/i", &parts));
	http_parts_free(&parts);
	assert_int_equal(parts.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_encoding),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
