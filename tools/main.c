/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasksctl: a verb, run once or again and again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

#include "base/program.h"
#include "base/units.h"
#include "common/version.h"
#include "tools/completion.h"
#include "tools/ctl.h"
#include "tools/ctl_help.h"
#include "tools/ctl_show.h"
#include "tools/verb.h"

#define TIMEOUT_US SECONDS_TO_US(30)

/* Clears the terminal, and goes to its first line. */
#define CLEAR "\033[H\033[2J"

static int64
duration(const Ctl *ctl, const char *name, int64 otherwise)
{
	const char *text = ctl_get(ctl, name);
	int64		us = otherwise;

	if (text != NULL && (!units_parse_duration(text, &us) || us < MS_TO_US(1)))
		ctl_fail(CTL_USAGE, "--%s needs a duration such as 2s, not \"%s\"", name, text);
	return us;
}

static Session *
open_session(const Ctl *ctl, const Verb *verb)
{
	SessionOptions options = {
		.host = ctl_get(ctl, "host"),
		.port = ctl_get(ctl, "port"),
		.dbname = ctl_get(ctl, "dbname"),
		.user = ctl_get(ctl, "username"),
		.no_password = ctl_get(ctl, "no-password") != NULL,
		.timeout_us = duration(ctl, "timeout", TIMEOUT_US),
		.role = verb->role
	};

	return session_open(&options);
}

/* A verb that is one statement. */
static int
run_statement(Ctl *ctl, const Verb *verb)
{
	PGresult   *rows;

	if (verb->params[0] != NULL && strcmp(verb->params[0], "ID") == 0)
		ctl_need_task(ctl);
	rows = ctl_ask(ctl, verb->sql, verb->params);
	if (PQntuples(rows) == 0 && verb->none != NULL)
		ctl_fail(CTL_REFUSED, "%s", verb->none);
	if (verb->is_record)
		show_record(ctl, rows);
	else
		show_rows(ctl, rows);
	PQclear(rows);
	return CTL_DONE;
}

static int
run_once(Ctl *ctl, const Verb *verb)
{
	return verb->run ? verb->run(ctl) : run_statement(ctl, verb);
}

static int
run_verb(Ctl *ctl, const Verb *verb)
{
	int64		pause_us = duration(ctl, "watch", 0);
	int			status;

	if (pause_us > 0 && strcmp(verb->group, VERB_LOOK) != 0)
		ctl_fail(CTL_USAGE, "--watch repeats only verbs that look, not %s", verb->name);

	for (;;)
	{
		if (pause_us > 0 && !ctl->is_json && isatty(STDOUT_FILENO))
			fputs(CLEAR, stdout);
		status = run_once(ctl, verb);
		if (fflush(stdout) != 0)
			ctl_fail(CTL_REFUSED, "could not write: %m");
		if (pause_us == 0)
			return status;
		(void) poll(NULL, 0, (int) Min(pause_us / 1000, INT_MAX));
	}
}

/* Some verbs have an option of this name, with a value. */
static bool
takes_version(const Verb *verb)
{
	for (const VerbOption *option = verb ? verb->options : NULL; option && option->name; option++)
		if (strcmp(option->name, "version") == 0)
			return true;
	return false;
}

/* Whether there is nothing more to do. */
static bool
is_told(const CtlArguments *arguments)
{
	const char *version = arguments_get(arguments, "version");

	if (version != NULL && !takes_version(arguments_verb(arguments)))
		printf("twtasksctl %s\n", TWT_VERSION);
	else if (arguments_get(arguments, "manual"))
		help_manual();
	else if (arguments_get(arguments, "help"))
		help_print(arguments_verb(arguments));
	else
		return false;
	return true;
}

int
main(int argc, char **argv)
{
	CtlArguments *arguments;
	Ctl			ctl = {0};
	char	   *fault;
	int			status;

	program_begin();
	setlocale(LC_CTYPE, "");
	if (argc > 2 && strcmp(argv[1], "complete") == 0)
	{
		completion_print(argc - 3, argv + 3);
		return CTL_DONE;
	}
	fault = arguments_read(argc, argv, &arguments);
	if (fault != NULL)
		ctl_fail(CTL_USAGE, "%s\nhint: twtasksctl --help", fault);
	if (is_told(arguments))
		return CTL_DONE;
	ctl.arguments = arguments;
	ctl.is_json = arguments_get(arguments, "json") != NULL;
	ctl.has_color = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
	if (arguments_verb(arguments)->role != NULL)
		ctl.session = open_session(&ctl, arguments_verb(arguments));
	status = run_verb(&ctl, arguments_verb(arguments));
	if (ctl.session)
		session_close(ctl.session);
	arguments_free(arguments);
	return status;
}
