/*-------------------------------------------------------------------------
 *
 * config_print.c
 *		The configuration in force as YAML, a reference of all options, and
 *		what a reload cannot change.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "config/config.h"
#include "config/config_load.h"
#include "config/values.h"

#define INDENT 2

/* A section that is printed, and how. */
typedef struct Printing
{
	StringInfo	out;
	const Section *section;
	const char *source;			/* the struct it fills */
	int			modes;			/* OPTION_MODE of a handler, else all bits */
	int			indent;
	bool		is_entry;		/* of a list: its first line has the dash */
	bool		has_comments;
} Printing;

static void print_section(const Printing *printing);

static bool
is_printed(const Printing *printing, const Option *option)
{
	const void *member = printing->source + option->offset;

	if (option->modes != 0 && !(option->modes & printing->modes))
		return false;
	return (option->kind != OPTION_TEXT && option->kind != OPTION_WORDS &&
			option->kind != OPTION_SETTINGS) ||
		*(void *const *) member != NULL;
}

static void
print_list(const Printing *printing, const Option *option)
{
	const char *entries = *(char *const *) (printing->source + option->offset);
	int			n = *(const int *) (printing->source + option->count_offset);
	int			i;

	for (i = 0; i < n; i++)
	{
		const char *entry = entries + i * option->section->size;
		Printing	child = {
			.out = printing->out,
			.section = option->section,
			.source = entry,
			.modes = OPTION_MODE(((const HandlerConfig *) entry)->mode),
			.indent = printing->indent + 2 * INDENT,
			.is_entry = true,
			.has_comments = i == 0
		};

		print_section(&child);
	}
}

static void
print_option(const Printing *printing, const Option *option)
{
	Printing	child = *printing;

	if (option->kind == OPTION_SECTIONS)
	{
		appendStringInfoChar(printing->out, '\n');
		print_list(printing, option);
	}
	else if (option->kind == OPTION_SECTION)
	{
		child.section = option->section;
		child.source += option->offset;
		child.indent += INDENT;
		child.is_entry = false;
		appendStringInfoChar(printing->out, '\n');
		print_section(&child);
	}
	else
	{
		appendStringInfoChar(printing->out, ' ');
		values_print(option, printing->source + option->offset,
					 printing->out);
		appendStringInfoChar(printing->out, '\n');
	}
}

static void
print_section(const Printing *printing)
{
	StringInfo	out = printing->out;
	bool		needs_dash = printing->is_entry;
	int			i;

	for (i = 0; i < printing->section->noptions; i++)
	{
		const Option *option = &printing->section->options[i];
		int			indent = printing->indent - (needs_dash ? INDENT : 0);

		if (!is_printed(printing, option))
			continue;
		if (printing->has_comments)
		{
			appendStringInfoSpaces(out, indent);
			appendStringInfo(out, "# %s\n", option->help);
		}
		appendStringInfoSpaces(out, indent);
		appendStringInfo(out, "%s%s:", needs_dash ? "- " : "", option->name);
		print_option(printing, option);
		needs_dash = false;
	}
}

void
config_print_options(const Section *root, const void *source, StringInfo out)
{
	Printing	printing = {
		.out = out,
		.section = root,
		.source = source,
		.modes = ~0,
		.has_comments = true
	};

	print_section(&printing);
}

void
config_print(const Config *config, StringInfo out)
{
	config_print_options(options_root(), config, out);
}

static void
print_default(const Option *option, StringInfo out)
{
	if (option->fallback_note != NULL)
		appendStringInfoString(out, option->fallback_note);
	else if (option->fallback != NULL)
		appendStringInfo(out, "`%s`",
						 option->fallback[0] ? option->fallback : "\"\"");
	else if (option->is_required)
		appendStringInfoString(out, "required");
}

static void
print_reference(const Section *section, const char *prefix, StringInfo out)
{
	int			i;

	for (i = 0; i < section->noptions; i++)
	{
		const Option *option = &section->options[i];
		char	   *inner;

		appendStringInfo(out, "| `%s%s` | %s | ", prefix, option->name,
						 option->help);
		print_default(option, out);
		appendStringInfoString(out, " | ");
		values_print_range(option, out);
		appendStringInfo(out, " | %s |\n",
						 option->needs_restart ? "restart" : "reload");
		if (option->section == NULL)
			continue;
		inner = psprintf("%s%s%s", prefix, option->name,
						 option->kind == OPTION_SECTIONS ? "[]." : ".");
		print_reference(option->section, inner, out);
		pfree(inner);
	}
}

void
config_print_reference(StringInfo out)
{
	appendStringInfoString(out,
						   "| option | what it is | default | values | changed by |\n"
						   "|---|---|---|---|---|\n");
	print_reference(options_root(), "", out);
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Texts are compared as they are: what is printed may hide a password. */
static bool
is_same(const Option *option, const void *a, const void *b)
{
	const void *left = (const char *) a + option->offset;
	const void *right = (const char *) b + option->offset;
	StringInfoData texts[2];
	bool		result;

	if (option->kind == OPTION_TEXT || option->kind == OPTION_CONNINFO)
		return is_same_text(*(char *const *) left, *(char *const *) right);
	if (option->kind == OPTION_SWITCH)
		return true;			/* told by the handler's mode */
	initStringInfo(&texts[0]);
	initStringInfo(&texts[1]);
	values_print(option, left, &texts[0]);
	values_print(option, right, &texts[1]);
	result = strcmp(texts[0].data, texts[1].data) == 0;
	pfree(texts[0].data);
	pfree(texts[1].data);
	return result;
}

/* What a handler's mode does not have is not filled in either. */
static const char *
section_needs_restart(const Section *section, int modes,
					  const void *from, const void *to)
{
	int			i;

	for (i = 0; i < section->noptions; i++)
	{
		const Option *option = &section->options[i];

		if (option->needs_restart &&
			(option->modes == 0 || (option->modes & modes) != 0) &&
			!is_same(option, from, to))
			return option->name;
	}
	return NULL;
}

const char *
config_first_change(const Section *root, const void *from, const void *to)
{
	return section_needs_restart(root, ~0, from, to);
}

const char *
config_needs_restart(const Config *from, const Config *to)
{
	const char *name = config_first_change(options_root(), from, to);
	int			i;

	if (name != NULL)
		return name;
	if (from->nhandlers != to->nhandlers)
		return "handlers";
	for (i = 0; i < from->nhandlers; i++)
	{
		const HandlerConfig *a = &from->handlers[i];
		const HandlerConfig *b = &to->handlers[i];

		if (a->mode != b->mode)
			return "handlers";
		name = section_needs_restart(options_handler(), OPTION_MODE(a->mode),
									 a, b);
		if (name != NULL)
			return name;
	}
	return NULL;
}
