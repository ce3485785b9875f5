/*-------------------------------------------------------------------------
 *
 * worker_fault.c
 *		Faults in the settings of a bundled worker, reported to its sidecar.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "workers/lib/worker_fault.h"

/* Bytes of a value that a reason quotes. */
#define SHOWN_MAX 100

bool
worker_fail(WorkerFault *fault, const char *setting, char *reason)
{
	fault->setting = setting == NULL ? NULL : pstrdup(setting);
	fault->reason = reason;
	return false;
}

bool
worker_fail_value(WorkerFault *fault, const char *setting, const char *value, const char *why)
{
	char	   *quote = text_quote_line(value, strlen(value), SHOWN_MAX);
	bool		result = worker_fail(fault, setting,
									 psprintf("invalid value \"%s\": %s", quote, why));

	pfree(quote);
	return result;
}
