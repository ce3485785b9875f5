/*-------------------------------------------------------------------------
 *
 * test_config_errors.c
 *		What is wrong with a configuration, and in which line.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_text.h"

static void
expect_error(const char *text, const char *expected)
{
	char	   *error;

	write_file(text, strlen(text));
	error = file_error();
	assert_string_equal(error, expected);
	pfree(error);
}

static void
test_syntax_errors(void **state)
{
	expect_error("node: a\nqueue: \"ring\n",
				 ":3:1: invalid YAML: found unexpected end of stream");
	expect_error("node: a\n\tqueue: ring\n",
				 ":2:1: invalid YAML: found a tab character that violates indentation");
	expect_error("node: a\nbuckets: [\xff]\n",
				 ":2:11: invalid YAML: invalid leading UTF-8 octet");
	expect_error("node: a\n---\nnode: b\n",
				 ":2:1: the file has more than one document");
	expect_error("node: &x a\nbuckets: [*x]\n",
				 ":2:11: aliases are not supported");
	expect_error("node: &x queue\n*x : ring\n", ":2:1: aliases are not supported");
	expect_error("node: *x\n", ":1:7: aliases are not supported");
	expect_error("? [a]\n: b\n", ":1:3: a key must be a plain word");
	expect_error("node: \"a\\0b\"\n", ":1:7: node: a text has a NUL character");
	expect_error("log: {level: {a: {b: {c: {d: {e: {f: {g: 1}}}}}}}}\n",
				 ":1:14: log.level: must be a single value");
}

/* A worker's settings may have any shape, so an alias could make them endless. */
static void
test_aliases_in_settings(void **state)
{
	expect_error("handlers:\n"
				 "- types: [A]\n"
				 "  worker: [/x]\n"
				 "  settings: {a: &x 1, b: *x}\n",
				 ":4:26: aliases are not supported");
	expect_error("handlers:\n"
				 "- types: [A]\n"
				 "  worker: [/x]\n"
				 "  settings: {a: [&x {b: c}, *x]}\n",
				 ":4:29: aliases are not supported");
	expect_error("handlers:\n"
				 "- types: [A]\n"
				 "  worker: [/x]\n"
				 "  settings: &x {a: {b: *x}}\n",
				 ":4:24: aliases are not supported");
}

static void
test_shape_errors(void **state)
{
	expect_error("", ": handlers: the key is missing");
	expect_error("# nothing\n", ": handlers: the key is missing");
	expect_error("handlers: []\n",
				 ":1:11: handlers: the list must not be empty");
	expect_error("just text\n", ":1:1: must have keys and values");
	expect_error("[a, b]\n", ":1:1: must have keys and values");
	expect_error("handlers: A\n", ":1:11: handlers: must be a list");
	expect_error("handlers:\n- A\n",
				 ":2:3: handlers[0]: must have keys and values");
	expect_error(NOOP("types: A"), ":1:37: handlers[0].types: the key is there twice");
	expect_error("node: [a]\n" HANDLERS, ":1:7: node: must be a single value");
	expect_error("log: text\n" HANDLERS, ":1:6: log: must have keys and values");
	expect_error("buckets: default\n" HANDLERS, ":1:10: buckets: must be a list");
	expect_error("buckets:\n  - a\n  - [b]\n" HANDLERS,
				 ":3:5: buckets[1]: must be a single value");
	expect_error("node:\nqueue: ring\n" HANDLERS,
				 ":1:6: node: there is no value; leave the key out to have its default");
	expect_error("buckets: [a, ~]\n",
				 ":1:14: buckets[1]: there is no value; leave the key out to have its default");
}

