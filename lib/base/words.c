/*-------------------------------------------------------------------------
 *
 * words.c
 *		Lists of texts that end in NULL, such as argv, environ and options.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/words.h"

int
words_count(char *const *words)
{
	int			n = 0;

	while (words != NULL && words[n] != NULL)
		n++;
	return n;
}

const char *
words_variable(char *const *words, const char *name)
{
	size_t		len = strlen(name);

	for (; words != NULL && *words != NULL; words++)
		if (strncmp(*words, name, len) == 0 && (*words)[len] == '=')
			return *words + len + 1;
	return NULL;
}
