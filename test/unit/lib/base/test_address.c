/*-------------------------------------------------------------------------
 *
 * test_address.c
 *		Addresses of this machine that a server listens on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/address.h"
#include "check.h"

static void
expect_address(const char *text, const char *host, int port, bool is_local)
{
	Address		address;
	const char *error = address_parse(text, &address);

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
	Address		address;

	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (address_parse(wrong[i], &address) == NULL)
			fail_msg("taken: \"%s\"", wrong[i]);
}

/* The host may be a name, and has no brackets in it. */
static void
test_split(void **state)
{
	static const char *const wrong[] = {"[[::1]]:80", "[[]:80", "a]:80", "a[:80", "[a]b:80"};
	Address		address;

	assert_true(address_split("[::1]:80", &address));
	assert_string_equal(address.host, "::1");
	assert_true(address_split("zk1.example.org:2181", &address));
	assert_string_equal(address.host, "zk1.example.org");
	for (int i = 0; i < (int) lengthof(wrong); i++)
		if (address_split(wrong[i], &address))
			fail_msg("taken: \"%s\"", wrong[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_no_addresses),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
