/*-------------------------------------------------------------------------
 *
 * error_shape.c
 *		error_shape(): an error without what differs from task to task.
 *
 * Four passes, each of which replaces one kind of text.  A regular expression
 * for each would say the same, at 30 times the cost, and error_groups() needs
 * thousands of shapes.  A matcher looks at a place, and returns the end of what
 * it found there.
 *
 * The bytes of other characters than ASCII are never in ASCII's range, in any
 * encoding that a database can have.  All of these characters count as letters.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "base/contract.h"

#define LONGEST 500				/* characters of an error that count */

/*
 * The end of a match at a place, or NULL.  "begin" is the begin of the text,
 * "past" the end of what was found before.
 */
typedef const char *(*Matcher) (const char *begin, const char *past, const char *at);

/* Letters and digits of any language, and hexadecimal digits. */
static inline bool
is_alnum(char c)
{
	return IS_HIGHBIT_SET(c) || (c >= '0' && c <= '9') ||
		(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* A character of a domain, or of the name before the @. */
static inline bool
is_domain(char c)
{
	return is_alnum(c) || c == '-';
}

static inline bool
is_mailbox(char c)
{
	return is_domain(c) || c == '.' || c == '_' || c == '%' || c == '+';
}

/* The number of hexadecimal digits from a place on, at most that many. */
static int
count_hex(const char *at, int most)
{
	int			n = 0;

	while (n < most && is_hex(at[n]))
		n++;
	return n;
}

static const char *
find_double_quoted(const char *begin, const char *past, const char *at)
{
	const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;

	return end ? end + 1 : NULL;
}

/* Not the apostrophes of words. */
static const char *
find_single_quoted(const char *begin, const char *past, const char *at)
{
	const char *end;

	if (*at != '\'' || (at > past && is_alnum(at[-1])))
		return NULL;
	end = strchr(at + 1, '\'');
	return end && !is_alnum(end[1]) ? end + 1 : NULL;
}

static const char *
find_address(const char *begin, const char *past, const char *at)
{
	const char *end = at;

	if (!is_mailbox(*at) || (at > begin && is_mailbox(at[-1])))
		return NULL;
	while (is_mailbox(*end))
		end++;
	if (*end != '@' || !is_domain(end[1]))
		return NULL;
	do
	{
		for (end++; is_domain(*end);)
			end++;
	} while (*end == '.' && is_domain(end[1]));
	return end;
}

static const char *
end_of_uuid(const char *at)
{
	static const int groups[] = {8, 4, 4, 4, 12};

	for (size_t i = 0; i < lengthof(groups); i++)
	{
		if ((i > 0 && *at++ != '-') || count_hex(at, groups[i]) < groups[i])
			return NULL;
		at += groups[i];
	}
	return at;
}

/* IPv6: from 3 to 7 groups of up to 4 digits, each with a colon, and one more. */
static const char *
end_of_ipv6(const char *at)
{
	const char *end = NULL;

	for (int group = 1; group <= 7; group++)
	{
		int			digits;

		at += count_hex(at, 4);
		if (*at++ != ':')
			break;
		digits = count_hex(at, 4);
		if (group >= 3 && digits > 0)
			end = at + digits;
	}
	return end;
}

/* 0x and hexadecimal digits, or a word of 8 or more, of which some are letters and some not. */
static const char *
end_of_hex(const char *begin, const char *at)
{
	const char *end = at;
	bool		digit = false;
	bool		letter = false;

	if (*at == '0' && (at[1] | 0x20) == 'x' && is_hex(at[2]))
	{
		for (end += 2; is_hex(*end);)
			end++;
		return end;
	}
	if (at > begin && (is_alnum(at[-1]) || at[-1] == '_'))
		return NULL;
	for (; is_hex(*end); end++)
		*(is_digit(*end) ? &digit : &letter) = true;
	return digit && letter && end - at >= 8 && !is_alnum(*end) && *end != '_' ? end : NULL;
}

/* Digits, also of a time, an IPv4 address or an amount. */
static const char *
end_of_number(const char *at)
{
	const char *end = at;

	while (is_digit(*end))
	{
		do
			end++;
		while (is_digit(*end));
		if ((*end == '.' || *end == ':' || *end == ',') && is_digit(end[1]))
			end++;
	}
	return end > at ? end : NULL;
}

/* The longest of those that begin here. */
static const char *
find_number(const char *begin, const char *past, const char *at)
{
	const char *ends[4];
	const char *end = NULL;

	if (!is_hex(*at) && *at != ':')
		return NULL;
	ends[0] = end_of_uuid(at);
	ends[1] = end_of_ipv6(at);
	ends[2] = end_of_hex(begin, at);
	ends[3] = end_of_number(at);
	for (size_t i = 0; i < lengthof(ends); i++)
		if (ends[i] != NULL && (end == NULL || ends[i] > end))
			end = ends[i];
	return end;
}

/* Replaces what a matcher finds, if the text has one of these characters at all. */
static char *
replace_all(char *text, const char *needs, Matcher find, const char *by)
{
	const char *past = text;
	const char *at = text;
	StringInfoData into;

	if (text[strcspn(text, needs)] == '\0')
		return text;
	initStringInfo(&into);
	while (*at)
	{
		const char *end = find(text, past, at);

		if (end == NULL)
			appendStringInfoCharMacro(&into, *at++);
		else
		{
			appendStringInfoString(&into, by);
			past = at = end;
		}
	}
	return into.data;
}

TWT_FUNCTION(twt_error_shape);
Datum
twt_error_shape(PG_FUNCTION_ARGS)
{
	text	   *error = PG_GETARG_TEXT_PP(0);
	char	   *shape;

	shape = pnstrdup(VARDATA_ANY(error),
					 pg_mbcharcliplen(VARDATA_ANY(error), VARSIZE_ANY_EXHDR(error), LONGEST));
	shape = replace_all(shape, "\"", find_double_quoted, "\"<text>\"");
	shape = replace_all(shape, "'", find_single_quoted, "'<text>'");
	shape = replace_all(shape, "@", find_address, "<address>");
	shape = replace_all(shape, "0123456789abcdefABCDEF", find_number, "#");
	PG_RETURN_TEXT_P(cstring_to_text(shape));
}
