/*-------------------------------------------------------------------------
 *
 * verb.c
 *		Finds verbs and their operands.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/verb.h"

const VerbOption common_options[] = {
	{"host", 'h', "HOST", "the server's host or the directory of its socket"},
	{"port", 'p', "PORT", "its port"},
	{"dbname", 'd', "DBNAME", "the database, or a connection string"},
	{"username", 'U', "NAME", "the role"},
	{"no-password", 'w', NULL, "never ask for a password"},
	{"timeout", 0, "TIME", "end a statement after so long, such as 30s (the default)"},
	{"json", 0, NULL, "print one JSON document"},
	{"watch", 0, "TIME", "do it again after each such time, such as 2s"},
	{"help", 0, NULL, "print the help, of the verb if there is one, and exit"},
	{"version", 'V', NULL, "print the version, and exit"},
	{"manual", 0, NULL, "print the manual page, for scdoc, and exit"},
	{NULL}
};

const Verb *
verb_find(const char *name)
{
	for (const Verb *verb = verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}

bool
verb_operand(const Verb *verb, int n, char name[32], bool *is_optional)
{
	const char *word = verb->operands;
	size_t		len;

	while (n-- > 0 && *word)
	{
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	if (*word == '\0')
		return false;
	*is_optional = *word == '[';
	word += *is_optional;
	len = strcspn(word, " ]");
	strlcpy(name, word, Min(len + 1, 32));
	return true;
}
