/*-------------------------------------------------------------------------
 *
 * test_listen_settings.c
 *		A listener reads what its settings say, and refuses others by name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "workers/kafka/listen_settings.h"

#define KAFKA "\"kafka\":{\"brokers\":[\"b:9092\"],\"group\":\"g\"%s}"
#define LINE "{\"listen\":1,\"node\":\"n\",\"postgres\":\"host=db\"," KAFKA "," \
	"\"listeners\":[{\"name\":\"billing\",\"topics\":[\"invoices\"],\"type\":\"BILL\"%s}]}"

static ListenSettings *
read_line(const char *kafka, const char *listener, WorkerFault *fault)
{
	char	   *line = psprintf(LINE, kafka, listener);
	ListenSettings *settings = listen_settings_new(line, fault);

	pfree(line);
	return settings;
}

static void
check_conf(const rd_kafka_conf_t * conf, const char *name, const char *expected)
{
	char		value[200];
	size_t		size = sizeof(value);

	assert_int_equal(rd_kafka_conf_get(conf, name, value, &size), RD_KAFKA_CONF_OK);
	assert_string_equal(value, expected);
}

static void
test_defaults(void **state)
{
	WorkerFault fault = {NULL, NULL};
	ListenSettings *settings = read_line("", "", &fault);
	const ListenerSettings *listener = &settings->listeners[0];

	assert_int_equal(settings->nlisteners, 1);
	assert_string_equal(listener->topics[0], "invoices");
	assert_null(listener->topics[1]);
	assert_string_equal(listener->value, "json");
	assert_string_equal(listener->corrupt, "retry");
	assert_null(listener->key);
	assert_null(listener->headers);
	assert_int_equal(listener->start, PARTITION_LATEST);
	check_conf(listener->conf, "group.id", "g.billing");
	check_conf(listener->conf, "auto.offset.reset", "error");
	check_conf(listener->conf, "enable.auto.offset.store", "false");
	check_conf(listener->conf, "isolation.level", "read_committed");
	check_conf(listener->conf, "partition.assignment.strategy", "range,roundrobin");
	listen_settings_free(settings);
}

static void
test_topics(void **state)
{
	WorkerFault fault = {NULL, NULL};
	ListenSettings *settings = read_line(",\"namespace\":\"eu\",\"prefixes\":[\"test-\"]",
										 ",\"headers\":[\"*\"],\"start\":1800", &fault);
	const ListenerSettings *listener = &settings->listeners[0];

	assert_string_equal(listener->topics[0], "eu.invoices");
	assert_string_equal(listener->topics[1], "test-eu.invoices");
	assert_null(listener->topics[2]);
	check_conf(listener->conf, "group.id", "eu.g.billing");
	assert_string_equal(listener->headers[0], "*");
	assert_null(listener->headers[1]);
	assert_int_equal(listener->start, PARTITION_YOUNG);
	assert_int_equal(listener->age_ms, 1800000);
	listen_settings_free(settings);
}

/* The client would refuse a list that has a topic twice. */
static void
test_topic_twice(void **state)
{
	WorkerFault fault = {NULL, NULL};
	ListenSettings *settings = read_line(",\"prefixes\":[\"eu.\"]",
										 ",\"topics\":[\"bills\",\"eu.bills\",\"bills\"]", &fault);
	const ListenerSettings *listener = &settings->listeners[0];

	assert_string_equal(listener->topics[0], "bills");
	assert_string_equal(listener->topics[1], "eu.bills");
	assert_string_equal(listener->topics[2], "eu.eu.bills");
	assert_null(listener->topics[3]);
	listen_settings_free(settings);
}

static void
test_faults(void **state)
{
	static const struct
	{
		const char *kafka;
		const char *listener;
		const char *setting;
	}			cases[] = {
		{"", ",\"name\":\"a b\"", "listeners[0].name"},
		{"", ",\"topics\":[]", "listeners[0].topics"},
		{"", ",\"topics\":[\"a b\"]", "listeners[0].topics"},
		{",\"group\":\"a/b\"", "", "kafka.group"},
		{",\"settings\":{\"linger.mss\":1}", "", "kafka.settings[\"linger.mss\"]"},
		{",\"settings\":{\"auto.offset.reset\":\"latest\"}", "",
		"kafka.settings[\"auto.offset.reset\"]"},
		{",\"settings\":{\"sasl.password\":\"x\"}", "", "kafka.settings[\"sasl.password\"]"},
		{",\"brokers\":[]", "", "kafka.brokers"},
	};

	for (size_t i = 0; i < lengthof(cases); i++)
	{
		WorkerFault fault = {NULL, NULL};

		assert_null(read_line(cases[i].kafka, cases[i].listener, &fault));
		assert_string_equal(fault.setting, cases[i].setting);
		assert_non_null(fault.reason);
		pfree(fault.setting);
		pfree(fault.reason);
	}
}

static void
test_junk(void **state)
{
	static const char *const lines[] = {
		"", "{", "[]", "7", "{}", "{\"postgres\":\"host=db\"}",
		"{\"postgres\":\"no such=word\",\"listeners\":[{}]}",
		"{\"listeners\":[7]}", "{\"listeners\":[{\"topics\":[7]}]}",
	};

	for (size_t i = 0; i < lengthof(lines); i++)
	{
		WorkerFault fault = {NULL, NULL};

		assert_null(listen_settings_new(lines[i], &fault));
		assert_non_null(fault.reason);
		pfree(fault.setting);
		pfree(fault.reason);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_topics),
		cmocka_unit_test(test_topic_twice),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_junk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
