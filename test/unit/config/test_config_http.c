/*-------------------------------------------------------------------------
 *
 * test_config_http.c
 *		The options of HTTP, and the files they name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "config_text.h"

static char secret[80];

static void
write_secret(const char *text)
{
	int			fd = open(secret, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
expect_error(const char *expected, const char *fmt,...)
{
	va_list		args;
	char		text[2048];

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	expect_error_part(text, expected);
}

#define HTTP_HANDLER(more) "handlers: [{types: [A], http: 'https://a.example/', " more "}]\n"

static char *
every_key(void)
{
	return psprintf("listen: '[::1]:9180'\n"
					"handlers:\n"
					"  - types: [HOOK]\n"
					"    http: https://a.example:8443/hook?x=1\n"
					"    hosts: ['*.b.example', 'http://c.example:81']\n"
					"    networks: any\n"
					"    secret_file: %s\n"
					"    headers_file: %s\n"
					"    ca_file: %s\n"
					"    connect_timeout: 250ms\n"
					"    resend: unanswered\n"
					"    statuses: ['404=done', '5xx=error']\n"
					"    max_output: 1kB\n"
					"  - types: [COMMAND]\n"
					"    command: [/bin/true]\n"
					"    statuses: ['80=repeat']\n",
					secret, secret, secret);
}

/* Each option is told to the program, under its name, and no secret. */
static void
expect_settings(const HandlerConfig *handler)
{
	static const char *const expected[] = {
		"{\"hello\":1,\"node\":", "\"settings\":{\"http\":\"https://a.example:8443/hook?x=1\"",
		"\"hosts\":[\"*.b.example\",\"http://c.example:81\"]", "\"networks\":\"any\"",
		"\"secret_file\":\"/", "\"headers_file\":\"/", "\"ca_file\":\"/",
		"\"connect_timeout\":0.25", "\"resend\":\"unanswered\"", "\"statuses\":[\"404=done\",\"5xx=error\"]",
		"\"max_output\":1024", "\"concurrency\":50"
	};

	for (int i = 0; i < (int) lengthof(expected); i++)
		if (strstr(handler->hello, expected[i]) == NULL)
			fail_msg("%s is not in %s", expected[i], handler->hello);
	assert_null(strstr(handler->hello, "some value"));
}

static void
test_every_key(void **state)
{
	char	   *text = every_key();
	Config	   *config = read_text(text);
	const HttpConfig *handler = (const HttpConfig *) config->handlers[0];

	assert_string_equal(config->listen, "[::1]:9180");
	assert_ptr_equal(handler_kind(&handler->common), &handler_http);
	assert_string_equal(handler->url, "https://a.example:8443/hook?x=1");
	assert_string_equal(handler->hosts[1], "http://c.example:81");
	assert_int_equal(handler->networks, NETWORKS_ANY);
	assert_int_equal(handler->connect_timeout_us, 250000);
	assert_string_equal(handler->common.statuses[1], "5xx=error");
	assert_int_equal(handler->common.max_output, 1024);
	assert_int_equal(handler->common.concurrency, 50);
	assert_int_equal(handler->common.prefetch, 50);
	assert_non_null(strstr(handler->common.argv[0], "/twtasks-http"));
	expect_settings(&handler->common);
	assert_string_equal(config->handlers[1]->statuses[0], "80=repeat");
	options_free(&config_section, config);
	pfree(text);
}

/* A printed configuration can be read back, and holds no secret. */
static void
test_print(void **state)
{
	char	   *text = every_key();
	Config	   *config = read_text(text);
	Config	   *again;
	StringInfoData printed;

	initStringInfo(&printed);
	options_print(&config_section, config, &printed);
	assert_null(strstr(printed.data, "some value"));
	again = read_text(printed.data);
	assert_null(options_needs_restart(&config_section, config, again));
	assert_string_equal(((const HttpConfig *) again->handlers[0])->hosts[0], "*.b.example");
	options_free(&config_section, again);
	options_free(&config_section, config);
	pfree(printed.data);
	pfree(text);
}