static void
test_unrecognized_keys(void **state)
{
	expect_error("node: a\n\n# why\n\ntypo: 1\n" HANDLERS,
				 ":5:1: typo: unrecognized key");
	expect_error("log:\n  format: text\n  typo: 1\n" HANDLERS,
				 ":3:3: log.typo: unrecognized key");
	expect_error("handlers:\n"
				 "  - types: [A]\n"
				 "    noop: true\n"
				 "  - types: [B]\n"
				 "    retry: {delay: 1s}\n"
				 "    # a comment\n"
				 "    delay: 1s\n",
				 ":7:5: handlers[1].delay: unrecognized key");
	expect_error("handlers:\n  - types: [A]\n    noop: true\n    retry:\n      tries: 3\n",
				 ":5:7: handlers[0].retry.tries: unrecognized key");
	expect_error("\"a\\n\\e[1m\\u202eb\": 1\n" HANDLERS,
				 ":1:1: a\\n\\x1b[1m\\u202eb: unrecognized key");
	expect_error("node: a\nqueue: ring\nnode: b\n" HANDLERS,
				 ":3:1: node: the key is there twice");
}

static void
test_value_errors(void **state)
{
	expect_error("concurrency: 0x10\n" HANDLERS,
				 ":1:14: concurrency: invalid integer \"0x10\": give a whole number");
	expect_error("concurrency: 010\n" HANDLERS,
				 ":1:14: concurrency: invalid integer \"010\": give a whole number");
	expect_error("concurrency: -1\n" HANDLERS,
				 ":1:14: concurrency: must be 0 to 10000000, not \"-1\"");
	expect_error("look_ahead: 99999999999999999999\n" HANDLERS,
				 ":1:13: look_ahead: must be 1 to 10000000, not \"99999999999999999999\"");
	expect_error("queue: pipe\n" HANDLERS,
				 ":1:8: queue: must be one of auto, ring, notify, kafka, not \"pipe\"");
	expect_error("log: {level: fatal}\n" HANDLERS,
				 ":1:14: log.level: must be one of error, warn, info, debug, not \"fatal\"");
	expect_error("node: ''\n" HANDLERS,
				 ":1:7: node: must have 1 to 128 bytes");
	expect_error("node: \"a\\nb\"\n" HANDLERS,
				 ":1:7: node: must not have control characters");
	expect_error("postgres: hots=x\n" HANDLERS,
				 ":1:11: postgres: invalid connection string: invalid connection option \"hots\"");
	expect_error("buckets: [a b]\n" HANDLERS,
				 ":1:11: buckets[0]: invalid value \"a b\": a bucket name has letters, digits, _ and -, at most 48 of them");
	expect_error("buckets: [a, b, a]\n" HANDLERS,
				 ":1:17: buckets[2]: \"a\" is there twice");
	expect_error("buckets: []\n" HANDLERS,
				 ":1:10: buckets: the list must not be empty");
}

static void
test_passwords_are_not_quoted(void **state)
{
	expect_error("postgres: password=one s3cret\n" HANDLERS,
				 ":1:11: postgres: invalid connection string");
	expect_error("postgres: 'postgresql://u:s3cret@[h/d'\n" HANDLERS,
				 ":1:11: postgres: invalid connection string");
	expect_error("postgres: 'postgresql://u:one@s3cret@h/d'\n" HANDLERS,
				 ":1:11: postgres: invalid connection string: in a URI, write @ in a password as %40");
	expect_error("postgres: 'postgresql://u:one@two:s3cret@h:1/d'\n" HANDLERS,
				 ":1:11: postgres: invalid connection string: in a URI, write @ in a password as %40");
}

