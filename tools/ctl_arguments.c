/*-------------------------------------------------------------------------
 *
 * ctl_arguments.c
 *		The command line of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <getopt.h>

#include "tools/ctl_arguments.h"
#include "tools/verb.h"

/* Most options and operands that can be given. */
#define GIVEN_MAX 64

/* getopt_long() returns this and the place of an option that has no letter. */
#define NO_LETTER 256

typedef struct Given
{
	const char *name;
	const char *value;
} Given;

struct CtlArguments
{
	const Verb *verb;
	Given		given[GIVEN_MAX];
	int			ngiven;
	char	  **operand_names;
};

/* The options of a look at the command line, for getopt_long(). */
typedef struct Look
{
	const VerbOption *options[GIVEN_MAX];
	struct option words[GIVEN_MAX + 1];
	char		letters[2 * GIVEN_MAX + 4];
	int			n;
} Look;

static bool
has_option(const Look *look, const char *name)
{
	for (int i = 0; i < look->n; i++)
		if (strcmp(look->options[i]->name, name) == 0)
			return true;
	return false;
}

/* An option that the look has already stands for another one of its name. */
static void
add_options(Look *look, const VerbOption *options)
{
	for (; options != NULL && options->name != NULL; options++)
	{
		struct option *word = &look->words[look->n];
		size_t		end = strlen(look->letters);

		if (has_option(look, options->name))
			continue;
		word->name = options->name;
		word->has_arg = options->argument ? required_argument : no_argument;
		word->val = options->letter ? options->letter : NO_LETTER + look->n;
		if (options->letter)
			snprintf(look->letters + end, sizeof(look->letters) - end, "%c%s",
					 options->letter, options->argument ? ":" : "");
		look->options[look->n++] = options;
	}
}

static const VerbOption *
option_of(const Look *look, int val)
{
	for (int i = 0; i < look->n; i++)
		if (look->words[i].val == val)
			return look->options[i];
	return NULL;
}

/* The last one of several counts. */
static char *
give(CtlArguments *arguments, const char *name, const char *value)
{
	for (int i = 0; i < arguments->ngiven; i++)
		if (strcmp(arguments->given[i].name, name) == 0)
		{
			arguments->given[i].value = value;
			return NULL;
		}
	if (arguments->ngiven == GIVEN_MAX)
		return pstrdup("too many arguments");
	arguments->given[arguments->ngiven++] = (Given)
	{
		name, value
	};
	return NULL;
}

static char *
read_options(CtlArguments *arguments, const Look *look, int argc, char **argv)
{
	int			val;

	opterr = 0;
	while ((val = getopt_long(argc, argv, look->letters, look->words, NULL)) != -1)
	{
		const VerbOption *option = option_of(look, val);

		if (val == ':')
			return psprintf("%s needs a value", argv[optind - 1]);
		if (option == NULL)
			return psprintf("unrecognized option \"%s\"", argv[optind - 1]);
		(void) give(arguments, option->name, option->argument ? optarg : "");
	}
	return NULL;
}

static char *
read_operands(CtlArguments *arguments, int argc, char **argv)
{
	const Verb *verb = arguments->verb;
	char		name[32];
	bool		is_optional;

	for (int n = 0; n < argc; n++)
	{
		if (!verb_operand(verb, n, name, &is_optional))
			return psprintf("%s: \"%s\" is one argument too many", verb->name, argv[n]);
		arguments->operand_names[n] = pstrdup(name);
		(void) give(arguments, arguments->operand_names[n], argv[n]);
	}
	if (arguments_get(arguments, "help") == NULL &&
		verb_operand(verb, argc, name, &is_optional) && !is_optional)
		return psprintf("%s needs %s", verb->name, name);
	return NULL;
}

static char *
check_needed(const CtlArguments *arguments)
{
	const Verb *verb = arguments->verb;

	if (verb->needed == NULL || arguments_get(arguments, verb->needed) ||
		arguments_get(arguments, "help"))
		return NULL;
	return psprintf("%s needs --%s", verb->name, verb->needed);
}

/* argv[0] is the verb. */
static char *
read_verb(CtlArguments *arguments, int argc, char **argv)
{
	Look		look = {.letters = ":"};
	char	   *fault;

	arguments->verb = verb_find(argv[0]);
	if (arguments->verb == NULL)
		return psprintf("unrecognized verb \"%s\"", argv[0]);
	add_options(&look, arguments->verb->options);
	add_options(&look, common_options);
	optind = 0;
	fault = read_options(arguments, &look, argc, argv);
	if (fault == NULL)
		fault = read_operands(arguments, argc - optind, argv + optind);
	return fault ? fault : check_needed(arguments);
}

char *
arguments_read(int argc, char **argv, CtlArguments **arguments)
{
	Look		look = {.letters = "+:"};
	char	   *fault;

	*arguments = palloc0(sizeof(CtlArguments));
	(*arguments)->operand_names = palloc0((Size) (argc + 1) * sizeof(char *));
	add_options(&look, common_options);
	optind = 0;
	fault = read_options(*arguments, &look, argc, argv);
	if (fault == NULL && optind < argc)
		return read_verb(*arguments, argc - optind, argv + optind);
	if (fault == NULL && !arguments_get(*arguments, "help") &&
		!arguments_get(*arguments, "version") && !arguments_get(*arguments, "manual"))
		fault = pstrdup("a verb is needed");
	return fault;
}

void
arguments_free(CtlArguments *arguments)
{
	for (char **name = arguments->operand_names; *name; name++)
		pfree(*name);
	pfree(arguments->operand_names);
	pfree(arguments);
}

const Verb *
arguments_verb(const CtlArguments *arguments)
{
	return arguments->verb;
}

const char *
arguments_get(const CtlArguments *arguments, const char *name)
{
	for (int i = 0; i < arguments->ngiven; i++)
		if (strcmp(arguments->given[i].name, name) == 0)
			return arguments->given[i].value;
	return NULL;
}
