/*-------------------------------------------------------------------------
 *
 * shown.c
 *		A caller's value in a message.
 *
 *-------------------------------------------------------------------------
 */
#include "base/twtasks.h"

#include "mb/pg_wchar.h"

#include "base/shown.h"

#define SHOWN_MAX 64			/* bytes of a wrong value that we repeat */

const char *
shown_value(const char *value)
{
	int			len = strlen(value);
	char	   *copy = psprintf("%.*s%s", pg_mbcliplen(value, len, SHOWN_MAX),
								value, len <= SHOWN_MAX ? "" : "...");

	for (char *c = copy; *c; c++)
		if ((unsigned char) *c < 0x20 || *c == 0x7f)
			*c = '?';
	return copy;
}
