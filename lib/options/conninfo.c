#include "base/port.h"

#include "base/program.h"
#include "options/conninfo.h"

#define HIDDEN_SECRET "********"

/* libpq says so in the C locale, if it has the memory. */
#define OUT_OF_MEMORY "out of memory\n"

PQconninfoOption *
conninfo_parse(const char *conninfo, char **fault)
{
	char	   *why = NULL;
	PQconninfoOption *parts = PQconninfoParse(conninfo, &why);

	if (parts == NULL && (why == NULL || strcmp(why, OUT_OF_MEMORY) == 0))
		program_out_of_memory("postgres");
	if (fault != NULL)
		*fault = why;
	else
		PQfreemem(why);
	return parts;
}

/*
 * An "@" in the password of a URI ends the password for libpq, which takes the rest for
 * a host and a port, and quotes them when it cannot connect.
 */
static bool
has_password_in_host(const PQconninfoOption *part)
{
	for (; part->keyword != NULL; part++)
		if ((strcmp(part->keyword, "host") == 0 || strcmp(part->keyword, "port") == 0) &&
			part->val != NULL && part->val[0] != '\0' && strchr(part->val + 1, '@') != NULL)
			return true;
	return false;
}

/*
 * libpq's own words quote pieces of the string, so they are kept only when
 * no password can be among them.
 */
bool
conninfo_check(const char *conninfo, char **reason)
{
	char	   *fault;
	PQconninfoOption *parts = conninfo_parse(conninfo, &fault);
	bool		may_quote = fault != NULL &&
		strstr(conninfo, "pass") == NULL && strstr(conninfo, "://") == NULL;

	if (parts == NULL)
	{
		*reason = psprintf("invalid connection string%s%s",
						   may_quote ? ": " : "", may_quote ? fault : "");
		(*reason)[strcspn(*reason, "\n")] = '\0';
	}
	else if (strstr(conninfo, "://") != NULL && has_password_in_host(parts))
	{
		*reason = pstrdup("invalid connection string: in a URI, write @ in a password as %40");
		PQconninfoFree(parts);
		parts = NULL;
	}
	PQfreemem(fault);
	PQconninfoFree(parts);
	return parts != NULL;
}

/* keyword='value', as libpq reads it. */
static void
append_keyword(StringInfo out, const char *keyword, const char *value)
{
	appendStringInfo(out, "%s%s='", out->len > 0 ? " " : "", keyword);
	for (; *value != '\0'; value++)
	{
		if (*value == '\'' || *value == '\\')
			appendStringInfoChar(out, '\\');
		appendStringInfoChar(out, *value);
	}
	appendStringInfoChar(out, '\'');
}

/* libpq marks passwords; newer versions have secrets that it does not mark. */
static bool
is_secret(const PQconninfoOption *part)
{
	return part->dispchar[0] == '*' ||
		strstr(part->keyword, "secret") != NULL ||
		strncmp(part->keyword, "scram_", 6) == 0;
}

/*
 * A string with a secret is written anew from its parsed parts.  Only libpq knows
 * where the password begins and ends in the text.
 */
char *
conninfo_redact(const char *conninfo)
{
	PQconninfoOption *parts = conninfo_parse(conninfo, NULL);
	PQconninfoOption *part;
	StringInfoData shown;
	bool		has_secret = parts == NULL;

	initStringInfo(&shown);
	for (part = parts; part != NULL && part->keyword != NULL; part++)
	{
		if (part->val == NULL)
			continue;
		has_secret |= is_secret(part);
		append_keyword(&shown, part->keyword,
					   is_secret(part) ? HIDDEN_SECRET : part->val);
	}
	PQconninfoFree(parts);
	if (has_secret)
		return shown.data;
	pfree(shown.data);
	return pstrdup(conninfo);
}
