/*-------------------------------------------------------------------------
 *
 * test_web_config.c
 *		The configuration file of twtasks-web, and the tokens it names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>

#include "base/log.h"
#include "web_config_text.h"

static char clerks[80];

static void
write_tokens(const char *text)
{
	write_secret(tokens, text);
}

/* A file with a token_file and an address. */
static char *
with_tokens(const char *listen)
{
	return psprintf("postgres: 'dbname=app password=s3cret'\n"
					"listen: '%s'\n"
					"token_file: %s\n"
					"log: {format: json, level: debug}\n", listen, tokens);
}

static void
test_connections(void **state)
{
	WebConfig  *config = read_web("listen: 127.0.0.1:9180\n");

	assert_int_equal(config->sessions, 8);
	assert_int_equal(config->connections_of_one, 64);
	assert_null(config->proxies);
	options_free(&web_config_section, config);
	config = read_web("{listen: '127.0.0.1:9180', sessions: 1, connections_per_address: 256,"
					  " proxies: [10.0.0.7, '::1/64']}\n");
	assert_int_equal(config->sessions, 1);
	assert_int_equal(config->connections_of_one, 256);
	assert_string_equal(config->proxies[1], "::1/64");
	options_free(&web_config_section, config);
	expect_error("proxies[1]: ", "{listen: '127.0.0.1:9180', proxies: [10.0.0.7, proxy.example]}\n");
	expect_error("connections_per_address: ", "{listen: '127.0.0.1:9180', connections_per_address: 257}\n");
	expect_error("sessions: ", "{listen: '127.0.0.1:9180', sessions: 0}\n");
}

static void
test_every_key(void **state)
{
	char	   *text = with_tokens("0.0.0.0:9180");
	WebConfig  *config = read_web(text);

	assert_string_equal(config->postgres, "dbname=app password=s3cret");
	assert_string_equal(config->listen, "0.0.0.0:9180");
	assert_string_equal(config->tokens[0], "the first token of two");
	assert_string_equal(config->tokens[1], "the second token of two");
	assert_null(config->tokens[2]);
	assert_int_equal(config->log.format, LOG_FORMAT_JSON);
	assert_int_equal(config->log.level, TWT_LOG_DEBUG);
	options_free(&web_config_section, config);
	pfree(text);
}

static void
test_defaults(void **state)
{
	WebConfig  *config = read_web("listen: localhost:9180\n");

	assert_string_equal(config->postgres, "");
	assert_null(config->tokens);
	assert_int_equal(config->log.format, LOG_FORMAT_TEXT);
	assert_int_equal(config->log.level, TWT_LOG_INFO);
	options_free(&web_config_section, config);
}

/* A printed configuration can be read back, and holds no secret. */
static void
test_print(void **state)
{
	char	   *text = with_tokens("[::1]:9180");
	WebConfig  *config = read_web(text);
	StringInfoData printed;

	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	assert_null(strstr(printed.data, "s3cret"));
	assert_null(strstr(printed.data, "first token"));
	options_free(&web_config_section, read_web(printed.data));
	options_free(&web_config_section, config);
	pfree(printed.data);
	pfree(text);
}

static void
test_reload(void **state)
{
	char	   *text = with_tokens("localhost:9180");
	char	   *other_text = with_tokens("localhost:9181");
	WebConfig  *from = read_web(text);
	WebConfig  *to = read_web("postgres: 'dbname=app password=s3cret'\nlisten: localhost:9180\n");
	WebConfig  *restart = read_web(other_text);

	assert_null(options_needs_restart(&web_config_section, from, to));
	assert_string_equal(options_needs_restart(&web_config_section, from, restart), "listen");
	options_free(&web_config_section, from);
	options_free(&web_config_section, to);
	options_free(&web_config_section, restart);
	pfree(text);
	pfree(other_text);
}

static void
test_errors(void **state)
{
	expect_error("listen: the key is missing", "postgres: dbname=app\n");
	expect_error("listen: invalid value \"9180\": it must be ADDRESS:PORT", "listen: 9180\n");
	expect_error("handlers: unrecognized key", "listen: localhost:1\nhandlers: []\n");
	expect_error("token_file: invalid value \"tokens\": the path must be absolute",
				 "listen: localhost:1\ntoken_file: tokens\n");
	expect_error("token_file: could not open the file",
				 "listen: localhost:1\ntoken_file: /nonexistent\n");
}

