/*-------------------------------------------------------------------------
 *
 * test_ctl_arguments.c
 *		The command line of twtasksctl, and the table by which it is read.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "check.h"
#include "tools/ctl_arguments.h"
#include "tools/verb.h"

static char *words[16];
static CtlArguments *arguments;

/* Reads a line; returns the fault. */
static char *
read_line(const char *text)
{
	static char line[256];
	char	   *rest = line;
	int			n = 0;

	strlcpy(line, text, sizeof(line));
	memset(words, 0, sizeof(words));
	words[n++] = "twtasksctl";
	while ((words[n] = strsep(&rest, " ")) != NULL)
		n++;
	return arguments_read(n, words, &arguments);
}

static void
assert_value(const char *name, const char *value)
{
	assert_non_null(arguments_get(arguments, name));
	assert_string_equal(arguments_get(arguments, name), value);
}

static void
assert_fault(const char *line, const char *fault)
{
	char	   *said = read_line(line);

	assert_non_null(said);
	assert_string_equal(said, fault);
	pfree(said);
	arguments_free(arguments);
}

static void
test_places(void **state)
{
	assert_null(read_line("-h one --json show -p 5433 0198 --key=k"));
	assert_string_equal(arguments_verb(arguments)->name, "show");
	assert_value("host", "one");
	assert_value("port", "5433");
	assert_value("ID", "0198");
	assert_value("key", "k");
	assert_value("json", "");
	assert_null(arguments_get(arguments, "watch"));
	arguments_free(arguments);
	assert_null(read_line("list --max 5 --max 6"));
	assert_value("max", "6");
	arguments_free(arguments);
}

static void
test_faults(void **state)
{
	assert_fault("--json", "a verb is needed");
	assert_fault("nonsense", "unrecognized verb \"nonsense\"");
	assert_fault("--nonsense", "unrecognized option \"--nonsense\"");
	assert_fault("list --nonsense", "unrecognized option \"--nonsense\"");
	assert_fault("list --max", "--max needs a value");
	assert_fault("list more", "list: \"more\" is one argument too many");
	assert_fault("pause A", "pause needs --reason");
	assert_fault("--max 5 list", "unrecognized option \"--max\"");
}

static void
test_help_needs_nothing(void **state)
{
	assert_null(read_line("--help"));
	assert_null(arguments_verb(arguments));
	arguments_free(arguments);
	assert_null(read_line("pause --help"));
	assert_string_equal(arguments_verb(arguments)->name, "pause");
	arguments_free(arguments);
	assert_null(read_line("--version"));
	arguments_free(arguments);
}

static bool
has_option(const VerbOption *options, const char *name)
{
	for (; options != NULL && options->name != NULL; options++)
		if (strcmp(options->name, name) == 0)
			return true;
	return false;
}

static bool
has_operand(const Verb *verb, const char *wanted)
{
	char		name[32];
	bool		is_optional;

	for (int n = 0; verb_operand(verb, n, name, &is_optional); n++)
		if (strcmp(name, wanted) == 0)
			return true;
	return false;
}

/* A parameter that nothing gives would always be NULL. */
static void
test_table(void **state)
{
	for (const Verb *verb = verbs; verb->name; verb++)
	{
		assert_true((verb->run != NULL) != (verb->sql != NULL));
		assert_true(verb->needed == NULL || has_option(verb->options, verb->needed));
		for (const VerbOption *option = verb->options; option && option->name; option++)
			assert_true(strcmp(option->name, "version") == 0 || !has_option(common_options, option->name));
		for (int i = 0; i < VERB_PARAMS && verb->params[i]; i++)
			assert_true(has_option(verb->options, verb->params[i]) || has_operand(verb, verb->params[i]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_help_needs_nothing),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
