/*-------------------------------------------------------------------------
 *
 * test_http_access.c
 *		Where HTTP is served, and who may ask.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "web/http_access.h"
#include "base/address.h"
#include "check.h"

static void
expect_address(const char *text, const char *host, int port, bool is_local)
{
	HttpAddress address;
	const char *error = http_address_parse(text, &address);

	if (error != NULL)
		fail_msg("%s: %s", text, error);
	if (strcmp(address.host, host) != 0 || address.port != port || address.is_local != is_local)
		fail_msg("%s: host \"%s\", port %d%s", text, address.host, address.port,
				 address.is_local ? ", local" : "");
}

static void
test_addresses(void **state)
{
	expect_address("127.0.0.1:9180", "127.0.0.1", 9180, true);
	expect_address("127.1.2.3:1", "127.1.2.3", 1, true);
	expect_address("localhost:80", "localhost", 80, true);
	expect_address("[::1]:65535", "::1", 65535, true);
	expect_address("0.0.0.0:9180", "0.0.0.0", 9180, false);
	expect_address("[::]:9180", "::", 9180, false);
	expect_address("192.0.2.1:9180", "192.0.2.1", 9180, false);
	expect_address("[::ffff:127.0.0.1]:9180", "::ffff:127.0.0.1", 9180, false);
}

static void
test_no_addresses(void **state)
{
	static const char *const wrong[] = {
		"", ":", ":9180", "9180", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
		"127.0.0.1:99999999999999999999", "127.0.0.1:80x", "127.0.0.1:-1", "127.0.0.1: 80",
		"example.com:80", "::1:80", "[::1:80", "[]:80", "[::1]", "1.2.3:80:90", "/tmp/socket:1",
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx:1"
	};
	HttpAddress address;

	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (http_address_parse(wrong[i], &address) == NULL)
			fail_msg("taken: \"%s\"", wrong[i]);
}

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
test_origins(void **state)
{
	assert_true(http_is_our_origin(NULL, NULL));
	assert_true(http_is_our_origin(NULL, "127.0.0.1:9180"));
	assert_true(http_is_our_origin("http://127.0.0.1:9180", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://127.0.0.1", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://evil.example", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("https://127.0.0.1:9180", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("null", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("", "127.0.0.1:9180"));
	assert_false(http_is_our_origin("http://", NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_no_addresses),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_origins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
