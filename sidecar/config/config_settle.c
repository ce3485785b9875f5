/*-------------------------------------------------------------------------
 *
 * config_settle.c
 *		What concerns several options at once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <jansson.h>
#include <unistd.h>

#include "config/bundled.h"
#include "config/config_settle.h"
#include "config/hello.h"
#include "config/worker_settings.h"
#include "config/statuses.h"

#define COMMAND_CONCURRENCY 10
#define SQL_CONCURRENCY 16
#define HTTP_CONCURRENCY 50
#define NOOP_CONCURRENCY 1000
#define WORKER_PREFETCH 1
#define SQL_PREFETCH 64

/* What is being settled. */
typedef struct Settling
{
	Config	   *config;
	const Section *section;		/* of a handler */
	const RawSection *handlers; /* as the file has them */
	const ConfigSource *source;
	char	  **error;
} Settling;

/* A pattern and where it stands, to find the same one elsewhere. */
typedef struct PatternRef
{
	const char *pattern;
	int			handler;
	int			entry;
} PatternRef;

static bool
handler_fail(Settling *settling, int index, const char *key,
			 const char *what)
{
	char	   *place = psprintf("handlers[%d]%s%s", index,
								 key[0] != '\0' ? "." : "", key);

	*settling->error = config_source_message(settling->source, place, "%s",
											 what);
	pfree(place);
	return false;
}

static const Option *
find_option(const Section *section, const char *name)
{
	const Option *option = section->options;

	while (strcmp(option->name, name) != 0)
		option++;
	return option;
}

static bool
is_in_file(const Settling *settling, int index, const Option *option)
{
	const RawSection *raw = &settling->handlers[index];

	return raw->values[option - settling->section->options].text != NULL;
}

/* The keys of which a handler has one. */
static const struct
{
	const char *key;
	HandlerMode mode;
}			mode_keys[] = {
	{"command", HANDLER_COMMAND},
	{"worker", HANDLER_WORKER},
	{"sql", HANDLER_SQL},
	{"http", HANDLER_HTTP},
	{"noop", HANDLER_NOOP},
};

static bool
settle_mode(Settling *settling, int index)
{
	int			nfound = 0;
	int			i;

	for (i = 0; i < (int) lengthof(mode_keys); i++)
	{
		const Option *option = find_option(settling->section,
										   mode_keys[i].key);

		if (is_in_file(settling, index, option))
		{
			settling->config->handlers[index].mode = mode_keys[i].mode;
			nfound++;
		}
	}
	if (nfound == 1)
		return true;
	return handler_fail(settling, index, "",
						"a handler must have exactly one of command, worker, sql, http and noop");
}

/*
 * Numbers that the mode has no use for are harmless.  A role, a directory or a
 * list would not do what whoever wrote it believes.
 */
static bool
check_modes(Settling *settling, int index)
{
	int			mode = OPTION_MODE(settling->config->handlers[index].mode);
	int			i;

	for (i = 0; i < settling->section->noptions; i++)
	{
		const Option *option = &settling->section->options[i];

		if ((option->kind == OPTION_TEXT || option->kind == OPTION_WORDS) &&
			option->modes != 0 && !(option->modes & mode) &&
			is_in_file(settling, index, option))
			return handler_fail(settling, index, option->name,
								"a handler of this kind cannot have it");
	}
	return true;
}

static bool
settle_settings(Settling *settling, int index)
{
	HandlerConfig *handler = &settling->config->handlers[index];
	const char *error = worker_settings_read(settling->source, index, &handler->settings);

	if (error == NULL && handler->settings != NULL && handler->mode != HANDLER_WORKER)
		error = "a handler of this kind cannot have it";
	return error == NULL || handler_fail(settling, index, "settings", error);
}

static int
default_concurrency(const HandlerConfig *handler)
{
	switch (handler->mode)
	{
		case HANDLER_COMMAND:
			return COMMAND_CONCURRENCY;
		case HANDLER_WORKER:
			return handler->processes * handler->prefetch;
		case HANDLER_SQL:
			return SQL_CONCURRENCY;
		case HANDLER_HTTP:
			return HTTP_CONCURRENCY;
		case HANDLER_NOOP:
			return NOOP_CONCURRENCY;
	}
	return 1;
}

static bool
settle_statuses(Settling *settling, int index)
{
	HandlerConfig *handler = &settling->config->handlers[index];
	bool		is_http = handler->mode == HANDLER_HTTP;
	const char *error = statuses_check_all(handler->statuses, is_http ? 100 : 0,
										   is_http ? 599 : 255);

	return error == NULL || handler_fail(settling, index, "statuses", error);
}

static bool
settle_handler(Settling *settling, int index)
{
	HandlerConfig *handler = &settling->config->handlers[index];

	if (!settle_mode(settling, index) || !check_modes(settling, index) ||
		!settle_settings(settling, index) ||
		!settle_statuses(settling, index))
		return false;
	if (handler->argv != NULL && handler->argv[0][0] != '/')
		return handler_fail(settling, index,
							handler->mode == HANDLER_COMMAND ? "command[0]" : "worker[0]",
							"the program must be named by its absolute path");
	if (handler->retry.delay_us > handler->retry.max_delay_us)
		return handler_fail(settling, index, "retry",
							"delay must not be longer than max_delay");
	if (handler->prefetch == 0)
		handler->prefetch = handler->mode == HANDLER_SQL ? SQL_PREFETCH : WORKER_PREFETCH;
	if (handler->concurrency == 0)
		handler->concurrency = default_concurrency(handler);
	return true;
}

