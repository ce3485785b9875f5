/*-------------------------------------------------------------------------
 *
 * completion.c
 *		Words that may stand at the end of a command line.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/text.h"
#include "tools/completion.h"
#include "tools/ctl.h"
#include "tools/ctl_show.h"
#include "tools/verb.h"

/* A reader who types does not wait long. */
#define COMPLETION_US SECONDS_TO_US(2)

/* Candidates for an argument, by its name. */
typedef struct Source
{
	const char *argument;
	const char *sql;
} Source;

static const Source sources[] = {
	{"TYPE", "SELECT DISTINCT c.type FROM twtasks.count_tasks(100) c ORDER BY 1"},
	{"PATTERN", "SELECT l.pattern FROM twtasks.limits l UNION SELECT p.pattern FROM twtasks.type_policies p ORDER BY 1"},
	{"BUCKET", "SELECT b.name FROM twtasks.buckets b ORDER BY 1"},
	{"STATUS", "SELECT s::text FROM unnest(enum_range(NULL::twtasks.task_status)) s"},
	{"ID", "SELECT e.id FROM twtasks.error_tasks e LIMIT 100"},
	{NULL}
};

static void
offer(const char *word, const char *text)
{
	if (strncmp(word, text, strlen(text)) == 0)
		puts(word);
}

static void
offer_options(const VerbOption *options, const char *text)
{
	for (; options != NULL && options->name != NULL; options++)
	{
		char		word[64];

		snprintf(word, sizeof(word), "--%s", options->name);
		offer(word, text);
	}
}

/* A name of users may have characters that a terminal obeys. */
static void
offer_name(const char *name, const char *text)
{
	char	   *safe = text_quote_line(name, strlen(name), SIZE_MAX);

	if (strcmp(safe, name) == 0)
		offer(name, text);
	pfree(safe);
}

static void
offer_source(const CtlArguments *arguments, const char *argument, const char *text)
{
	SessionOptions options = {
		.host = arguments_get(arguments, "host"),
		.port = arguments_get(arguments, "port"),
		.dbname = arguments_get(arguments, "dbname"),
		.user = arguments_get(arguments, "username"),
		.no_password = true,
		.timeout_us = COMPLETION_US
	};
	const Source *source = sources;
	Session    *session;
	PGresult   *rows;

	while (source->argument && strcmp(source->argument, argument) != 0)
		source++;
	if (source->argument == NULL)
		return;
	session = session_open(&options);
	rows = session_ask(session, source->sql, 0, NULL);
	for (int row = 0; row < PQntuples(rows); row++)
		offer_name(show_first(rows, row), text);
	PQclear(rows);
	session_close(session);
}

/* The name of the argument of the option that the word is; NULL: it has none. */
static const char *
argument_after(const Verb *verb, const char *word)
{
	const VerbOption *lists[] = {verb->options, common_options};

	for (int i = 0; i < 2; i++)
		for (const VerbOption *option = lists[i]; option != NULL && option->name != NULL; option++)
			if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0)
				return option->argument;
	return NULL;
}

static void
offer_argument(const CtlArguments *arguments, const char *before, const char *text)
{
	const Verb *verb = arguments_verb(arguments);
	const char *argument = argument_after(verb, before);
	char		name[32];
	bool		is_optional;

	if (argument == NULL && verb_operand(verb, 0, name, &is_optional))
		argument = name;
	if (argument != NULL)
		offer_source(arguments, argument, text);
}

void
completion_print(int nwords, char **words)
{
	const char *text = nwords > 0 ? words[nwords - 1] : "";
	CtlArguments *arguments;
	char	   *fault;

	/* words[-1] exists: it is the word that asked for this */
	fault = arguments_read(Max(nwords, 1), words - 1, &arguments);
	if (fault != NULL)
		pfree(fault);
	if (*text == '-')
	{
		offer_options(common_options, text);
		offer_options(arguments_verb(arguments) ? arguments_verb(arguments)->options : NULL, text);
	}
	else if (arguments_verb(arguments))
		offer_argument(arguments, words[nwords - 2], text);
	else
		for (const Verb *verb = verbs; verb->name; verb++)
			offer(verb->name, text);
	arguments_free(arguments);
}
