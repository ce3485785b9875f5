/*-------------------------------------------------------------------------
 *
 * limit_pattern.c
 *		Which limits a type is under, by their patterns.
 *
 *-------------------------------------------------------------------------
 */
#include "limit_pattern.h"

#include <stdlib.h>
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

bool
limit_cover(LimitCover *cover, const char *pattern, bool is_shared, const char *type)
{
	cover->key[0] = is_shared ? LIMIT_KEY_SHARED : LIMIT_KEY_OWN;
	cover->is_keyed = limit_pattern_is_keyed(pattern);
	cover->narrowness = limit_pattern_name(pattern, type, cover->key + 1);
	return cover->narrowness >= 0;
}

/* 'c' comes before 'n'. */
static int
compare_covers(const void *a, const void *b)
{
	const LimitCover *left = a;
	const LimitCover *right = b;

	if (left->narrowness != right->narrowness)
		return left->narrowness - right->narrowness;
	if (left->key[0] != right->key[0])
		return left->key[0] - right->key[0];
	return right->is_keyed - left->is_keyed;
}

int
limit_covers_sort(LimitCover *covers, int n)
{
	int			kept = 0;

	qsort(covers, n, sizeof(LimitCover), compare_covers);
	for (int i = 0; i < n; i++)
		if (i + 1 == n || strcmp(covers[i].key, covers[i + 1].key) != 0)
			covers[kept++] = covers[i];
	return kept;
}
