/*-------------------------------------------------------------------------
 *
 * test_config_listeners.c
 *		The options of listeners, and what their process is told.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config_text.h"

#define KAFKA "kafka: {brokers: ['b:1'], group: g}\n"
#define LISTENERS(text) KAFKA "listeners: [" text "]\n" HANDLERS

static void
expect_line(const char *text, const char *expected)
{
	Config	   *config = read_text(text);

	assert_non_null(config->listeners_line);
	if (strstr(config->listeners_line, expected) == NULL)
		fail_msg("\"%s\" is not in %s", expected, config->listeners_line);
	options_free(&config_section, config);
}

static void
test_line(void **state)
{
#ifndef WITH_KAFKA
	skip();
#endif
	expect_line("node: n\npostgres: dbname=app\nlog: {format: json}\n" LISTENERS("{topics: [a, b], type: A}"),
				"{\"listen\":1,\"node\":\"n\",\"postgres\":\"dbname=app\",\"log\":\"json\",\"level\":\"info\","
				"\"kafka\":{\"brokers\":[\"b:1\"],\"group\":\"g\"},\"listeners\":[");
	expect_line(LISTENERS("{topics: [a, b], type: A}"),
				"[{\"name\":\"a\",\"topics\":[\"a\",\"b\"],\"type\":\"A\",\"value\":\"json\",\"corrupt\":\"retry\",\"start\":\"latest\"}]");
	expect_line(LISTENERS("{topics: [a], type: A, value: bytes, key: 'header:id', headers: [x], corrupt: task, start: 30min}"),
				"\"value\":\"bytes\",\"key\":\"header:id\",\"headers\":[\"x\"],\"corrupt\":\"task\",\"start\":1800.0}]");
	expect_line(LISTENERS("{topics: [a], function: s.f}, {name: other, topics: [a], type: B}"),
				"\"function\":\"s.f\"");
	expect_line("postgres: dbname=app\nlisteners_postgres: dbname=app user=listener\n" LISTENERS("{topics: [a], type: A}"),
				"\"postgres\":\"dbname=app user=listener\"");
}

/* The sidecar starts another process if its line has changed. */
static void
test_line_of_secrets(void **state)
{
	static const char *const secrets[] = {"first", "first", "second"};
	char	   *path = psprintf("%s/secret", directory);
	char	   *text = psprintf("kafka: {brokers: ['b:1'], group: g, secrets: {sasl.password: %s}}\n"
								"listeners: [{topics: [a], type: A}]\n" HANDLERS, path);
	char	   *lines[3];

#ifndef WITH_KAFKA
	skip();
#endif
	for (int i = 0; i < 3; i++)
	{
		int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC * (i != 1), 0600);
		Config	   *config;

		assert_int_equal(i == 1 ? 0 : write(fd, secrets[i], strlen(secrets[i])), i == 1 ? 0 : strlen(secrets[i]));
		close(fd);
		config = read_text(text);
		lines[i] = pstrdup(config->listeners_line);
		assert_null(strstr(lines[i], secrets[i]));
		options_free(&config_section, config);
	}
	assert_string_equal(lines[0], lines[1]);
	assert_string_not_equal(lines[1], lines[2]);
	for (int i = 0; i < 3; i++)
		pfree(lines[i]);
	unlink(path);
	pfree(text);
	pfree(path);
}

static void
test_no_listeners(void **state)
{
	Config	   *config = read_text(HANDLERS);

	assert_null(config->listeners_line);
	options_free(&config_section, config);
}

static void
test_print_is_fixpoint(void **state)
{
	StringInfoData first;
	StringInfoData second;
	Config	   *config;

#ifndef WITH_KAFKA
	skip();
#endif
	config = read_text(LISTENERS("{topics: [a], function: s.f}, {name: b, topics: [a], type: B, key: position, start: 1d}"));
	initStringInfo(&first);
	initStringInfo(&second);
	options_print(&config_section, config, &first);
	options_free(&config_section, config);
	config = read_text(first.data);
	options_print(&config_section, config, &second);
	options_free(&config_section, config);
	assert_string_equal(first.data, second.data);
	assert_non_null(strstr(first.data, "function: \"s.f\""));
	pfree(first.data);
	pfree(second.data);
}