static void
test_number_errors(void **state)
{
	expect_error(NOOP("retry: {multiplier: 2 x}"),
				 ":1:57: handlers[0].retry.multiplier: invalid number \"2 x\": give a number such as 2 or 0.25");
	expect_error_part(NOOP("retry: {multiplier: 1e3}"), "invalid number");
	expect_error_part(NOOP("retry: {multiplier: nan}"), "invalid number");
	expect_error_part(NOOP("retry: {multiplier: 1.}"), "invalid number");
	expect_error_part(NOOP("retry: {multiplier: 1.1234567}"), "invalid number");
	expect_error_part(NOOP("retry: {multiplier: 0.5}"),
					  "must be 1 to 100, not \"0.5\"");
	expect_error_part(NOOP("retry: {jitter: 1.1}"),
					  "must be 0 to 1, not \"1.1\"");
	expect_error_part(NOOP("retry: {jitter: 1.000001}"), "must be 0 to 1");
	expect_error_part(NOOP("retry: {max_tries: 0}"), "must be 1 to 1000000");
	expect_error_part(NOOP("retry: {delay: 3h}"),
					  "retry: delay must not be longer than max_delay");
	expect_error_part("handlers: [{types: [A], command: [/x], max_output: 64}]\n",
					  "invalid size \"64\": give a whole number and a unit, as in \"512B\", \"64kB\" or \"1MB\"");
	expect_error_part("handlers: [{types: [A], command: [/x], max_output: 17MB}]\n",
					  "must be 0B to 16MB, not \"17MB\"");
	expect_error_part("handlers: [{types: [A], worker: [/x], processes: 1.5}]\n", "invalid integer \"1.5\"");
}

#define BROKERS "kafka: {brokers: ['b:1'], "

static void
test_kafka_errors(void **state)
{
#ifndef WITH_KAFKA
	skip();
#endif
	expect_error("queue: kafka\n" HANDLERS,
				 ":1:8: queue: \"kafka\" needs kafka.brokers and kafka.group");
	expect_error("kafka: {group: a b}\n" HANDLERS,
				 ":1:16: kafka.group: invalid value \"a b\": a part of a topic's name has letters, digits and . _ -");
	expect_error("kafka: {group: a}\n" HANDLERS, ":1:8: kafka.brokers: the key is missing");
	expect_error(BROKERS "settings:\n {linger.mss: 1}}\n" HANDLERS,
				 ":2:15: kafka.settings.linger.mss: librdkafka does not know this setting");
	expect_error_part(BROKERS "settings: {sasl.password: x}}\n" HANDLERS, "it is a secret");
	expect_error_part(BROKERS "secrets: {sasl.password: /nowhere/x}}\n" HANDLERS,
					  "kafka.secrets.sasl.password: ");
	expect_error("handlers: [{types: [A], kafka: out}]\n",
				 ":1:12: handlers[0].brokers: the key is missing");
	expect_error(BROKERS "group: g}\nhandlers: [{types: [A], kafka: out, settings: {x: 1}}]\n",
				 ":2:51: handlers[0].settings.x: librdkafka does not know this setting");
}

static void
test_handler_errors(void **state)
{
	static const char one_of[] =
		":1:12: handlers[0]: a handler must have exactly one of command, worker, sql, http, kafka and noop";

	expect_error("handlers: [{noop: true}]\n",
				 ":1:12: handlers[0].types: the key is missing");
	expect_error("handlers: [{types: [], noop: true}]\n",
				 ":1:20: handlers[0].types: the list must not be empty");
	expect_error("handlers: [{types: [A]}]\n", one_of);
	expect_error(NOOP("command: [/x]"), one_of);
	expect_error("handlers: [{types: [A], worker: [/x], command: [/x]}]\n",
				 one_of);
	expect_error("handlers: [{types: [A], noop: false}]\n",
				 ":1:31: handlers[0].noop: invalid value \"false\": it can only be true");
	expect_error("handlers:\n- types: [A]\n  command: [x]\n",
				 ":3:13: handlers[0].command[0]: the program must be named by its absolute path");
	expect_error_part("handlers: [{types: [A], worker: ['']}]\n",
					  "worker[0]: the program must be named");
	expect_error_part("handlers: [{types: [A], worker: []}]\n",
					  "worker: the list must not be empty");
	expect_error_part("handlers: [{types: [A], command: [/x], directory: tmp}]\n",
					  "invalid value \"tmp\": the path must be absolute");
	expect_error_part(NOOP("role: r"),
					  "role: a handler of this kind cannot have it");
	expect_error_part(NOOP("directory: /"),
					  "directory: a handler of this kind cannot have it");
	expect_error_part(NOOP("stuck: never"),
					  "must be one of retry, error, fail, ignore");
}