static void
test_defaults(void **state)
{
	Config	   *config = read_text("handlers: [{types: [A], http: 'http://a/'}]\n");
	const HttpConfig *handler = (const HttpConfig *) config->handlers[0];

	assert_null(config->listen);
	assert_null(handler->hosts);
	assert_null(handler->common.statuses);
	assert_int_equal(handler->networks, NETWORKS_PUBLIC);
	assert_int_equal(handler->connect_timeout_us, SECONDS_TO_US(10));
	options_free(&config_section, config);
}

/* The answers are those of the handlers in question. */
static void
test_one_of_several(void **state)
{
	expect_error("handlers[3].http: invalid value",
				 "handlers:\n"
				 "- {types: [A], http: 'http://a/'}\n"
				 "- {types: [B], noop: true}\n"
				 "- {types: [C], http: 'http://a/'}\n"
				 "- {types: [D], http: 'nonsense'}\n");
}

/* A bundled program that answers each hello in the same way. */
static const char *
write_program(const char *name, const char *answer)
{
	const char *path = psprintf("%s/%s", directory, name);
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	char	   *script = psprintf("#!/bin/sh\nwhile read -r line; do echo '%s'; done\n", answer);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	close(fd);
	pfree(script);
	return path;
}

static const char *programs[2];

static bool
settle_bundled(HandlerConfig *handler, const char *program)
{
	handler->argv = palloc0(2 * sizeof(char *));
	handler->argv[0] = pstrdup(program);
	handler->told = handler->kind;
	return true;
}

static bool
settle_one(void *target, const Place *place)
{
	return settle_bundled(target, programs[0]);
}

static bool
settle_other(void *target, const Place *place)
{
	return settle_bundled(target, programs[1]);
}

static void
release_bundled(void *target)
{
	HandlerConfig *handler = target;

	pfree(handler->argv[0]);
	pfree(handler->argv);
}

static const Option one_options[] = {
	{"one", OPTION_TEXT, offsetof(HandlerConfig, function), .min = 1, .max = 9, .help = "one"}
};

static const Option other_options[] = {
	{"other", OPTION_TEXT, offsetof(HandlerConfig, function), .min = 1, .max = 9, .help = "other"}
};

static const Section one = {one_options, 1, sizeof(HandlerConfig), settle_one, release_bundled};
static const Section other = {other_options, 1, sizeof(HandlerConfig), settle_other, release_bundled};
static const Section *const bundled_kinds[] = {&one, &other, NULL};

static const char bundled_handlers[] =
"handlers:\n"
"- {types: [A], one: a}\n"
"- {types: [B], other: b}\n"
"- {types: [C], one: c}\n";

/* Each of several bundled programs judges its own handlers. */
static void
test_several_programs(void **state)
{
	char	   *error = NULL;
	Config	   *config;

	programs[0] = write_program("one", "{\"ready\":1}");
	programs[1] = write_program("other", "{\"ready\":1}");
	write_file(bundled_handlers, strlen(bundled_handlers));
	config = options_read(&config_section, bundled_kinds, file, &error);
	assert_non_null(config);
	options_free(&config_section, config);

	pfree(unconstify(char *, write_program("other", "{\"error\":\"no such topic\",\"setting\":\"other\"}")));
	assert_null(options_read(&config_section, bundled_kinds, file, &error));
	assert_non_null(strstr(error, ":3:23: handlers[1].other: no such topic"));
	pfree(error);
	for (int i = 0; i < 2; i++)
	{
		unlink(programs[i]);
		pfree(unconstify(char *, programs[i]));
	}
}

