#include "base/port.h"

#include "base/text.h"
#include "base/units.h"
#include "options/conninfo.h"
#include "options/values.h"

/* Bytes of a value that a message quotes. */
#define SHOWN_MAX 100

static Parsed
parse_integer(const char *text, int64 *value)
{
	bool		is_negative = *text == '-';
	Parsed		parsed;

	if (is_negative)
		text++;
	parsed = units_parse_digits(&text, value);
	if (*text != '\0')
		return PARSED_INVALID;
	if (is_negative)
		*value = -*value;
	return parsed;
}

/* Digits, and at most six of them after a point. */
static Parsed
parse_number(const char *text, double *value)
{
	const char *s = text;
	int64		whole;
	Parsed		parsed = units_parse_digits(&s, &whole);

	if (parsed == PARSED && *s == '.')
	{
		size_t		decimals = strspn(++s, "0123456789");

		if (decimals == 0 || decimals > 6)
			return PARSED_INVALID;
		s += decimals;
	}
	if (parsed == PARSED_INVALID || *s != '\0')
		return PARSED_INVALID;
	*value = strtod(text, NULL);
	return parsed;
}

const char *
options_check_path(const char *path)
{
	return path[0] == '/' ? NULL : "the path must be absolute";
}

int
options_choice_value(const Option *option, const char *name)
{
	for (const Choice *choice = option->choices; name != NULL && choice->name != NULL; choice++)
		if (strcmp(choice->name, name) == 0)
			return choice->value;
	return options_choice_value(option, option->fallback);
}

const char *
options_choice_name(const Choice *choices, int value)
{
	while (choices->value != value)
		choices++;
	return choices->name;
}

/* Prints the value in the largest unit that leaves a whole number. */
static void
print_units(int64 value, const Unit *units, StringInfo out)
{
	const Unit *best = units;

	for (; units->name != NULL && value != 0; units++)
		if (value % units->factor == 0)
			best = units;
	appendStringInfo(out, INT64_FORMAT "%s", value / best->factor, best->name);
}

static void
print_number(double value, StringInfo out)
{
	appendStringInfo(out, "%.6f", value);
	while (out->data[out->len - 1] == '0')
		out->data[--out->len] = '\0';
	if (out->data[out->len - 1] == '.')
		out->data[--out->len] = '\0';
}

static void
print_scalar(OptionType type, int64 value, StringInfo out)
{
	if (type == OPTION_DURATION)
		print_units(value, duration_units, out);
	else if (type == OPTION_SIZE)
		print_units(value, size_units, out);
	else
		appendStringInfo(out, INT64_FORMAT, value);
}

static void
print_text(const char *text, StringInfo out)
{
	appendStringInfoChar(out, '"');
	text_escape_json(out, text, strlen(text), SIZE_MAX);
	appendStringInfoChar(out, '"');
}

static void
print_words(char *const *words, StringInfo out)
{
	int			i;

	appendStringInfoChar(out, '[');
	for (i = 0; words != NULL && words[i] != NULL; i++)
	{
		if (i > 0)
			appendStringInfoString(out, ", ");
		print_text(words[i], out);
	}
	appendStringInfoChar(out, ']');
}

void
values_print(const Option *option, const void *source, StringInfo out)
{
	char	   *redacted;

	switch (option->type)
	{
		case OPTION_TEXT:
			print_text(*(char *const *) source, out);
			break;
		case OPTION_SETTINGS:
			appendStringInfoString(out, *(char *const *) source);
			break;
		case OPTION_CONNINFO:
			redacted = conninfo_redact(*(char *const *) source);
			print_text(redacted, out);
			pfree(redacted);
			break;
		case OPTION_WORDS:
		case OPTION_ARGV:
			print_words(*(char **const *) source, out);
			break;
		case OPTION_INTEGER:
			print_scalar(option->type, *(const int *) source, out);
			break;
		case OPTION_NUMBER:
			print_number(*(const double *) source, out);
			break;
		case OPTION_DURATION:
		case OPTION_SIZE:
			print_scalar(option->type, *(const int64 *) source, out);
			break;
		case OPTION_CHOICE:
			appendStringInfoString(out, options_choice_name(option->choices,
															*(const int *) source));
			break;
		case OPTION_SWITCH:
			appendStringInfoString(out, "true");
			break;
		case OPTION_SECTION:
		case OPTION_SECTIONS:
		case OPTION_KIND:
			Assert(false);
			break;
	}
}

/* "1 to 100" or "one of a, b". */
static void
print_range(const Option *option, StringInfo out)
{
	const Choice *choice;

	switch (option->type)
	{
		case OPTION_INTEGER:
		case OPTION_NUMBER:
		case OPTION_DURATION:
		case OPTION_SIZE:
			print_scalar(option->type, option->min, out);
			appendStringInfoString(out, " to ");
			print_scalar(option->type, option->max, out);
			break;
		case OPTION_CHOICE:
			appendStringInfoString(out, "one of ");
			for (choice = option->choices; choice->name != NULL; choice++)
				appendStringInfo(out, "%s%s",
								 choice == option->choices ? "" : ", ",
								 choice->name);
			break;
		default:
			break;
	}
}

