/*-------------------------------------------------------------------------
 *
 * test_manage_config.c
 *		The section "manage" of the configuration file of twtasks-web.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config_text.h"
#include "web/web_config.h"

#define OLD_TOKEN "0123456789012345678901234567890123456789abc"
#define HASH "0e4b324f2be3289313804a4f5f32e26822753f7db985815dafa4932b9ba8f963"
#define OTHER_HASH "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

static char people[80];
static char tokens[80];

static void
write_secret(const char *path, const char *text)
{
	int			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* In the lines, @ stands for the file of people, and & for the one of tokens. */
static void *
read_lines(const char *lines, char **error)
{
	StringInfoData text;

	initStringInfo(&text);
	for (; *lines != '\0'; lines++)
		if (*lines == '@' || *lines == '&')
			appendStringInfoString(&text, *lines == '@' ? people : tokens);
		else
			appendStringInfoChar(&text, *lines);
	write_file(text.data, text.len);
	pfree(text.data);
	return options_read(&web_config_section, NULL, file, error);
}

static WebConfig *
read_web(const char *lines)
{
	char	   *error = NULL;
	WebConfig  *config = read_lines(lines, &error);

	if (config == NULL)
		fail_msg("refused: %s", error);
	return config;
}

static void
expect_error(const char *expected, const char *lines)
{
	char	   *error = NULL;

	assert_null(read_lines(lines, &error));
	if (strstr(error, expected) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", expected, error);
	pfree(error);
}

static void
test_section(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\nmanage:\n  token_file: @\n"
								  "  read_postgres: 'host=standby password=s3cret'\n  sessions: 7\n"
								  "  trace_url: 'https://traces.example/{trace_id}'\n");
	StringInfoData printed;

	assert_true(manage_is_wanted(&config->manage));
	assert_int_equal(config->manage.tokens->n, 1);
	assert_int_equal(config->manage.sessions, 7);
	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	assert_null(strstr(printed.data, "s3cret"));
	assert_null(strstr(printed.data, OTHER_HASH));
	options_free(&web_config_section, config);
	pfree(printed.data);
}

/* Without a way to log in there is no API, and the printed options are right. */
static void
test_without(void **state)
{
	WebConfig  *config = read_web("listen: localhost:1\n");
	StringInfoData printed;

	assert_false(manage_is_wanted(&config->manage));
	initStringInfo(&printed);
	options_print(&web_config_section, config, &printed);
	options_free(&web_config_section, config);
	config = read_web(printed.data);
	assert_false(manage_is_wanted(&config->manage));
	options_free(&web_config_section, config);
	pfree(printed.data);
	expect_error(":2:9: manage: nobody could log in", "listen: localhost:1\nmanage: {trace_url: 'https://x'}\n");
}

static void
test_tokens(void **state)
{
	expect_error(":2:22: manage.token_file: line 1: it must be a name",
				 "listen: localhost:1\nmanage: {token_file: &}\n");
	expect_error("manage.token_file: could not open the file: No such file",
				 "listen: localhost:1\nmanage: {token_file: /nowhere}\n");
	expect_error("manage.token_file: invalid value \"people\": the path must be absolute",
				 "listen: localhost:1\nmanage: {token_file: people}\n");
}

/* A token in two files would have the rights of either. */
static void
test_common_token(void **state)
{
	static const char *const files[] = {
		"listen: localhost:1\nmanage: {token_file: @}\ntoken_file: &\n",
		"listen: localhost:1\nmanage: {token_file: @}\nmetrics_token_file: &\n",
		"listen: localhost:1\nmanage: {token_file: @}\nto_do: [{token_file: &, role: r}]\n",
	};

	for (int i = 0; i < 3; i++)
	{
		options_free(&web_config_section, read_web(files[i]));
		write_secret(people, "alice viewer " HASH "\n");
		expect_error(":2:22: manage.token_file: a token of it is in another file too", files[i]);
		write_secret(people, "alice viewer " OTHER_HASH "\n");
	}
}

/* Other machines can finish no tasks without a token_file. */
static void
test_beyond_this_machine(void **state)
{
	WebConfig  *config = read_web("listen: '0.0.0.0:1'\nmanage: {token_file: @}\n");

	assert_non_null(config->tokens);
	assert_null(config->tokens[0]);
	options_free(&web_config_section, config);
	config = read_web("listen: '127.0.0.1:1'\nmanage: {token_file: @}\n");
	assert_null(config->tokens);
	options_free(&web_config_section, config);
	expect_error("listen: an address that other machines can reach needs a token_file, or a way to log in of manage",
				 "listen: '0.0.0.0:1'\n");
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(people, sizeof(people), "%s/people", directory);
	snprintf(tokens, sizeof(tokens), "%s/tokens", directory);
	write_secret(people, "alice viewer " OTHER_HASH "\n");
	write_secret(tokens, OLD_TOKEN "\n");
	return 0;
}

static int
tear_down(void **state)
{
	unlink(people);
	unlink(tokens);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_section),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_common_token),
		cmocka_unit_test(test_beyond_this_machine),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