static void
test_token_errors(void **state)
{
	char	   *text = with_tokens("localhost:9180");

	write_tokens("the first token of two\nshort\n");
	expect_error("token_file: a token must have 16 characters at least", text);
	write_tokens("# none\n");
	expect_error("token_file: ", text);
	write_tokens("the first token of two\nthe second token of two\n");
	chmod(tokens, 0644);
	expect_error("token_file: the file must be root's or the daemon's own", text);
	chmod(tokens, 0600);
	options_free(&web_config_section, read_web(text));
	pfree(text);
}

/* A file with tokens for the results, and those of two roles for to-do items. */
static char *
with_to_do(const char *first_role)
{
	return psprintf("listen: 'localhost:9180'\n"
					"token_file: %s\n"
					"to_do:\n"
					"  - {token_file: %s, role: '%s'}\n", tokens, clerks, first_role);
}

static void
test_to_do(void **state)
{
	char	   *text = with_to_do("clerks of \"x\"");
	WebConfig  *config = read_web(text);
	WebConfig  *none = read_web("listen: localhost:9180\n");
	StringInfoData printed;

	assert_int_equal(config->nto_do, 1);
	assert_string_equal(config->to_do[0]->role, "clerks of \"x\"");
	assert_string_equal(config->to_do[0]->tokens[0], "the token of a clerk");
	assert_null(config->to_do[0]->tokens[1]);
	assert_int_equal(none->nto_do, 0);
	assert_null(options_needs_restart(&web_config_section, config, none));
	assert_null(options_needs_restart(&web_config_section, none, config));
	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	assert_null(strstr(printed.data, "of a clerk"));
	options_free(&web_config_section, config);
	config = read_web(printed.data);
	assert_string_equal(config->to_do[0]->role, "clerks of \"x\"");
	options_free(&web_config_section, config);
	options_free(&web_config_section, none);
	pfree(printed.data);
	pfree(text);
}

static void
expect_to_do_error(const char *expected, const char *list)
{
	char	   *text = psprintf("listen: 'localhost:9180'\nto_do: %s\n", list);

	expect_error(expected, text);
	pfree(text);
}

static void
test_to_do_errors(void **state)
{
	char	   *text = with_to_do("none");
	char	   *twice = psprintf("[{token_file: %s, role: a}, {token_file: %s, role: b}]", clerks, clerks);

	expect_error("to_do[0].role: invalid value \"none\": a role cannot be named \"none\"", text);
	expect_to_do_error("to_do: the list must not be empty", "[]");
	expect_to_do_error("to_do[0].token_file: the key is missing", "[{role: a}]");
	expect_to_do_error("to_do[0].token_file: could not open the file",
					   "[{token_file: /nonexistent, role: a}]");
	expect_to_do_error("to_do: a token of \"", twice);
	pfree(twice);
	twice = psprintf("[{token_file: %s}]", clerks);
	expect_to_do_error("to_do[0].role: the key is missing", twice);
	pfree(twice);
	pfree(text);
	text = with_to_do("a");
	write_tokens("the token of a clerk\n");
	expect_error("is in another file too", text);
	write_tokens("the first token of two\nthe second token of two\n");
	write_secret(clerks, "short\n");
	expect_error("to_do[0].token_file: a token must have 16 characters at least", text);
	write_secret(clerks, "the token of a clerk\n");
	pfree(text);
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(tokens, sizeof(tokens), "%s/tokens", directory);
	snprintf(clerks, sizeof(clerks), "%s/clerks", directory);
	write_tokens("the first token of two\nthe second token of two\n");
	write_secret(clerks, "the token of a clerk\n");
	return 0;
}

static int
tear_down(void **state)
{
	unlink(tokens);
	unlink(clerks);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_token_errors),
		cmocka_unit_test(test_to_do),
		cmocka_unit_test(test_to_do_errors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
