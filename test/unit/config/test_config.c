/*-------------------------------------------------------------------------
 *
 * test_config.c
 *		The configuration file, read, checked and printed.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/units.h"
#include "config_text.h"

static char *
print(const Config *config)
{
	StringInfoData out;

	initStringInfo(&out);
	options_print(&config_section, config, &out);
	return out.data;
}

static void
expect_hello(const char *text, const char *part, const char *no_part)
{
	Config	   *config = read_text(text);
	const char *hello = config->handlers[0]->hello;

	if (strstr(hello, part) == NULL || strstr(hello, no_part) != NULL)
		fail_msg("%s", hello);
	options_free(&config_section, config);
}

#define KAFKA_SECTION "kafka: {brokers: ['b:1'], group: g, settings: {client.id: all}}\n"

/* Another cluster must not see the settings of the section. */
static void
test_kafka_of_handlers(void **state)
{
#ifndef WITH_KAFKA
	skip();
#endif
	expect_hello(KAFKA_SECTION "handlers: [{types: [A], kafka: out}]\n",
				 "\"brokers\":[\"b:1\"]", "\"c:1\"");
	expect_hello(KAFKA_SECTION "handlers: [{types: [A], kafka: out}]\n", "\"client.id\":\"all\"", "own");
	expect_hello(KAFKA_SECTION "handlers: [{types: [A], kafka: out, settings: {client.id: own}}]\n",
				 "\"client.id\":\"own\"", "\"all\"");
	expect_hello(KAFKA_SECTION "handlers: [{types: [A], kafka: out, brokers: ['c:1']}]\n",
				 "\"brokers\":[\"c:1\"]", "\"client.id\"");
}

static void
test_defaults(void **state)
{
	Config	   *config = read_text(HANDLERS);
	const HandlerConfig *handler = config->handlers[0];
	char		host[256];

	gethostname(host, sizeof(host));
	assert_string_equal(config->postgres, "");
	assert_string_equal(config->node, host);
	assert_int_equal(config->nbuckets, 1);
	assert_string_equal(config->buckets[0], "default");
	assert_int_equal(config->queue, QUEUE_AUTO);
	assert_int_equal(config->log.format, LOG_FORMAT_TEXT);
	assert_int_equal(config->log.level, TWT_LOG_INFO);
	assert_int_equal(config->concurrency, 0);
	assert_int_equal(config->look_ahead, 100000);
	assert_int_equal(config->drain_us, SECONDS_TO_US(30));
	assert_int_equal(config->lease_us, SECONDS_TO_US(30));
	assert_int_equal(config->sweep_us, SECONDS_TO_US(5));
	assert_int_equal(config->nhandlers, 1);

	assert_ptr_equal(handler_kind(handler), &handler_noop);
	assert_int_equal(handler->ntypes, 1);
	assert_null(handler->argv);
	assert_int_equal(handler->concurrency, 1000);
	assert_int_equal(handler->memory, 64 * 1024 * 1024);
	assert_int_equal(handler->timeout_us, SECONDS_TO_US(600));
	assert_int_equal(handler->stuck, STUCK_ERROR);
	assert_int_equal(handler->retry.delay_us, SECONDS_TO_US(5));
	assert_true(handler->retry.multiplier == 2);
	assert_int_equal(handler->retry.max_delay_us, SECONDS_TO_US(7200));
	assert_int_equal(handler->retry.max_tries, 20);
	assert_true(handler->retry.jitter == 0.1);
	options_free(&config_section, config);
}

static void
test_defaults_of_kinds(void **state)
{
	Config	   *config = read_text("handlers:\n"
								   "- {types: [A], command: [/x]}\n"
								   "- {types: [B], worker: [/x], processes: 3}\n"
								   "- {types: [C], sql: a.f}\n");
	const HandlerConfig *command = config->handlers[0];
	const HandlerConfig *worker = config->handlers[1];
	const HandlerConfig *sql = config->handlers[2];

	assert_string_equal(command->directory, "/");
	assert_int_equal(command->grace_us, SECONDS_TO_US(5));
	assert_int_equal(command->max_output, 65536);
	assert_int_equal(command->concurrency, 10);
	assert_int_equal(worker->prefetch, 1);
	assert_int_equal(worker->concurrency, 3);
	assert_int_equal(sql->processes, 1);
	assert_int_equal(sql->prefetch, 64);
	assert_int_equal(sql->concurrency, 16);
	assert_null(sql->role);
	options_free(&config_section, config);
}

