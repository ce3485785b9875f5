/*-------------------------------------------------------------------------
 *
 * refusal.c
 *		Why the database does not let this node execute tasks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/sdnotify.h"
#include "node/refusal.h"

void
refusal_set(char **refusal, char *reason)
{
	if (reason != NULL && (*refusal == NULL || strcmp(reason, *refusal) != 0))
	{
		log_line(TWT_LOG_ERROR, "adoption", "executes nothing in this database: %s; "
				 "see twtasks.adopt(environment)", reason);
		/* A sidecar that waits for an administrator counts as started. */
		sdnotify_ready();
	}
	if (*refusal != NULL)
		pfree(*refusal);
	*refusal = reason;
}
