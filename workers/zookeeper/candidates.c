/*-------------------------------------------------------------------------
 *
 * candidates.c
 *		The nodes of an election's candidates, by their names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/zookeeper/candidates.h"

#define SEQUENCE_DIGITS 10

static const char *
sequence(const char *name)
{
	return name + GUID_LEN + 1;
}

static bool
is_candidate(const char *name)
{
	return strlen(name) == GUID_LEN + 1 + SEQUENCE_DIGITS &&
		strspn(name, "0123456789abcdef") == GUID_LEN && name[GUID_LEN] == '-' &&
		strspn(sequence(name), "0123456789") == SEQUENCE_DIGITS;
}

const char *
candidates_own(const struct String_vector *names, const char *guid)
{
	for (int i = 0; i < names->count; i++)
		if (is_candidate(names->data[i]) && strncmp(names->data[i], guid, GUID_LEN) == 0)
			return names->data[i];
	return NULL;
}

const char *
candidates_before(const struct String_vector *names, const char *own)
{
	const char *found = NULL;

	for (int i = 0; i < names->count; i++)
	{
		const char *name = names->data[i];

		if (!is_candidate(name) || strcmp(sequence(name), sequence(own)) >= 0)
			continue;
		if (found == NULL || strcmp(sequence(name), sequence(found)) > 0)
			found = name;
	}
	return found;
}
