/*-------------------------------------------------------------------------
 *
 * test_zk_settings.c
 *		A candidate reads what its hello says, and refuses others by name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/zookeeper/zk_settings.h"

#define HELLO(settings) "{\"hello\":1,\"node\":\"a\",\"settings\":{" settings "}}"

static void
test_fine(void **state)
{
	WorkerFault fault = {NULL, NULL};
	ZkSettings *settings = zk_settings_new(HELLO("\"servers\":[\"zk1:2181\",\"[::1]:2182\"],"
												 "\"group\":\"pay_1.2\",\"session\":0.3,"
												 "\"format\":\"json\",\"level\":\"debug\",\"fallback\":30"),
										   &fault);

	assert_string_equal(settings->node, "a");
	assert_int_equal(settings->nservers, 2);
	assert_string_equal(settings->servers[1], "[::1]:2182");
	assert_string_equal(settings->group, "pay_1.2");
	assert_null(settings->digest_file);
	assert_int_equal(settings->session_us, MS_TO_US(300));
	assert_int_equal(settings->log.format, LOG_FORMAT_JSON);
	assert_int_equal(settings->log.level, TWT_LOG_DEBUG);
	zk_settings_free(settings);
}

static void
expect_fault(const char *hello, const char *setting, const char *reason)
{
	WorkerFault fault = {NULL, NULL};

	assert_null(zk_settings_new(hello, &fault));
	assert_string_equal(fault.setting, setting);
	assert_string_equal(fault.reason, reason);
	pfree(fault.setting);
	pfree(fault.reason);
}

static void
test_servers(void **state)
{
	expect_fault("not JSON", "servers", "the list is empty");
	expect_fault(HELLO("\"servers\":[]"), "servers", "the list is empty");
	expect_fault(HELLO("\"servers\":[\"zk1:2181\",\"zk2\"]"), "servers[1]",
				 "invalid value \"zk2\": a server is HOST:PORT, an IPv6 address in brackets");
	expect_fault(HELLO("\"servers\":[\"zk1,zk2:2181\"]"), "servers[0]",
				 "invalid value \"zk1,zk2:2181\": a server is HOST:PORT, an IPv6 address in brackets");
	expect_fault(HELLO("\"servers\":[\"zk1/root:2181\"]"), "servers[0]",
				 "invalid value \"zk1/root:2181\": a server is HOST:PORT, an IPv6 address in brackets");
	expect_fault(HELLO("\"servers\":[7]"), "servers[0]",
				 "invalid value \"\": a server is HOST:PORT, an IPv6 address in brackets");
}

/* A group is one step of a path. */
static void
test_group(void **state)
{
#define WITH_GROUP(group) HELLO("\"servers\":[\"zk1:2181\"],\"session\":10,\"group\":\"" group "\"")
#define REASON(group) "invalid value \"" group "\": a group has letters, digits and . _ -"
	expect_fault(HELLO("\"servers\":[\"zk1:2181\"]"), "group", "the key is missing");
	expect_fault(WITH_GROUP(""), "group", REASON(""));
	expect_fault(WITH_GROUP("."), "group", REASON("."));
	expect_fault(WITH_GROUP(".."), "group", REASON(".."));
	expect_fault(WITH_GROUP("a/b"), "group", REASON("a/b"));
}

static void
test_rest(void **state)
{
#define WITH_REST(rest) HELLO("\"servers\":[\"zk1:2181\"],\"group\":\"g\"," rest)
	expect_fault(WITH_REST("\"session\":0"), "session", "the time must be positive");
	expect_fault(WITH_REST("\"session\":10,\"digest_file\":\"secret\""), "digest_file",
				 "invalid value \"secret\": the path must be absolute");
	expect_fault(WITH_REST("\"session\":10,\"digest_file\":\"/nonexistent\""), "digest_file",
				 "could not open the file: No such file or directory");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fine),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