/* Files that changed the kind of a handler keep working. */
static void
test_options_without_effect(void **state)
{
	static const char text[] = NOOP("prefetch: 3, processes: many");
	char	   *note;
	Config	   *config;

	write_file(text, strlen(text));
	config = options_read(&config_section, handler_kinds, file, &note);
	assert_non_null(config);
	assert_non_null(strstr(note, ":1:37: handlers[0].prefetch: it has no effect on a handler of this kind"));
	pfree(note);
	options_free(&config_section, config);
	expect_error_part("concurrency: x\n" NOOP("prefetch: 3"), "concurrency: invalid integer");
}

static void
expect_sql_error(const char *function)
{
	char	   *text = psprintf("handlers: [{types: [A], sql: '%s'}]\n",
								function);

	expect_error_part(text, "it must be schema.function");
	pfree(text);
}

static void
test_sql_errors(void **state)
{
	expect_sql_error("f");
	expect_sql_error(".f");
	expect_sql_error("a.");
	expect_sql_error("a.b.c");
	expect_sql_error("a.b()");
	expect_sql_error("A.f");
	expect_sql_error("1a.f");
	expect_sql_error("a.b;c");
	expect_sql_error("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.f");
	expect_error_part("handlers: [{types: [A], sql: a.f, role: none}]\n",
					  "it is not the name of a role");
	expect_error_part("handlers: [{types: [A], sql: a.f, role: ''}]\n",
					  "must have 1 to 63 bytes");
}

static void
expect_pattern_error(const char *pattern)
{
	char	   *text = psprintf("handlers: [{types: ['%s'], noop: true}]\n",
								pattern);

	expect_error_part(text, "handlers[0].types[0]: invalid value");
	pfree(text);
}

static void
test_pattern_errors(void **state)
{
	char		pattern[123];

	expect_pattern_error("");
	expect_pattern_error("A B");
	expect_pattern_error("**");
	expect_pattern_error("*A");
	expect_pattern_error("A*B");
	expect_pattern_error("A?");
	memset(pattern, 'A', sizeof(pattern) - 1);
	pattern[sizeof(pattern) - 1] = '\0';
	expect_pattern_error(pattern + 1);

	expect_error("handlers:\n"
				 "- {types: [A, 'B*'], noop: true}\n"
				 "- {types: [C], noop: true}\n"
				 "- types:\n"
				 "  - D\n"
				 "  - B*\n"
				 "  noop: true\n",
				 ":6:5: handlers[2].types[1]: handlers[0] has \"B*\" already");
	expect_error("handlers: [{types: [A, A], noop: true}]\n",
				 ":1:24: handlers[0].types[1]: \"A\" is there twice");
}

static void
test_duration_errors(void **state)
{
	expect_error("drain: 30\n" HANDLERS,
				 ":1:8: drain: invalid duration \"30\": give a whole number and a unit, as in \"500ms\", \"30s\", \"10min\", \"2h\" or \"1d\"");
	expect_error("drain: 2d\n" HANDLERS,
				 ":1:8: drain: must be 0ms to 1d, not \"2d\"");
	expect_error("drain: 99999999999999999999d\n" HANDLERS,
				 ":1:8: drain: must be 0ms to 1d, not \"99999999999999999999d\"");
}

static void
expect_no_fault(void)
{
	char	   *error = NULL;
	Config	   *config = options_read(&config_section, handler_kinds, file, &error);

	if (config == NULL)
		fail_msg("%s", error);
	options_free(&config_section, config);
}

