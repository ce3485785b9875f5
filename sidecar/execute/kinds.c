/*-------------------------------------------------------------------------
 *
 * kinds.c
 *		The kinds of handlers, and the options that they share.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "options/statuses.h"
#include "execute/runner.h"

#define OPTIONS_OF(kind) &kind.options,

const Section *const handler_kinds[] = {HANDLER_KINDS(OPTIONS_OF) NULL};

const HandlerKind *
handler_kind(const HandlerConfig *config)
{
	return (const HandlerKind *) config->kind;
}

bool
handler_settle_argv(const HandlerConfig *config, const Place *place)
{
	char	   *program;

	if (config->argv[0][0] == '/')
		return true;
	program = psprintf("%s[0]", config->kind->options[0].name);
	(void) options_fail(place, program, "the program must be named by its absolute path");
	pfree(program);
	return false;
}

bool
handler_settle_statuses(const HandlerConfig *config, const Place *place,
						int min, int max)
{
	const char *error = statuses_check_all(config->statuses, min, max);

	return error == NULL || options_fail(place, "statuses", "%s", error);
}
