/*-------------------------------------------------------------------------
 *
 * test_config_variables.c
 *		The variables that handlers give to their programs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <sys/stat.h>

#include "config_text.h"

static char env_file[80];

static void
write_env(const char *text, mode_t mode)
{
	int			fd = open(env_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static char *
handler_with(const char *kind, const char *env)
{
	return psprintf("handlers: [{types: [A], %s: [/bin/true], env_file: '%s', env: [%s]}]\n", kind, env_file, env);
}

static void
expect_fault(const char *env, const char *expected)
{
	char	   *text = handler_with("worker", env);

	expect_error_part(text, expected);
	pfree(text);
}

static void
expect_variables(const char *kind)
{
	char	   *text = handler_with(kind, "TWT_TEST_ONE, TWT_TEST_TWO");
	Config	   *config;
	StringInfoData printed;
	char	  **variables;

	write_env("# comment\n\nURL=postgres://me:secret@db/app?a=b\n EMPTY= \nQUOTED=\"x y\"\r\n", 0600);
	config = read_text(text);
	variables = config->handlers[0]->variables;
	assert_string_equal(variables[0], "TWT_TEST_ONE=first secret");
	assert_string_equal(variables[1], "TWT_TEST_TWO=");
	assert_string_equal(variables[2], "URL=postgres://me:secret@db/app?a=b");
	assert_string_equal(variables[3], "EMPTY=");
	assert_string_equal(variables[4], "QUOTED=\"x y\"");
	assert_null(variables[5]);
	initStringInfo(&printed);
	options_print(&config_section, config, &printed);
	assert_non_null(strstr(printed.data, "TWT_TEST_ONE"));
	assert_non_null(strstr(printed.data, env_file));
	assert_null(strstr(printed.data, "secret"));
	pfree(printed.data);
	options_free(&config_section, config);
	pfree(text);
}

static void
test_variables(void **state)
{
	setenv("TWT_TEST_ONE", "first secret", 1);
	setenv("TWT_TEST_TWO", "", 1);
	expect_variables("command");
	expect_variables("worker");
}

/* A person who checks the file may lack what the service has. */
static void
test_missing(void **state)
{
	char	   *error = NULL;
	Config	   *config;
	const char *text = "handlers: [{types: [A], command: [/bin/true], env: [HOME, TWT_TEST_MISSING]}]\n";

	write_file(text, strlen(text));
	config = options_read(&config_section, handler_kinds, file, &error);
	assert_non_null(config);
	assert_non_null(strstr(error, "env[1]: the sidecar's environment has no such variable"));
	assert_int_equal(strncmp(config->handlers[0]->variables[0], "HOME=", 5), 0);
	assert_null(config->handlers[0]->variables[1]);
	options_free(&config_section, config);
	pfree(error);
}

static void
test_names(void **state)
{
	write_env("FINE=x\n", 0600);
	expect_fault("1A", "env[0]: invalid value \"1A\": a name has letters, digits and underscores");
	expect_fault("A B", "env[0]: invalid value \"A B\"");
	expect_fault("''", "env[0]");
	expect_fault("TWTASKS_ID", "the sidecar sets this variable itself");
	expect_fault("TRACEPARENT", "the sidecar sets this variable itself");
	expect_fault("FINE, FINE", "env");
	expect_error_part(NOOP("env: [A]"), "env: a handler of this kind cannot have it");
}

static void
test_file_faults(void **state)
{
	write_env("A=secret\nsecret\n", 0600);
	expect_fault("HOME", "the line is not NAME=VALUE");
	write_env("A=x\nexport B=secret\n", 0600);
	expect_fault("HOME", "a name has letters, digits and underscores");
	write_env("A=x\n\nA=secret\n", 0600);
	expect_fault("HOME", "the variable is set twice");
	write_env("HOME=secret\n", 0600);
	expect_fault("HOME", "the variable is set twice");
	write_env("TWTASKS_ID=secret\n", 0600);
	expect_fault("HOME", "the sidecar sets this variable itself");
	write_env("A=secret\n", 0644);
	expect_fault("HOME", "nobody else may read it");
	unlink(env_file);
	expect_fault("HOME", "could not open the file");
	expect_error_part("handlers: [{types: [A], worker: [/x], env_file: x}]\n", "the path must be absolute");
}

/* A fault names the line and quotes nothing of the file. */
static void
test_fault_hides_values(void **state)
{
	char	   *text = handler_with("command", "HOME");
	char	   *error;

	write_env("A=x\n\nbad secret\n", 0600);
	write_file(text, strlen(text));
	error = file_error();
	assert_non_null(strstr(error, "line 3"));
	assert_null(strstr(error, "secret"));
	pfree(error);
	pfree(text);
}

static void
test_reload(void **state)
{
	Config	   *from = read_text("handlers: [{types: [A], worker: [/x]}]\n");
	Config	   *to = read_text("handlers: [{types: [A], worker: [/x], env: [HOME]}]\n");

	assert_null(options_needs_restart(&config_section, from, to));
	options_free(&config_section, from);
	options_free(&config_section, to);
}

static int
set_up(void **state)
{
	if (make_directory(state) != 0)
		return -1;
	snprintf(env_file, sizeof(env_file), "%s/env", directory);
	return 0;
}

static int
tear_down(void **state)
{
	unlink(env_file);
	return remove_directory(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_file_faults),
		cmocka_unit_test(test_fault_hides_values),
		cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