static int
compare_patterns(const void *a, const void *b)
{
	const PatternRef *left = a;
	const PatternRef *right = b;
	int			result = strcmp(left->pattern, right->pattern);

	/* Equal ones in the order of the file: the later one is at fault. */
	return result != 0 ? result : left->handler - right->handler;
}

static PatternRef *
collect_patterns(const Config *config, int *npatterns)
{
	PatternRef *refs;
	PatternRef *ref;
	int			n = 0;
	int			i;

	for (i = 0; i < config->nhandlers; i++)
		n += config->handlers[i].ntypes;
	refs = palloc(n * sizeof(PatternRef));
	*npatterns = n;
	for (ref = refs, i = 0; i < config->nhandlers; i++)
	{
		int			j;

		for (j = 0; j < config->handlers[i].ntypes; j++, ref++)
		{
			ref->pattern = config->handlers[i].types[j];
			ref->handler = i;
			ref->entry = j;
		}
	}
	return refs;
}

/* Two handlers for one pattern: which of them runs would be chance. */
static bool
check_patterns(Settling *settling)
{
	int			n;
	PatternRef *refs = collect_patterns(settling->config, &n);
	bool		is_fine = true;
	int			i;

	qsort(refs, n, sizeof(PatternRef), compare_patterns);
	for (i = 1; i < n && is_fine; i++)
	{
		if (strcmp(refs[i - 1].pattern, refs[i].pattern) == 0)
		{
			char	   *key = psprintf("types[%d]", refs[i].entry);
			char	   *what = psprintf("handlers[%d] has \"%s\" already",
										refs[i - 1].handler, refs[i].pattern);

			is_fine = handler_fail(settling, refs[i].handler, key, what);
			pfree(what);
			pfree(key);
		}
	}
	pfree(refs);
	return is_fine;
}

static bool
settle_node(Settling *settling)
{
	char		name[256];

	if (settling->config->node != NULL)
		return true;
	if (gethostname(name, sizeof(name)) != 0 || name[0] == '\0')
	{
		*settling->error = config_source_message(settling->source, "node",
												 "there is no host name to take for it");
		return false;
	}
	name[sizeof(name) - 1] = '\0';
	settling->config->node = pstrdup(name);
	return true;
}

/* A request is a task of a worker that has as many in flight as there are slots. */
static void
settle_http(HandlerConfig *handler)
{
	handler->argv = palloc0(2 * sizeof(char *));
	handler->argv[0] = bundled_path("twtasks-http");
	handler->prefetch = handler->concurrency;
}

/* Says what is wrong with the settings of an HTTP handler, by its answer. */
static bool
check_answer(Settling *settling, int index, const char *line)
{
	json_t	   *answer = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	const char *setting = json_string_value(json_object_get(answer, "setting"));
	bool		is_fine = json_object_get(answer, "ready") != NULL;

	if (!is_fine)
		handler_fail(settling, index, setting != NULL ? setting : "http",
					 error != NULL ? error : "its program does not answer");
	json_decref(answer);
	return is_fine;
}

/* All at once, by the program that will run them. */
static bool
check_http(Settling *settling, int first, const char *hellos)
{
	const HandlerConfig *handlers = settling->config->handlers;
	char	   *reason;
	char	   *answers = hello_check(handlers[first].argv[0], hellos, &reason);
	const char *line = answers;
	bool		is_fine = answers != NULL;

	if (!is_fine)
	{
		handler_fail(settling, first, "http", reason);
		pfree(reason);
	}
	for (int i = first; i < settling->config->nhandlers && is_fine; i++)
	{
		if (handlers[i].mode != HANDLER_HTTP)
			continue;
		is_fine = check_answer(settling, i, line);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	pfree(answers);
	return is_fine;
}

static bool
settle_hellos(Settling *settling)
{
	Config	   *config = settling->config;
	int			first = -1;
	bool		is_fine;
	StringInfoData hellos;

	initStringInfo(&hellos);
	for (int i = 0; i < config->nhandlers; i++)
	{
		HandlerConfig *handler = &config->handlers[i];

		if (handler->mode == HANDLER_HTTP)
			settle_http(handler);
		else if (handler->mode != HANDLER_WORKER)
			continue;
		handler->hello = hello_make(config, handler);
		if (handler->mode != HANDLER_HTTP)
			continue;
		appendStringInfo(&hellos, "%s\n", handler->hello);
		first = first < 0 ? i : first;
	}
	is_fine = first < 0 || check_http(settling, first, hellos.data);
	pfree(hellos.data);
	return is_fine;
}

bool
config_settle(void *target, const RawSection *raw,
			  const ConfigSource *source, char **error)
{
	Config	   *config = target;
	const Section *root = options_root();
	const Option *option = find_option(root, "handlers");
	Settling	settling = {
		.config = config,
		.section = option->section,
		.handlers = raw->values[option - root->options].sections,
		.source = source,
		.error = error
	};
	int			i;

	for (i = 0; i < config->nhandlers; i++)
		if (!settle_handler(&settling, i))
			return false;
	return check_patterns(&settling) && settle_node(&settling) && settle_hellos(&settling);
}
