/*-------------------------------------------------------------------------
 *
 * ctl_end.c
 *		How the programs of this folder end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <errno.h>

#include "base/text.h"
#include "common/string.h"
#include "tools/ctl_end.h"

/* The words may be a server's own, so nothing but their line ends reaches the terminal. */
static void
print_lines(char *text)
{
	char	   *line;

	while ((line = strsep(&text, "\n")) != NULL)
	{
		bool		is_indented = *line == '\t';	/* as libpq's hints are */
		char	   *safe = text_quote_line(line + is_indented, strlen(line + is_indented), SIZE_MAX);

		fprintf(stderr, "%s%s\n", is_indented ? "\t" : "", safe);
		pfree(safe);
	}
}

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
	fprintf(stderr, "%s: ", program_invocation_short_name);
	print_lines(text);
	exit(status);
}
