/*-------------------------------------------------------------------------
 *
 * ctl_help.c
 *		The help and the manual page of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl_help.h"
#include "tools/verb.h"

static const char about[] = "looks at tasks of twtasks, says what is wrong, and changes tasks and limits";

static const char statuses[] =
"0 done, 1 refused or another state, 2 wrong arguments, 3 no database,\n"
"4 something is wrong (status, doctor)";

static void
print_option(const VerbOption *option)
{
	char		text[64];

	snprintf(text, sizeof(text), "--%s%s%s", option->name, option->argument ? " " : "",
			 option->argument ? option->argument : "");
	if (option->letter)
		printf("  -%c, %-24s %s\n", option->letter, text, option->help);
	else
		printf("      %-24s %s\n", text, option->help);
}

static void
print_options(const char *title, const VerbOption *options)
{
	if (options == NULL || options->name == NULL)
		return;
	printf("\n%s:\n", title);
	for (; options->name != NULL; options++)
		print_option(options);
}

static void
print_verb(const Verb *verb)
{
	printf("twtasksctl %s: %s.\n\nUsage:\n  twtasksctl %s%s%s%s\n", verb->name, verb->summary,
		   verb->name, *verb->operands ? " " : "", verb->operands, verb->options ? " [OPTION...]" : "");
	if (verb->role)
		printf("\nRole: %s\n", verb->role);
	print_options("Options", verb->options);
	print_options("Options of all verbs", common_options);
}

static void
print_verbs(void)
{
	const char *group = "";

	for (const Verb *verb = verbs; verb->name; verb++)
	{
		char		text[64];

		if (strcmp(group, verb->group) != 0)
			printf("\n%s:\n", verb->group);
		group = verb->group;
		snprintf(text, sizeof(text), "%s %s", verb->name, verb->operands);
		printf("  %-24s %s\n", text, verb->summary);
	}
}

void
help_print(const Verb *verb)
{
	if (verb != NULL)
	{
		print_verb(verb);
		return;
	}
	printf("twtasksctl %s.\n\nUsage:\n  twtasksctl [OPTION...] VERB [ARGUMENT...]\n", about);
	print_verbs();
	print_options("Options of all verbs", common_options);
	printf("\ntwtasksctl VERB --help has the options of a verb.\n\nExit status: %s.\n", statuses);
}

/* ---- The manual page ---- */

/* Signs of scdoc stay signs. */
static void
man_text(const char *text)
{
	for (; *text; text++)
	{
		if (strchr("_*\\<>#[]|~", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void
man_options(const VerbOption *options)
{
	for (; options != NULL && options->name != NULL; options++)
	{
		if (options->letter)
			printf("*-%c*, ", options->letter);
		printf("*--%s*", options->name);
		if (options->argument)
		{
			fputs(" _", stdout);
			man_text(options->argument);
			putchar('_');
		}
		fputs("\n\t", stdout);
		man_text(options->help);
		fputs("\n\n", stdout);
	}
}

static void
man_verbs(void)
{
	for (const Verb *verb = verbs; verb->name; verb++)
	{
		/* scdoc takes a heading as it is */
		printf("## %s %s\n\n", verb->name, verb->operands);
		man_text(verb->summary);
		fputs(".", stdout);
		if (verb->role)
		{
			fputs(" It needs the rights of _", stdout);
			man_text(verb->role);
			fputs("_.", stdout);
		}
		fputs("\n\n", stdout);
		man_options(verb->options);
	}
}

void
help_manual(void)
{
	printf("twtasksctl(1) \"\" \"twtasks\"\n\n# NAME\n\ntwtasksctl - %s\n\n"
		   "# SYNOPSIS\n\n*twtasksctl* [_option_...] _verb_ [_argument_...]\n\n"
		   "# DESCRIPTION\n\n*twtasksctl* connects to the database as *psql*(1) does, with the rights of its role.\n\n"
		   "# OPTIONS\n\n", about);
	man_options(common_options);
	puts("# VERBS\n");
	man_verbs();
	printf("# EXIT STATUS\n\n%s.\n\n"
		   "# ENVIRONMENT\n\nThe variables of libpq, such as *PGHOST*, *PGSERVICE* and *PGPASSFILE*, give defaults for the"
		   " connection.\n\n*NO\\_COLOR*\n\tNo colours, even on a terminal.\n\n"
		   "# SEE ALSO\n\n*twtasksd*(8), *twtasks-web*(8), *psql*(1)\n", statuses);
}