static const char every_key[] =
"postgres: 'host=/run/postgresql dbname=app'\n"
"node: \"payouts-1 \\\"\\u00fc\\\"\"\n"
"buckets: [default, Urgent_1]\n"
"queue: notify\n"
"log: {format: json, level: debug}\n"
"concurrency: 50\n"
"look_ahead: 1000\n"
"drain: 1min\n"
"lease: 1500ms\n"
"sweep: 1h\n"
"handlers:\n"
"  - types: [SEND_EMAIL, 'EMAIL|*']\n"
"    command: [/bin/sh, -c, \"printf 'a\\n' # \\\\\", '', 'null']\n"
"    directory: /var/tmp\n"
"    concurrency: 7\n"
"    timeout: 1d\n"
"    grace: 250ms\n"
"    max_output: 1MB\n"
"    stuck: retry\n"
"    retry: {delay: 0s, multiplier: 1.5, max_delay: 10min, max_tries: 1, jitter: 0.000001}\n"
"  - types: ['*']\n"
"    worker: [/usr/bin/worker]\n"
"    processes: 4\n"
"    prefetch: 3\n"
"    stuck: fail\n"
"  - types: [PAY/OUT.x:y]\n"
"    sql: app.pay_out2\n"
"    role: Some Role\n"
"    processes: 2\n"
"    stuck: ignore\n"
"  - types: [NOOP]\n"
"    noop: true\n";

static void
check_every_root_key(const Config *config)
{
	assert_string_equal(config->postgres, "host=/run/postgresql dbname=app");
	assert_string_equal(config->node, "payouts-1 \"\xc3\xbc\"");
	assert_int_equal(config->nbuckets, 2);
	assert_string_equal(config->buckets[1], "Urgent_1");
	assert_int_equal(config->queue, QUEUE_NOTIFY);
	assert_int_equal(config->log.format, LOG_FORMAT_JSON);
	assert_int_equal(config->log.level, TWT_LOG_DEBUG);
	assert_int_equal(config->concurrency, 50);
	assert_int_equal(config->look_ahead, 1000);
	assert_int_equal(config->drain_us, SECONDS_TO_US(60));
	assert_int_equal(config->lease_us, 1500000);
	assert_int_equal(config->sweep_us, SECONDS_TO_US(3600));
	assert_int_equal(config->nhandlers, 4);
}

static void
check_every_command_key(const HandlerConfig *handler)
{
	assert_ptr_equal(handler_kind(handler), &handler_command);
	assert_int_equal(handler->ntypes, 2);
	assert_string_equal(handler->types[1], "EMAIL|*");
	assert_string_equal(handler->argv[0], "/bin/sh");
	assert_string_equal(handler->argv[2], "printf 'a\n' # \\");
	assert_string_equal(handler->argv[3], "");
	assert_string_equal(handler->argv[4], "null");
	assert_null(handler->argv[5]);
	assert_string_equal(handler->directory, "/var/tmp");
	assert_int_equal(handler->concurrency, 7);
	assert_int_equal(handler->timeout_us, SECONDS_TO_US(86400));
	assert_int_equal(handler->grace_us, 250000);
	assert_int_equal(handler->max_output, 1024 * 1024);
	assert_int_equal(handler->stuck, STUCK_RETRY);
	assert_int_equal(handler->retry.delay_us, 0);
	assert_true(handler->retry.multiplier == 1.5);
	assert_int_equal(handler->retry.max_delay_us, SECONDS_TO_US(600));
	assert_int_equal(handler->retry.max_tries, 1);
	assert_true(handler->retry.jitter == 0.000001);
}

static void
check_every_key(const Config *config)
{
	const HandlerConfig *worker = config->handlers[1];
	const HandlerConfig *sql = config->handlers[2];

	check_every_root_key(config);
	check_every_command_key(config->handlers[0]);
	assert_ptr_equal(handler_kind(worker), &handler_worker);
	assert_string_equal(worker->argv[0], "/usr/bin/worker");
	assert_null(worker->argv[1]);
	assert_int_equal(worker->processes, 4);
	assert_int_equal(worker->prefetch, 3);
	assert_int_equal(worker->concurrency, 12);
	assert_int_equal(worker->stuck, STUCK_FAIL);
	assert_ptr_equal(handler_kind(sql), &handler_sql);
	assert_string_equal(sql->function, "app.pay_out2");
	assert_string_equal(sql->role, "Some Role");
	assert_int_equal(sql->processes, 2);
	assert_int_equal(sql->concurrency, 16);
	assert_int_equal(sql->stuck, STUCK_IGNORE);
	assert_ptr_equal(handler_kind(config->handlers[3]), &handler_noop);
}

static void
test_every_key(void **state)
{
	Config	   *config = read_text(every_key);

	check_every_key(config);
	options_free(&config_section, config);
}

/* A printed configuration reads back as the same, and prints the same again. */
static void
test_print_is_fixpoint(void **state)
{
	Config	   *config = read_text(every_key);
	char	   *once = print(config);
	Config	   *again = read_text(once);
	char	   *twice = print(again);

	check_every_key(again);
	assert_string_equal(once, twice);
	pfree(once);
	pfree(twice);
	options_free(&config_section, config);
	options_free(&config_section, again);
}

