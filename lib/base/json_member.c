/*-------------------------------------------------------------------------
 *
 * json_member.c
 *		The text of a member of a JSON object.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <ctype.h>

#include "mb/pg_wchar.h"

#include "base/json_member.h"

static const char *
skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

const char *
json_string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

const char *
json_value_end(const char *p, const char *end, int *deepest)
{
	int			depth = 0;

	*deepest = 0;
	do
	{
		if (*p == '"')
			p = json_string_end(p, end);
		else
		{
			depth += *p == '{' || *p == '[';
			*deepest = Max(*deepest, depth);
			depth -= *p == '}' || *p == ']';
			p++;
		}
	} while (p < end && (depth > 0 || strchr(",}] \t\r\n", *p) == NULL));
	return p;
}

const char *
json_member(const char *text, const char *name, size_t *len)
{
	const char *found = NULL;
	const char *p = skip_space(text);
	const char *end = text + strlen(text);
	size_t		name_len = strlen(name);

	if (*p != '{')
		return NULL;
	for (p = skip_space(p + 1); *p == '"'; p = skip_space(p + (*p == ',')))
	{
		const char *key = p + 1;
		const char *value;
		int			deepest;

		p = json_string_end(p, end);
		value = skip_space(p);
		if (*value != ':' || *(value = skip_space(value + 1)) == '\0')
			break;
		if ((size_t) (p - 1 - key) == name_len && memcmp(key, name, name_len) == 0)
			found = value;
		p = json_value_end(value, end, &deepest);
		if (found == value)
			*len = p - value;
		p = skip_space(p);
	}
	return found;
}

/* The length of \uXXXX. */
#define ESCAPE_LEN 6

/* The code unit of an escape such as \u00e9; -1: there is none. */
static int
code_unit(const char *p, const char *end)
{
	int			unit = 0;

	if (end - p < ESCAPE_LEN || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < ESCAPE_LEN; i++)
	{
		if (!isxdigit((unsigned char) p[i]))
			return -1;
		unit = unit * 16 + (isdigit((unsigned char) p[i]) ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
	}
	return unit;
}

/* Length of the escape at p. */
static size_t
escape_piece(const char *p, const char *end, const char **flaw)
{
	int			unit = code_unit(p, end);

	if (unit < 0)
		return Min(end - p, 2);
	if (unit == 0)
		*flaw = JSON_FLAW_NUL;
	if (!is_utf16_surrogate_first(unit) && !is_utf16_surrogate_second(unit))
		return ESCAPE_LEN;
	if (is_utf16_surrogate_first(unit) &&
		is_utf16_surrogate_second(Max(code_unit(p + ESCAPE_LEN, end), 0)))
		return 2 * ESCAPE_LEN;
	*flaw = "half of a surrogate pair";
	return ESCAPE_LEN;
}

size_t
json_piece(const char *json, const char *end, const char **flaw)
{
	const unsigned char *s = (const unsigned char *) json;
	int			n = pg_utf_mblen(s);

	*flaw = NULL;
	if (*json == '\\')
		return escape_piece(json, end, flaw);
	if (n <= end - json && pg_utf8_islegal(s, n))
		return n;
	*flaw = "bytes that are not UTF-8";
	return 1;
}

const char *
json_flaw(const char *json, size_t len)
{
	const char *end = json + len;
	const char *flaw = NULL;

	while (json < end && flaw == NULL)
		json += json_piece(json, end, &flaw);
	return flaw;
}