static void
test_errors(void **state)
{
#ifndef WITH_KAFKA
	expect_error_part(LISTENERS("{topics: [a], type: A}"), ":1:8: kafka: could not execute \"");
	skip();
#endif
	expect_error_part("listeners: [{topics: [a], type: A}]\n" HANDLERS,
					  ":1:12: listeners: they need kafka.brokers and kafka.group");
	expect_error_part(LISTENERS(""), ":2:12: listeners: the list must not be empty");
	expect_error_part(LISTENERS("{type: A}"), "listeners[0].topics: the key is missing");
	expect_error_part(LISTENERS("{topics: ['a b'], type: A}"), ":2:23: listeners[0].topics[0]: invalid value \"a b\"");
	expect_error_part(LISTENERS("{topics: [a]}"), ":2:13: listeners[0]: a listener must have exactly one of type and function");
	expect_error_part(LISTENERS("{topics: [a], type: A, function: s.f}"), "exactly one of type and function");
	expect_error_part(LISTENERS("{topics: [a], type: 'A B'}"), "listeners[0].type: invalid value \"A B\"");
	expect_error_part(LISTENERS("{topics: [a], function: f}"), "listeners[0].function: invalid value \"f\": the function must have its schema");
	expect_error_part(LISTENERS("{topics: [a], function: s.f, key: position}"), ":2:47: listeners[0].key: a listener with a function cannot");
	expect_error_part(LISTENERS("{topics: [a], function: s.f, value: bytes}"), "listeners[0].value: a listener with a function cannot");
	expect_error_part(LISTENERS("{topics: [a], function: s.f, key: position}"), "listeners[0].key: a listener with a function cannot");
	expect_error_part(LISTENERS("{topics: [a], function: s.f, headers: [x]}"), "listeners[0].headers: a listener with a function cannot");
	expect_error_part(LISTENERS("{topics: [a], type: A, value: xml}"), "listeners[0].value: must be one of json, bytes, not \"xml\"");
	expect_line(LISTENERS("{topics: [a], type: A, key: message}"), "\"key\":\"message\"");
	expect_line(LISTENERS("{topics: [a], type: A, key: 'bills/{message}'}"), "\"key\":\"bills/{message}\"");
	expect_line(LISTENERS("{topics: [a], type: A, key: 'bills/{json:/a}'}"), "\"key\":\"bills/{json:/a}\"");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: '{message}'}"), "listeners[0].key: invalid value");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: 'bills/{id}'}"), "listeners[0].key: invalid value");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: 'bills/{header:}'}"), "listeners[0].key: invalid value");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: 'bills/{message} '}"), "listeners[0].key: invalid value");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: 'b/{json:/id}', value: bytes}"), "listeners[0].key: only a value that is JSON has a path");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: id}"), "listeners[0].key: invalid value \"id\"");
	expect_error_part(LISTENERS("{topics: [a], type: A, key: 'json:/id', value: bytes}"), "listeners[0].key: only a value that is JSON has a path");
	expect_error_part(LISTENERS("{topics: [a], type: A, start: 5}"), "listeners[0].start: invalid value \"5\"");
	expect_error_part(LISTENERS("{topics: [a], type: A, start: 0s}"), "listeners[0].start: invalid value \"0s\"");
	expect_error_part(LISTENERS("{topics: [a], type: A, corrupt: skip}"), "listeners[0].corrupt: must be one of retry, task, not \"skip\"");
	expect_error_part(LISTENERS("{topics: [a], type: A},\n {topics: [a], type: B}"),
					  "listeners[1].name: listeners[0] has the name \"a\" already");
}

/* The program of the listeners judges what the sidecar does not know. */
static void
test_judged(void **state)
{
#ifndef WITH_KAFKA
	skip();
#endif
	expect_error_part("kafka: {brokers: ['b:1'], group: g, settings:\n {linger.mss: 1}}\n"
					  "listeners: [{topics: [a], type: A}]\n" HANDLERS,
					  ":2:15: kafka.settings.linger.mss: librdkafka does not know this setting");
	expect_error_part("kafka: {brokers: ['b:1'], group: g, settings: {group.id: x}}\n"
					  "listeners: [{topics: [a], type: A}]\n" HANDLERS, "kafka.settings.group.id: ");
}

/* Listeners may come and go by a reload. */
static void
test_reload(void **state)
{
	Config	   *none;
	Config	   *some;

#ifndef WITH_KAFKA
	skip();
#endif
	none = read_text(KAFKA HANDLERS);
	some = read_text(LISTENERS("{topics: [a], type: A}"));
	assert_null(options_needs_restart(&config_section, none, some));
	assert_null(options_needs_restart(&config_section, some, none));
	options_free(&config_section, none);
	options_free(&config_section, some);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_of_secrets),
		cmocka_unit_test(test_no_listeners),
		cmocka_unit_test(test_print_is_fixpoint),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