/* Returns a reason that quotes the invalid text. */
static char *
reason_invalid(const char *what, const char *text, const char *hint)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "invalid %s \"", what);
	text_escape_line(&out, text, strlen(text), SHOWN_MAX);
	appendStringInfo(&out, "\": %s", hint);
	return out.data;
}

static char *
reason_range(const Option *option, const char *text)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoString(&out, "must be ");
	print_range(option, &out);
	appendStringInfoString(&out, ", not \"");
	text_escape_line(&out, text, strlen(text), SHOWN_MAX);
	appendStringInfoChar(&out, '"');
	return out.data;
}

/* One line of text within the option's length; the reason never quotes it. */
static bool
is_plain_text(const Option *option, const char *text, char **reason)
{
	size_t		len = strlen(text);
	size_t		i;

	if ((int64) len < option->min || (int64) len > option->max)
	{
		*reason = psprintf("must have " INT64_FORMAT " to " INT64_FORMAT
						   " bytes", option->min, option->max);
		return false;
	}
	for (i = 0; i < len; i++)
	{
		if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
		{
			*reason = pstrdup("must not have control characters");
			return false;
		}
	}
	return true;
}

static bool
passes_check(const Option *option, const char *text, char **reason)
{
	const char *fault = option->check ? option->check(text) : NULL;

	if (fault != NULL)
		*reason = reason_invalid("value", text, fault);
	return fault == NULL;
}

static bool
parse_choice(const Option *option, const char *text, int *target,
			 char **reason)
{
	const Choice *choice;

	for (choice = option->choices; choice->name != NULL; choice++)
	{
		if (strcmp(choice->name, text) == 0)
		{
			*target = choice->value;
			return true;
		}
	}
	*reason = reason_range(option, text);
	return false;
}

/*
 * Judges a number that was read; in_range matters only if it could be parsed.
 */
static bool
accept_number(const Option *option, const char *text, Parsed parsed,
			  bool in_range, char **reason)
{
	const char *what = "integer";
	const char *hint = "give a whole number";

	if (parsed == PARSED && in_range)
		return true;
	if (parsed != PARSED_INVALID)
	{
		*reason = reason_range(option, text);
		return false;
	}
	if (option->type == OPTION_NUMBER)
	{
		what = "number";
		hint = "give a number such as 2 or 0.25";
	}
	else if (option->type == OPTION_DURATION)
	{
		what = "duration";
		hint = "give a whole number and a unit, as in \"500ms\", \"30s\", \"10min\", \"2h\" or \"1d\"";
	}
	else if (option->type == OPTION_SIZE)
	{
		what = "size";
		hint = "give a whole number and a unit, as in \"512B\", \"64kB\" or \"1MB\"";
	}
	*reason = reason_invalid(what, text, hint);
	return false;
}

static bool
parse_double(const Option *option, const char *text, double *target,
			 char **reason)
{
	double		value = 0;
	Parsed		parsed = parse_number(text, &value);

	*target = value;
	return accept_number(option, text, parsed,
						 value >= option->min && value <= option->max, reason);
}

static bool
parse_int64(const Option *option, const char *text, int64 *target,
			char **reason)
{
	int64		value = 0;
	Parsed		parsed;

	if (option->type == OPTION_DURATION)
		parsed = units_parse(text, duration_units, &value);
	else if (option->type == OPTION_SIZE)
		parsed = units_parse(text, size_units, &value);
	else
		parsed = parse_integer(text, &value);
	*target = value;
	return accept_number(option, text, parsed,
						 value >= option->min && value <= option->max, reason);
}

static bool
parse_int(const Option *option, const char *text, int *target, char **reason)
{
	int64		value;

	if (!parse_int64(option, text, &value, reason))
		return false;
	*target = (int) value;
	return true;
}

static bool
store(bool is_valid, const char *text, char **target)
{
	if (is_valid)
		*target = pstrdup(text);
	return is_valid;
}

bool
values_parse(const Option *option, const char *text, void *target,
			 char **reason)
{
	switch (option->type)
	{
		case OPTION_TEXT:
			return store(is_plain_text(option, text, reason) &&
						 passes_check(option, text, reason), text, target);
		case OPTION_CONNINFO:
			return store(is_plain_text(option, text, reason) &&
						 conninfo_check(text, reason), text, target);
		case OPTION_WORDS:
		case OPTION_ARGV:
			return store(passes_check(option, text, reason), text, target);
		case OPTION_INTEGER:
			return parse_int(option, text, target, reason);
		case OPTION_NUMBER:
			return parse_double(option, text, target, reason);
		case OPTION_DURATION:
		case OPTION_SIZE:
			return parse_int64(option, text, target, reason);
		case OPTION_CHOICE:
			return parse_choice(option, text, target, reason);
		case OPTION_SWITCH:
			if (strcmp(text, "true") == 0)
				return true;
			*reason = reason_invalid("value", text, "it can only be true");
			return false;
		case OPTION_SETTINGS:
		case OPTION_SECTION:
		case OPTION_SECTIONS:
		case OPTION_KIND:
			break;
	}
	Assert(false);
	return false;
}