/* The files of a check are the last descriptors: waiting for it takes no other. */
static void
test_few_descriptors(void **state)
{
	struct rlimit before;
	struct rlimit few;
	int			free_fd = dup(STDERR_FILENO);

	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = free_fd + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	options_free(&config_section, read_text(HTTP_HANDLER("networks: any")));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void
test_reload(void **state)
{
	Config	   *from = read_text(HTTP_HANDLER("hosts: [b.example]"));
	Config	   *to = read_text("handlers: [{types: [A], http: 'https://c.example/', networks: any}]\n");
	Config	   *restart = read_text(HTTP_HANDLER("statuses: ['404=done']"));

	assert_null(options_needs_restart(&config_section, from, to));
	assert_string_equal(options_needs_restart(&config_section, from, restart), "statuses");
	options_free(&config_section, from);
	options_free(&config_section, to);
	options_free(&config_section, restart);
}

static void
test_handler_errors(void **state)
{
	expect_error("http: invalid value \"ftp://a/\": it must begin with https:// or http://",
				 "handlers: [{types: [A], http: 'ftp://a/'}]\n");
	expect_error("a user name or password must not be in it",
				 "handlers: [{types: [A], http: 'https://me:pw@a/'}]\n");
	expect_error("hosts[0]: invalid value \"https://b\"", HTTP_HANDLER("hosts: ['https://b']"));
	expect_error("networks: must be one of public, any", HTTP_HANDLER("networks: none"));
	expect_error("resend: must be one of never, unanswered", HTTP_HANDLER("resend: always"));
	expect_error("statuses[0]: invalid value \"404\"", HTTP_HANDLER("statuses: ['404']"));
	expect_error("statuses: a status is there twice", HTTP_HANDLER("statuses: ['404=done', '404=error']"));
	expect_error("statuses: status out of range", HTTP_HANDLER("statuses: ['80=done']"));
	expect_error("statuses: status out of range",
				 "handlers: [{types: [A], command: [/x], statuses: ['404=done']}]\n");
	expect_error("settings: a handler of this kind cannot have it", HTTP_HANDLER("settings: {a: 1}"));
	expect_error("handlers[0].settings: must have keys and values",
				 "handlers: [{types: [A], worker: [/x], settings: [a]}]\n");
	expect_error("role: a handler of this kind cannot have it", HTTP_HANDLER("role: r"));
	expect_error("hosts: a handler of this kind cannot have it", NOOP("hosts: [a]"));
	expect_error("secret_file: a handler of this kind cannot have it", NOOP("secret_file: /x"));
	expect_error("statuses: a handler of this kind cannot have it",
				 "handlers: [{types: [A], worker: [/x], statuses: ['0=done']}]\n");
}

static void
test_file_errors(void **state)
{
	expect_error("secret_file: invalid value \"x\": the path must be absolute", HTTP_HANDLER("secret_file: x"));
	expect_error("secret_file: could not open the file: No such file", HTTP_HANDLER("secret_file: /nonexistent"));
	expect_error("headers_file: could not open the file", HTTP_HANDLER("headers_file: /nonexistent"));
	expect_error("ca_file: could not read the file", HTTP_HANDLER("ca_file: /nonexistent"));
	write_secret("short");
	expect_error("secret_file: secret 1 of the file: a secret must have 16 bytes at least",
				 HTTP_HANDLER("secret_file: %s"), secret);
	expect_error("headers_file: header 1 of the file: it must be NAME: VALUE",
				 HTTP_HANDLER("headers_file: %s"), secret);
	write_secret("X-Fine: yes\nHost: evil.example");
	expect_error("headers_file: header 2 of the file: that header is not for the handler to set",
				 HTTP_HANDLER("headers_file: %s"), secret);
	chmod(secret, 0644);
	expect_error("headers_file: the file must be root's or the daemon's own, and nobody else may read it",
				 HTTP_HANDLER("headers_file: %s"), secret);
	chmod(secret, 0600);
	write_secret("X-Header: some value");
}

static void
test_listen_errors(void **state)
{
	expect_error("listen: invalid value \"9180\": it must be ADDRESS:PORT", "listen: 9180\n" HANDLERS);
	expect_error("listen: invalid value \"example.com:80\": its host must be an address or localhost",
				 "listen: 'example.com:80'\n" HANDLERS);
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(secret, sizeof(secret), "%s/secret", directory);
	write_secret("X-Header: some value");
	return 0;
}

static int
tear_down(void **state)
{
	unlink(secret);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_one_of_several),
		cmocka_unit_test(test_several_programs),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_handler_errors),
		cmocka_unit_test(test_file_errors),
		cmocka_unit_test(test_listen_errors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