/* Our own user, and our group with its members. */
static struct passwd me;
static struct group mine;

struct passwd *
getpwuid(uid_t uid)
{
	(void) uid;
	return &me;
}

struct group *
getgrgid(gid_t gid)
{
	mine.gr_gid = gid;
	return &mine;
}

static void
set_group(const char *name, char **members)
{
	me.pw_name = "me";
	me.pw_gid = getegid();
	mine.gr_name = (char *) name;
	mine.gr_mem = members;
}

/* With umask 002 and a group for each user, what the group may, only it may. */
static void
test_private_group(void **state)
{
	char	   *others[] = {"me", "else", NULL};
	char	   *nobody_else[] = {"me", NULL};

	write_file(HANDLERS, strlen(HANDLERS));
	assert_int_equal(chown(file, -1, getegid()), 0);
	assert_int_equal(chmod(file, 0664), 0);
	set_group("me", nobody_else);
	expect_no_fault();
	set_group("me", nobody_else + 1);
	expect_no_fault();
	set_group("me", others);
	expect_file_error("it must not be writable by group or others");
	set_group("staff", nobody_else);
	expect_file_error("it must not be writable by group or others");
	set_group("me", nobody_else);
	me.pw_gid++;
	expect_file_error("it must not be writable by group or others");
	me.pw_gid--;
	assert_int_equal(chmod(file, 0666), 0);
	expect_file_error("it must not be writable by group or others");
	unlink(file);
}

static void
test_permissions(void **state)
{
	static const mode_t writable[] = {0620, 0602, 0666, 0777};
	char	   *members[] = {NULL};
	int			i;

	set_group("staff", members);
	write_file(HANDLERS, strlen(HANDLERS));
	for (i = 0; i < (int) lengthof(writable); i++)
	{
		assert_int_equal(chmod(file, writable[i]), 0);
		expect_file_error("it must not be writable by group or others");
	}
	assert_int_equal(chmod(file, 0644), 0);
	options_free(&config_section, read_text(HANDLERS));

	/* Only root can give a file away. */
	if (geteuid() == 0)
	{
		assert_int_equal(chown(file, 65534, 65534), 0);
		expect_file_error("it must be owned by root or by the user of the daemon");
	}
	unlink(file);
}

static void
test_odd_files(void **state)
{
	size_t		size = 1024 * 1024 + 1;
	char	   *text = palloc(size);

	memset(text, '#', size);
	write_file(text, size);
	expect_file_error("it is larger than 1 MB");
	pfree(text);

	unlink(file);
	expect_file_error("could not open configuration file");
	assert_int_equal(mkfifo(file, 0600), 0);
	expect_file_error("it is not a regular file");
	unlink(file);
	assert_int_equal(mkdir(file, 0700), 0);
	expect_file_error("it is not a regular file");
	rmdir(file);
}

static void
test_long_list(void **state)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	appendStringInfoString(&text, "buckets: [");
	for (i = 0; i < 60000; i++)
		appendStringInfoString(&text, "a,");
	appendStringInfoString(&text, "a]\n");
	expect_error_part(text.data, ":1:10: buckets: the list is too long");
	pfree(text.data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syntax_errors),
		cmocka_unit_test(test_aliases_in_settings),
		cmocka_unit_test(test_shape_errors),
		cmocka_unit_test(test_unrecognized_keys),
		cmocka_unit_test(test_value_errors),
		cmocka_unit_test(test_passwords_are_not_quoted),
		cmocka_unit_test(test_number_errors),
		cmocka_unit_test(test_kafka_errors),
		cmocka_unit_test(test_handler_errors),
		cmocka_unit_test(test_options_without_effect),
		cmocka_unit_test(test_sql_errors),
		cmocka_unit_test(test_pattern_errors),
		cmocka_unit_test(test_duration_errors),
		cmocka_unit_test(test_private_group),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_long_list),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
