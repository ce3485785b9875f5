/*-------------------------------------------------------------------------
 *
 * places.c
 *		Where in users' functions an error was raised.
 *
 *-------------------------------------------------------------------------
 */
#include "common/places.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MAX 3
#define AT "function "
#define RAISE "RAISE"
#define OURS " twtasks_internal."

/*
 * As "PL/pgSQL function f() line 1 at assignment", or "SQL function "f" statement 1".
 * Data in a statement may have a line that looks like it; the apostrophe that ends
 * the data betrays what the statement has behind them.
 */
static bool
is_place(const char *line, size_t len)
{
	const char *rest = strchr(line, ' ');

	return rest != NULL && (strncmp(line, "SQL ", 4) == 0 || strncmp(line, "PL/", 3) == 0) &&
		strncmp(rest + 1, AT, strlen(AT)) == 0 && memchr(line, '\'', len) == NULL;
}

static bool
is_raise(const char *line, size_t len)
{
	return len >= strlen(RAISE) && strncmp(line + len - strlen(RAISE), RAISE, strlen(RAISE)) == 0;
}

/* Functions of the SQL edition call functions of users. */
static bool
is_ours(const char *line, size_t len)
{
	const char *ours = strstr(line, OURS);

	return ours != NULL && ours < line + len;
}

void
places_name(const char *context, char places[PLACES_BYTES])
{
	const char *line = context;
	size_t		used = 0;
	int			n = 0;

	places[0] = '\0';
	while (line != NULL && n < PLACES_MAX)
	{
		const char *end = strchr(line, '\n');
		size_t		len = end == NULL ? strlen(line) : (size_t) (end - line);

		if (is_place(line, len))
		{
			if (is_ours(line, len))
				return;
			if ((n == 0 && is_raise(line, len)) || used + strlen(", in ") + len >= PLACES_BYTES)
				return;
			used += snprintf(places + used, PLACES_BYTES - used, ", in %.*s", (int) len, line);
			n++;
		}
		line = end == NULL ? NULL : end + 1;
	}
}
