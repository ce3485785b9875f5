/*-------------------------------------------------------------------------
 *
 * json_member.c
 *		The text of a member of a JSON object.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/json_member.h"

static const char *
skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* From the first quote to after the last. */
static const char *
skip_string(const char *p, const char *end)
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
			p = skip_string(p, end);
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

		p = skip_string(p, end);
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

bool
json_has_nul(const char *json, size_t len)
{
	for (const char *p = json; p < json + len; p++)
		if (*p == '\\' && strncmp(++p, "u0000", 5) == 0)
			return true;
	return false;
}
