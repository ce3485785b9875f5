/*-------------------------------------------------------------------------
 *
 * ctl.c
 *		A run of twtasksctl.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "tools/ctl.h"
#include "tools/verb.h"

const char *
ctl_get(const Ctl *ctl, const char *name)
{
	return arguments_get(ctl->arguments, name);
}

void
ctl_need_task(const Ctl *ctl)
{
	if (ctl_get(ctl, "ID") == NULL && ctl_get(ctl, "key") == NULL)
		ctl_fail(CTL_USAGE, "%s needs an id, or --key", arguments_verb(ctl->arguments)->name);
}

PGresult *
ctl_ask(const Ctl *ctl, const char *sql, const char *const *names)
{
	const char *values[VERB_PARAMS];
	int			n = 0;

	while (n < VERB_PARAMS && names[n] != NULL)
	{
		values[n] = ctl_get(ctl, names[n]);
		n++;
	}
	return session_ask(ctl->session, sql, n, values);
}
