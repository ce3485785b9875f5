/*-------------------------------------------------------------------------
 *
 * options_print.c
 *		The options in force as YAML, and those that a reload cannot change.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/options.h"
#include "options/values.h"

#define INDENT 2

/* A section that is being printed. */
typedef struct Printing
{
	StringInfo	out;
	const Section *section;
	const char *source;			/* the struct that section describes */
	int			indent;
	bool		needs_dash;		/* the first line of an entry of a list */
	bool		has_comments;
} Printing;

static void print_section(Printing *printing);

static bool is_printed(const Option *option, const char *source);

static bool
has_options(const Section *section, const char *source)
{
	for (int i = 0; i < section->noptions; i++)
		if (is_printed(&section->options[i], source))
			return true;
	return false;
}

/* A section or list without an entry would read as one without a value. */
static bool
is_printed(const Option *option, const char *source)
{
	const void *value = source + option->offset;

	switch (option->type)
	{
		case OPTION_TEXT:
		case OPTION_CONNINFO:
		case OPTION_WORDS:
		case OPTION_SETTINGS:
			return *(void *const *) value != NULL;
		case OPTION_SECTION:
			return has_options(option->section, value);
		case OPTION_SECTIONS:
			return **(void **const *) value != NULL;
		default:
			return true;
	}
}

static void
print_sections(const Printing *printing, const Option *option)
{
	void	  **entries = *(void **const *) (printing->source + option->offset);

	for (int i = 0; entries[i] != NULL; i++)
	{
		Printing	entry = {
			.out = printing->out,
			.section = option->section,
			.source = entries[i],
			.indent = printing->indent + 2 * INDENT,
			.needs_dash = true,
			.has_comments = i == 0
		};

		print_section(&entry);
	}
}

static void
print_value(const Printing *printing, const Option *option)
{
	StringInfo	out = printing->out;
	Printing	inner = *printing;

	appendStringInfoString(out, option->section != NULL ? "\n" : " ");
	if (option->type == OPTION_SECTIONS)
		print_sections(printing, option);
	else if (option->type == OPTION_SECTION)
	{
		inner.section = option->section;
		inner.source += option->offset;
		inner.indent += INDENT;
		print_section(&inner);
	}
	else
	{
		values_print(option, printing->source + option->offset, out);
		appendStringInfoChar(out, '\n');
	}
}

static void
print_option(Printing *printing, const Option *option)
{
	StringInfo	out = printing->out;
	int			indent = printing->indent - (printing->needs_dash ? INDENT : 0);
	const char *dash = printing->needs_dash ? "- " : "";

	if (!is_printed(option, printing->source))
		return;
	printing->needs_dash = false;
	if (printing->has_comments)
	{
		appendStringInfoSpaces(out, indent);
		appendStringInfo(out, "# %s\n", option->help);
	}
	appendStringInfoSpaces(out, indent);
	appendStringInfo(out, "%s%s:", dash, option->name);
	print_value(printing, option);
}

/* Prints the options of a kind in the place of the OPTION_KIND row. */
static void
print_section(Printing *printing)
{
	const Section *section = printing->section;

	if (section == NULL)
		return;					/* an entry without a kind */
	for (int i = 0; i < section->noptions; i++)
	{
		if (section->options[i].type != OPTION_KIND)
		{
			print_option(printing, &section->options[i]);
			continue;
		}
		printing->section = options_kind(section, printing->source);
		print_section(printing);
		printing->section = section;
	}
}

void
options_print(const Section *section, const void *source, StringInfo out)
{
	Printing	printing = {
		.out = out,
		.section = section,
		.source = source,
		.has_comments = true
	};

	print_section(&printing);
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Compares texts as they are, because a printed form may hide a password. */
static bool
is_same(const Option *option, const void *left, const void *right)
{
	StringInfoData texts[2];
	bool		result;

	if (option->type == OPTION_TEXT || option->type == OPTION_CONNINFO ||
		option->type == OPTION_SETTINGS)
		return is_same_text(*(char *const *) left, *(char *const *) right);
	initStringInfo(&texts[0]);
	initStringInfo(&texts[1]);
	values_print(option, left, &texts[0]);
	values_print(option, right, &texts[1]);
	result = strcmp(texts[0].data, texts[1].data) == 0;
	pfree(texts[0].data);
	pfree(texts[1].data);
	return result;
}

/*
 * Returns the list's own name if the kinds of its entries differ, or if a reload
 * cannot change their number.  Else returns the first option of an entry that a
 * reload cannot change.
 */
static const char *
sections_need_restart(const Option *option, void *const *from, void *const *to)
{
	const char *name = NULL;

	for (; name == NULL && *from != NULL && *to != NULL; from++, to++)
	{
		if (options_kind(option->section, *from) != options_kind(option->section, *to))
			return option->name;
		name = options_needs_restart(option->section, *from, *to);
	}
	return name == NULL && option->needs_restart && *from != *to ? option->name : name;
}

static const char *
option_needs_restart(const Option *option, const char *from, const char *to)
{
	const void *left = from + option->offset;
	const void *right = to + option->offset;

	switch (option->type)
	{
		case OPTION_SECTIONS:
			return sections_need_restart(option, *(void *const *const *) left,
										 *(void *const *const *) right);
		case OPTION_SECTION:
			return options_needs_restart(option->section, left, right);
		case OPTION_KIND:
			return options_needs_restart(*(const Section *const *) left, from, to);
		default:
			return option->needs_restart && !is_same(option, left, right) ?
				option->name : NULL;
	}
}

const char *
options_needs_restart(const Section *section, const void *from, const void *to)
{
	const char *name = NULL;

	for (int i = 0; name == NULL && i < section->noptions; i++)
		name = option_needs_restart(&section->options[i], from, to);
	return name;
}
