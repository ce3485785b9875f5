#include "base/port.h"

#include <errno.h>
#include <math.h>

#include "base/foreign_json.h"
#include "base/json_member.h"

#define DIGITS "0123456789"

/* U+FFFD */
#define REPLACEMENT "\xef\xbf\xbd"

/* Some programs write a byte order mark, although JSON forbids it. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Length of the number that begins here; 0 if there is none. */
static size_t
measure_number(const char *text)
{
	const char *p = text + (*text == '-');
	size_t		digits = strspn(p, DIGITS);

	if (digits == 0 || (*p == '0' && digits > 1))
		return 0;
	p += digits;
	if (*p == '.')
	{
		digits = strspn(p + 1, DIGITS);
		if (digits == 0)
			return 0;
		p += 1 + digits;
	}
	if (*p == 'e' || *p == 'E')
	{
		p += 1 + (p[1] == '+' || p[1] == '-');
		digits = strspn(p, DIGITS);
		if (digits == 0)
			return 0;
		p += digits;
	}
	return p - text;
}

/* Tests a number without copying it, since a text may hold very many. */
static bool
is_too_large(const char *text, size_t len)
{
	if (strspn(text, "-" DIGITS) < len)
		return isinf(strtod(text, NULL));
	errno = 0;
	(void) strtoll(text, NULL, 10);
	return errno == ERANGE;
}

/* Copies a number, in quotes if it is too large.  Returns its end. */
static const char *
copy_number(StringInfo out, const char *p)
{
	size_t		len = measure_number(p);
	bool		is_quoted = len > 0 && is_too_large(p, len);

	if (len == 0)
		len = strspn(p, "+-.eE" DIGITS);
	if (is_quoted)
		appendStringInfoChar(out, '"');
	appendBinaryStringInfo(out, p, len);
	if (is_quoted)
		appendStringInfoChar(out, '"');
	return p + len;
}

static void
quote_large_numbers(StringInfo out, const char *text, size_t len)
{
	const char *end = text + len;
	const char *p = text;

	while (p < end)
	{
		const char *from = p;

		if (*p == '-' || (*p >= '0' && *p <= '9'))
		{
			p = copy_number(out, p);
			continue;
		}
		p = *p == '"' ? json_string_end(p, end) : p + 1;
		appendBinaryStringInfo(out, from, p - from);
	}
}

/* Replaces what jansson refuses in a string, although programs write it. */
static void
replace_bad_text(StringInfo out, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end)
	{
		const char *flaw;
		size_t		n = json_piece(text, end, &flaw);

		if (flaw == NULL || strcmp(flaw, JSON_FLAW_NUL) == 0)
			appendBinaryStringInfo(out, text, n);
		else
			appendStringInfoString(out, REPLACEMENT);
		text += n;
	}
}

/*
 * Parses a text, and once more with too large numbers in quotes, and with bad
 * characters replaced if the caller wants that.
 */
static json_t *
load(const char *text, size_t len, size_t flags, bool replaces, json_error_t *why)
{
	json_t	   *json;
	StringInfoData clean;
	StringInfoData quoted;

	flags |= JSON_DECODE_ANY | JSON_ALLOW_NUL;
	json = json_loadb(text, len, flags, why);
	if (json != NULL || json_error_code(why) == json_error_duplicate_key ||
		json_error_code(why) == json_error_stack_overflow)
		return json;
	if (json_error_code(why) != json_error_numeric_overflow &&
		(!replaces || json_flaw(text, len) == NULL))
		return NULL;
	initStringInfo(&clean);
	initStringInfo(&quoted);
	if (replaces)
		replace_bad_text(&clean, text, len);
	else
		appendBinaryStringInfo(&clean, text, len);
	quote_large_numbers(&quoted, clean.data, clean.len);
	json = json_loadb(quoted.data, quoted.len, flags, why);
	pfree(clean.data);
	pfree(quoted.data);
	return json;
}

/*
 * key includes its quotes; each escape takes at most six bytes per character.
 */
static bool
is_named(const char *key, size_t len, const char *name)
{
	json_t	   *string;
	bool		is_same;

	if (len > 6 * strlen(name) + 2)
		return false;
	if (memchr(key, '\\', len) == NULL)
		return len == strlen(name) + 2 && memcmp(key + 1, name, len - 2) == 0;
	string = json_loadb(key, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	is_same = string != NULL && strcmp(json_string_value(string), name) == 0;
	json_decref(string);
	return is_same;
}

/* Counts the members of all names in one pass over the text. */
static void
count_members(const char *text, size_t len, const char *const *names, int *counts)
{
	const char *end = text + len;
	const char *p = text;
	int			depth = 0;

	while (p < end)
	{
		const char *from = p;

		depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
		p = *p == '"' ? json_string_end(p, end) : p + 1;
		if (*from == '"' && depth == 1 && p[strspn(p, " \t\r\n")] == ':')
			for (int i = 0; names[i] != NULL; i++)
				counts[i] += is_named(from, p - from, names[i]);
	}
}

static const char *
find_repeated(const char *text, size_t len, const char *const *names)
{
	int			counts[FOREIGN_JSON_NAMES] = {0};

	count_members(text, len, names, counts);
	for (int i = 0; names[i] != NULL; i++)
		if (counts[i] > 1)
			return names[i];
	return NULL;
}

const char *
foreign_json_start(const char *text)
{
	return strncmp(text, BYTE_ORDER_MARK, 3) == 0 ? text + 3 : text;
}

json_t *
foreign_json_load(const char *text, size_t len, const char *const *names,
				  ForeignJsonFault *fault)
{
	const char *start = foreign_json_start(text);
	size_t		flags = names != NULL ? JSON_REJECT_DUPLICATES : 0;
	json_error_t why;
	json_t	   *json;

	len -= start - text;
	text = start;
	fault->repeated = NULL;
	json = load(text, len, flags, names != NULL, &why);
	if (json == NULL && names != NULL &&
		json_error_code(&why) == json_error_duplicate_key)
	{
		json = load(text, len, 0, true, &why);
		if (json != NULL)
			fault->repeated = find_repeated(text, len, names);
	}
	fault->byte = why.position;
	fault->is_deep = json == NULL && json_error_code(&why) == json_error_stack_overflow;
	return json;
}
