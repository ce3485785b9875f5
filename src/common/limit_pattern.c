/*-------------------------------------------------------------------------
 *
 * limit_pattern.c
 *		Which limits a type is under, by their patterns.
 *
 *-------------------------------------------------------------------------
 */
#include "limit_pattern.h"

#include <string.h>

bool
limit_pattern_valid(const char *pattern, size_t len)
{
	if (len < 1)
		return false;
	if (pattern[len - 1] != '*')
		return trigger_type_valid(pattern, len);
	return len == 1 || trigger_type_valid(pattern, len - 1);
}

/* Length of the pattern without its star. */
static size_t
body_length(const char *pattern)
{
	size_t		len = strlen(pattern);

	return pattern[len - 1] == '*' ? len - 1 : len;
}

bool
limit_pattern_is_keyed(const char *pattern)
{
	size_t		len = strlen(pattern);

	return len >= 2 && pattern[len - 1] == '*' && pattern[len - 2] == '|';
}

/*
 * X and X* are equally long, and X lies within X*: so each length has two
 * numbers.
 */
int
limit_pattern_name(const char *pattern, const char *type, char *name)
{
	size_t		body = body_length(pattern);
	bool		has_star = pattern[body] == '*';
	size_t		len = body;

	if (strncmp(pattern, type, body) != 0)
		return -1;
	if (limit_pattern_is_keyed(pattern))
	{
		len += strcspn(type + body, "|");
		has_star = false;
	}
	else if (!has_star && type[body] != '\0' && type[body] != '|')
		return -1;
	memcpy(name, type, len);
	name[len] = '*';
	name[len + has_star] = '\0';
	return (int) (2 * len) + !has_star;
}
