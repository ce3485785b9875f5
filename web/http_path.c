#include "base/port.h"

#include "web/http_path.h"

/* Returns 16 for a character that is not a hexadecimal digit. */
static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

bool
http_path_is_encoded(const char *path)
{
	for (; *path != '\0'; path++)
		if (*path == '%' && (digit(path[1]) == 16 || digit(path[2]) == 16 ||
							 (path[1] == '0' && path[2] == '0')))
			return false;
	return true;
}

char *
http_decode(const char *text, size_t len)
{
	char	   *decoded = palloc(len + 1);
	size_t		n = 0;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '%')
		{
			decoded[n++] = (char) (digit(text[i + 1]) * 16 + digit(text[i + 2]));
			i += 2;
		}
		else
			decoded[n++] = text[i];
	decoded[n] = '\0';
	return decoded;
}

bool
http_path_match(const char *pattern, const char *path, HttpParts *parts)
{
	http_parts_free(parts);
	while (*pattern != '\0')
	{
		if (*pattern == '*')
		{
			size_t		len = strcspn(path, "/");

			if (len == 0 || parts->n == HTTP_PARTS_MAX)
				return false;
			parts->parts[parts->n++] = http_decode(path, len);
			path += len;
			pattern++;
		}
		else if (*pattern++ != *path++)
			return false;
	}
	return *path == '\0';
}

void
http_parts_free(HttpParts *parts)
{
	while (parts->n > 0)
		pfree(parts->parts[--parts->n]);
}

/* ---- the query ---- */

void
http_query_add(HttpQuery *query, const char *name, const char *value)
{
	HttpPair   *pair;

	if (value == NULL)
		value = "";
	if (!http_path_is_encoded(name) || !http_path_is_encoded(value))
	{
		query->is_bad = true;
		return;
	}
	/* The room doubles at each power of two. */
	if ((query->n & (query->n - 1)) == 0)
		query->pairs = repalloc(query->pairs, Max(2 * query->n, 1) * sizeof(HttpPair));
	pair = &query->pairs[query->n++];
	pair->name = http_decode(name, strlen(name));
	pair->value = http_decode(value, strlen(value));
}

const char *
http_query_find(const HttpQuery *query, const char *name)
{
	for (int i = 0; i < query->n; i++)
		if (strcmp(query->pairs[i].name, name) == 0)
			return query->pairs[i].value;
	return NULL;
}

void
http_query_free(HttpQuery *query)
{
	for (int i = 0; i < query->n; i++)
	{
		pfree(query->pairs[i].name);
		pfree(query->pairs[i].value);
	}
	pfree(query->pairs);
}
