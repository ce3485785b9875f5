/*-------------------------------------------------------------------------
 *
 * worker_hello.c
 *		The hello of a sidecar, and the options of a bundled program.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "base/text.h"
#include "common/version.h"
#include "workers/lib/worker_hello.h"

/* ---- the hello ---- */

static void
append_member(StringInfo out, const char *name, const char *text)
{
	appendStringInfo(out, "\"%s\":\"", name);
	text_escape_json(out, text, strlen(text), SIZE_MAX);
	appendStringInfoChar(out, '"');
}

static void
answer(StringInfo out, const WorkerFault *fault)
{
	if (fault->reason == NULL)
	{
		appendStringInfoString(out, "{\"ready\":1}\n");
		return;
	}
	appendStringInfoChar(out, '{');
	append_member(out, "error", fault->reason);
	if (fault->setting != NULL)
	{
		appendStringInfoChar(out, ',');
		append_member(out, "setting", fault->setting);
	}
	appendStringInfoString(out, "}\n");
}

void *
worker_hello_read(const HelloProgram *program, const char *hello, StringInfo out)
{
	WorkerFault *fault = palloc0(sizeof(WorkerFault));
	void	   *settings = program->settings_new(hello, fault);

	answer(out, fault);
	pfree(fault->setting);
	pfree(fault->reason);
	pfree(fault);
	return settings;
}

/* ---- options ---- */

static int
check(const HelloProgram *program)
{
	char	   *line = NULL;
	size_t		size = 0;
	StringInfoData out;
	bool		is_written;

	initStringInfo(&out);
	while (getline(&line, &size, stdin) > 0)
	{
		void	   *settings = worker_hello_read(program, line, &out);

		if (settings != NULL)
			program->settings_free(settings);
	}
	free(line);
	is_written = fwrite(out.data, 1, out.len, stdout) == (size_t) out.len && fflush(stdout) == 0;
	pfree(out.data);
	return is_written ? EXIT_FINE : EXIT_NO_RESOURCES;
}

int
worker_hello_options(const HelloProgram *program, int argc, char **argv)
{
	const char *option = argc == 2 ? argv[1] : "";
	bool		is_help = strcmp(option, "--help") == 0;

	if (strcmp(option, "--check") == 0)
		return check(program);
	if (strcmp(option, "--version") == 0)
		return printf("%s %s\n", program->name, TWT_VERSION) > 0 ? EXIT_FINE : EXIT_NO_RESOURCES;
	fputs(program->usage, is_help ? stdout : stderr);
	return is_help ? EXIT_FINE : EXIT_BAD_ARGUMENTS;
}