static void
test_strings_survive_printing(void **state)
{
	static const char text[] =
		"handlers:\n"
		"- types: [A]\n"
		"  command: [/x, \"\\x01\\x7f\\u0085\\u2028\\u202e\\ufeff\\ufffe\", '- a', '#', ': ', '''', \"\\U0001F600\"]\n";
	Config	   *config = read_text(text);
	char	   *once = print(config);
	Config	   *again = read_text(once);
	int			i;

	for (i = 0; config->handlers[0]->argv[i] != NULL; i++)
		assert_string_equal(config->handlers[0]->argv[i],
							again->handlers[0]->argv[i]);
	assert_int_equal(i, 7);
	assert_null(strchr(once, '\x01'));
	assert_null(strstr(once, "\xe2\x80\xae"));
	pfree(once);
	options_free(&config_section, config);
	options_free(&config_section, again);
}

static void
expect_hidden(const char *conninfo, const char *expected)
{
	char	   *text = psprintf("postgres: \"%s\"\n" HANDLERS, conninfo);
	Config	   *config = read_text(text);
	char	   *printed = print(config);
	Config	   *again = read_text(printed);
	char	   *reprinted = print(again);

	assert_string_equal(config->postgres, conninfo);
	assert_null(strstr(printed, "s3cret"));
	if (strstr(printed, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, printed);
	assert_string_equal(printed, reprinted);
	pfree(text);
	pfree(printed);
	pfree(reprinted);
	options_free(&config_section, config);
	options_free(&config_section, again);
}

static void
test_passwords_are_hidden(void **state)
{
	expect_hidden("host=h password=s3cret dbname=d",
				  "postgres: \"password='********' dbname='d' host='h'\"\n");
	expect_hidden("password = 's3cret s3cret' user=u'x",
				  "user='u\\\\'x' password='********'");
	expect_hidden("postgresql://joe:s3cret@h:6432/d?sslmode=require",
				  "user='joe' password='********' dbname='d' host='h' port='6432' sslmode='require'");
	expect_hidden("postgres://joe@h/d?password=%733cret&sslpassword=s3cret",
				  "password='********'");
	expect_hidden("postgresql://joe@h1:1,h2:2/d",
				  "postgres: \"postgresql://joe@h1:1,h2:2/d\"\n");
}

static void
test_sample_passes(void **state)
{
	static const char *const places[] = {
		"../../sidecar/twtasks.yaml", "sidecar/twtasks.yaml"
	};
	char		text[8192];
	ssize_t		len;
	int			fd = -1;
	int			i;
	Config	   *config;

#ifndef WITH_KAFKA
	skip();						/* the sample has a handler of each kind */
#endif
	for (i = 0; i < 2 && fd < 0; i++)
		fd = open(places[i], O_RDONLY);
	assert_true(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_in_range(len, 1, sizeof(text) - 2);
	text[len] = '\0';
	config = read_text(text);
	for (i = 0; i < config->nhandlers; i++)
		assert_ptr_equal(config->handlers[i]->kind, handler_kinds[i]);
	assert_int_equal(config->nhandlers, 6);
	options_free(&config_section, config);
}

static void
test_durations(void **state)
{
	static const char *const invalid[] = {
		"", "30", "s", "-1s", "+1s", "1 s", " 1s", "1s ", "1.5s", "1S", "1m",
		"1us", "1sec", "0x1s", "01s", "1e3s", "1min30s",
		"9223372036854775808ms", "99999999999999999999999s",
		"9223372036854776ms", "106751992d", "9223372036855s"
	};
	int64		us;
	int			i;

	for (i = 0; i < (int) lengthof(invalid); i++)
		if (units_parse_duration(invalid[i], &us))
			fail_msg("\"%s\" is no duration", invalid[i]);
	assert_true(units_parse_duration("250ms", &us) && us == 250000);
	assert_true(units_parse_duration("30s", &us) && us == 30000000);
	assert_true(units_parse_duration("10min", &us) && us == 600000000);
	assert_true(units_parse_duration("2h", &us) && us == INT64CONST(7200000000));
	assert_true(units_parse_duration("1d", &us) && us == INT64CONST(86400000000));
	assert_true(units_parse_duration("0s", &us) && us == 0);
	assert_true(units_parse_duration("9223372036854775ms", &us));
	assert_true(units_parse_duration("106751991d", &us));
}

static void
test_handler_choice(void **state)
{
	Config	   *config = read_text("handlers:\n"
								   "- {types: ['*'], noop: true}\n"
								   "- {types: ['EMAIL|*', EMAIL], noop: true}\n"
								   "- {types: ['E*', 'EMAIL|X|*'], noop: true}\n"
								   "- {types: ['EMAIL|X|Y'], noop: true}\n");
	HandlerConfig **handlers = config->handlers;

	assert_ptr_equal(config_handler(config, "EMAIL"), handlers[1]);
	assert_ptr_equal(config_handler(config, "EMAIL|"), handlers[1]);
	assert_ptr_equal(config_handler(config, "EMAIL|A"), handlers[1]);
	assert_ptr_equal(config_handler(config, "EMAIL|X"), handlers[1]);
	assert_ptr_equal(config_handler(config, "EMAIL|X|"), handlers[2]);
	assert_ptr_equal(config_handler(config, "EMAIL|X|Y"), handlers[3]);
	assert_ptr_equal(config_handler(config, "EMAIL|X|YZ"), handlers[2]);
	assert_ptr_equal(config_handler(config, "E"), handlers[2]);
	assert_ptr_equal(config_handler(config, "email"), handlers[0]);
	options_free(&config_section, config);

	config = read_text("handlers: [{types: [A, 'B*'], noop: true}]\n");
	assert_null(config_handler(config, "AB"));
	assert_null(config_handler(config, "C"));
	assert_non_null(config_handler(config, "B"));
	options_free(&config_section, config);
}

static const char *
restart_for(const Config *from, const char *text)
{
	Config	   *to = read_text(text);
	const char *name = options_needs_restart(&config_section, from, to);

	options_free(&config_section, to);
	return name;
}

static void
test_needs_restart(void **state)
{
	Config	   *from = read_text("node: a\npostgres: password=x\n" HANDLERS);

	assert_null(restart_for(from, "node: a\npostgres: password=x\n"
							"log: {level: debug}\nsweep: 1s\n"
							"handlers: [{types: [A], noop: true, concurrency: 7, "
							"timeout: 3s, stuck: retry, retry: {max_tries: 2}}]\n"));
	assert_string_equal(restart_for(from, "node: a\npostgres: password=x\n"
									"handlers: [{types: [B], noop: true}]\n"),
						"types");
	assert_string_equal(restart_for(from, "node: a\npostgres: password=x\n"
									"handlers: [{types: [A], command: [/x]}]\n"),
						"handlers");
	assert_string_equal(restart_for(from, "node: b\npostgres: password=x\n"
									HANDLERS), "node");
	assert_string_equal(restart_for(from, "node: a\npostgres: password=y\n"
									HANDLERS), "postgres");
	assert_string_equal(restart_for(from, "node: a\npostgres: password=x\n"
									"buckets: [default, b]\n" HANDLERS),
						"buckets");
	options_free(&config_section, from);
}

static void
test_stuck_names(void **state)
{
	assert_string_equal(config_stuck_name(STUCK_ERROR), "error");
	assert_string_equal(config_stuck_name(STUCK_RETRY), "retry");
	assert_string_equal(config_stuck_name(STUCK_FAIL), "fail");
	assert_string_equal(config_stuck_name(STUCK_IGNORE), "ignore");
}

/* Told as JSON, and taken back when printed; numbers stay numbers, texts texts. */
static void
test_settings(void **state)
{
	Config	   *config = read_text("node: a\n"
								   "handlers:\n"
								   "- types: [A]\n"
								   "  worker: [/bin/cat]\n"
								   "  settings:\n"
								   "    url: amqp://q\n"
								   "    prefetch: 10\n"
								   "    ratio: 0.5\n"
								   "    version: '10'\n"
								   "    topics: [a, {name: \"b\\n\", durable: true}]\n");
	char	   *printed = print(config);
	Config	   *again = read_text(printed);
	static const char expected[] = "{\"hello\":1,\"node\":\"a\",\"settings\":{\"url\":\"amqp://q\","
		"\"prefetch\":10,\"ratio\":0.5,\"version\":\"10\","
		"\"topics\":[\"a\",{\"name\":\"b\\n\",\"durable\":true}]}}";

	assert_string_equal(config->handlers[0]->hello, expected);
	expect_hello("handlers: [{types: [A], worker: [/bin/cat], batch: 7}]\n", "\"settings\":{},\"batch\":7}", "kafka");
	assert_string_equal(again->handlers[0]->hello, expected);
	assert_null(options_needs_restart(&config_section, config, again));
	options_free(&config_section, again);
	options_free(&config_section, config);
	pfree(printed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_kafka_of_handlers),
		cmocka_unit_test(test_defaults_of_kinds),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_print_is_fixpoint),
		cmocka_unit_test(test_strings_survive_printing),
		cmocka_unit_test(test_passwords_are_hidden),
		cmocka_unit_test(test_sample_passes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_handler_choice),
		cmocka_unit_test(test_needs_restart),
		cmocka_unit_test(test_stuck_names),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
