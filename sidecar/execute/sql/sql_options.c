/*-------------------------------------------------------------------------
 *
 * sql_options.c
 *		The options of handlers that are functions of the database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "execute/runner.h"

#define IDENTIFIER_MAX 63

/* The length of the lower-case identifier at text, or 0. */
static size_t
identifier_length(const char *text)
{
	size_t		len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (len > IDENTIFIER_MAX || (text[0] >= '0' && text[0] <= '9'))
		return 0;
	return len;
}

static const char *
check_function(const char *text)
{
	size_t		schema = identifier_length(text);

	if (schema > 0 && text[schema] == '.')
	{
		const char *name = text + schema + 1;
		size_t		len = identifier_length(name);

		if (len > 0 && name[len] == '\0')
			return NULL;
	}
	return "it must be schema.function, both of lower-case letters, digits and _";
}

/* SET ROLE would take "none" for the session's own role, even when quoted. */
static const char *
check_role(const char *text)
{
	if (strcmp(text, "none") == 0)
		return "it is not the name of a role";
	return NULL;
}

/* What a lost transaction did is gone with it. */
static bool
sql_settle(void *target, const Place *place)
{
	(void) place;
	((HandlerConfig *) target)->is_atomic = true;
	return true;
}

static const Option options[] = {
	{
		"sql", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = 2 * IDENTIFIER_MAX + 1, .check = check_function,
		.offset = offsetof(HandlerConfig, function),
		.help = "schema.function, called in one transaction with grab and finish"
	},
	{
		"role", OPTION_TEXT, .needs_restart = true,
		.min = 1, .max = IDENTIFIER_MAX, .check = check_role,
		.offset = offsetof(HandlerConfig, role),
		.help = "database role that the function runs as; default: the role of the connection"
	},
	HANDLER_PROCESSES,
	HANDLER_PREFETCH("64"),
	HANDLER_CONCURRENCY("16", ""),
	HANDLER_GRACE,
};

const HandlerKind handler_sql = {
	.options = {options, lengthof(options), sizeof(HandlerConfig), sql_settle},
};
