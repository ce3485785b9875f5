/*-------------------------------------------------------------------------
 *
 * test_http_access.c
 *		Who may ask something of the HTTP server.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <unistd.h>

#include "check.h"
#include "web/http_access.h"

static void
test_tokens(void **state)
{
	char	   *tokens[] = {"first token", "second", NULL};

	assert_true(http_has_token("Bearer first token", tokens));
	assert_true(http_has_token("bearer second", tokens));
	assert_false(http_has_token(NULL, tokens));
	assert_false(http_has_token("", tokens));
	assert_false(http_has_token("Bearer ", tokens));
	assert_false(http_has_token("Bearer", tokens));
	assert_false(http_has_token("second", tokens));
	assert_false(http_has_token("Basic second", tokens));
	assert_false(http_has_token("Bearer second ", tokens));
	assert_false(http_has_token("Bearer  second", tokens));
	assert_false(http_has_token("Bearer Second", tokens));
	assert_false(http_has_token("Bearer third", tokens));
}

static void
test_hosts(void **state)
{
	assert_true(http_is_our_host(NULL));
	assert_true(http_is_our_host("127.0.0.1"));
	assert_true(http_is_our_host("127.0.0.1:9180"));
	assert_true(http_is_our_host("localhost:9180"));
	assert_true(http_is_our_host("LocalHost"));
	assert_true(http_is_our_host("[::1]:9180"));
	assert_false(http_is_our_host(""));
	assert_false(http_is_our_host(":9180"));
	assert_false(http_is_our_host("evil.example"));
	assert_false(http_is_our_host("evil.example:9180"));
	assert_false(http_is_our_host("127.0.0.1.evil.example"));
	assert_false(http_is_our_host("localhost.evil.example"));
	assert_false(http_is_our_host("localhos"));
}

static void
test_listed_hosts(void **state)
{
	char	   *names[] = {"tasks.example", "other.example:9180", NULL};
	char		own[256] = "";

	assert_true(http_is_listed_host("tasks.example", names));
	assert_true(http_is_listed_host("Tasks.Example:443", names));
	assert_true(http_is_listed_host("other.example:9180", names));
	assert_false(http_is_listed_host("other.example", names));
	assert_false(http_is_listed_host("other.example:91801", names));
	assert_false(http_is_listed_host("tasks.example.evil.example", names));
	assert_false(http_is_listed_host("xtasks.example", names));
	assert_false(http_is_listed_host("tasks.exampl", names));
	assert_false(http_is_listed_host("", names));
	assert_false(http_is_listed_host("tasks.example", NULL));
	assert_false(http_is_listed_host(NULL, names));
	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	assert_true(http_is_listed_host(own, NULL));
}

static void
test_origins(void **state)
{
	assert_true(http_is_our_origin(NULL, NULL));
	assert_true(http_is_our_origin(NULL, "127.0.0.1:9180"));
	assert_true(http_is_our_origin("http://127.0.0.1:9180", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://127.0.0.1", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://evil.example", "127.0.0.1:9180"));
	assert_true(http_is_our_origin("https://tasks.example", "Tasks.example"));
	assert_false(http_is_our_origin("https://tasks.example.evil.example", "tasks.example"));
	assert_false(http_is_our_origin("ftp://127.0.0.1:9180", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("127.0.0.1:9180", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("null", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://", NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_listed_hosts),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
