/*-------------------------------------------------------------------------
 *
 * ctl_end.c
 *		How the programs of this folder end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "common/string.h"
#include "tools/ctl_end.h"

void
ctl_fail(CtlStatus status, const char *fmt,...)
{
	char		text[4096];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fflush(stdout);
	(void) pg_strip_crlf(text); /* messages of libpq end in a line end */
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
	exit(status);
}
