/*-------------------------------------------------------------------------
 *
 * pattern.c
 *		Patterns: a name, or the beginning of names and a *.
 *
 *-------------------------------------------------------------------------
 */
#include "common/pattern.h"

#include <string.h>

size_t
pattern_fit(const char *pattern, const char *name)
{
	size_t		len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(pattern, name, len - 1) == 0 ? len : 0;
	return strcmp(pattern, name) == 0 ? PATTERN_EXACT : 0;
}
