#include "base/port.h"

#include "base/log.h"
#include "base/text.h"
#include "check/faults.h"
#include "check/programs.h"
#include "calls/calls.h"

/* Equals the delay of a task whose handler cannot be started. */
#define AGAIN_US SECONDS_TO_US(30)

/* A handler whose tasks do not come back for this time works again. */
#define NOTED_US (2 * AGAIN_US)
#define NOTED_MAX 1000

/* The last fault with which a task of a handler came back. */
typedef struct Noted
{
	char	   *text;
	int64		until_us;
} Noted;

/* Kinds of helpers, at most. */
#define SOURCES_MAX 8

typedef struct Source
{
	FaultsAdd	add;
	void	   *arg;
} Source;

struct Faults
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	FaultsAsk	ask;
	void	   *arg;
	LoopTimer  *timer;			/* the next check */
	Blocking   *looking;		/* for programs; NULL: not now */
	char	  **programs;		/* their faults, while functions are checked */
	char	  **checked;		/* faults of the last check; NULL: none */
	Noted	   *noted;			/* one for each handler */
	char	  **list;			/* faults that are logged; NULL: none */
	char	   *text;			/* the last answer of faults_text() */
	char	   *session;		/* the last answer of pg_silent() */
	Source		sources[SOURCES_MAX];	/* helpers */
	int			nsources;
	json_t	   *helpers;		/* their last troubles */
	const char *config_trouble; /* why the file is not in force; NULL: it is */
	bool		is_untold;		/* the database lacks the last news */
	bool		is_ascii;		/* its encoding lacked a character once */
	bool		is_wanted;
	bool		is_under_way;
};

bool
faults_has_functions(const Config *config)
{
	for (int i = 0; i < config->nhandlers; i++)
		if (config->handlers[i]->function != NULL)
			return true;
	return false;
}

void
faults_add_functions(char **list, const Config *config, const PGresult *result)
{
	for (int i = 0; i < PQntuples(result); i++)
	{
		int			place = wire_get_int(result, i, HANDLERS_PLACE) - 1;

		if (place >= 0 && place < config->nhandlers && list[place] == NULL)
			list[place] = wire_dup_text(result, i, HANDLERS_FAULT);
	}
}

void
faults_free_list(char **list, const Config *config)
{
	for (int i = 0; list != NULL && i < config->nhandlers; i++)
		pfree(list[i]);
	pfree(list);
}

static int
count(char **list, const Config *config)
{
	int			n = 0;

	for (int i = 0; list != NULL && i < config->nhandlers; i++)
		n += list[i] != NULL;
	return n;
}

static bool
is_same(const char *one, const char *other)
{
	return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

static void
tell_log(const Faults *faults, char **list)
{
	for (int i = 0; i < faults->config->nhandlers; i++)
	{
		const char *before = faults->list == NULL ? NULL : faults->list[i];

		if (is_same(before, list[i]))
			continue;
		if (list[i] != NULL)
			log_line(TWT_LOG_ERROR, "handler",
					 "cannot be started, its tasks wait: handlers[%d]: %s", i, list[i]);
		else
			log_line(TWT_LOG_INFO, "handler", "can be started again: handlers[%d]", i);
	}
}

static void
add_text(const Faults *faults, WireParams *params, const char *prefix, const char *text)
{
	char	   *whole = psprintf("%s%s", prefix, text);
	char	   *ascii = faults->is_ascii ? text_to_ascii(whole) : NULL;

	wire_text(params, ascii != NULL ? ascii : whole);
	pfree(ascii);
	pfree(whole);
}

static void publish(Faults *faults);

static void
on_published(void *arg, PgOutcome outcome, PGresult *result)
{
	Faults	   *faults = arg;
	bool		is_lacking = outcome == PG_FAILED && !faults->is_ascii && strcmp(pg_sqlstate(result), "22P05") == 0;

	faults->is_untold |= outcome != PG_DONE;
	faults->is_ascii |= is_lacking;
	if (is_lacking)
		publish(faults);
}

/* Writes the faults for twtasks.warnings. */
static void
publish(Faults *faults)
{
	WireParams	params;
	int			nhelpers = (int) json_array_size(faults->helpers);

	wire_init(&params);
	wire_add_int8(&params, node_incarnation(faults->node));
	wire_add_array(&params, WIRE_TEXT,
				   count(faults->list, faults->config) + (faults->session != NULL) +
				   (faults->config_trouble != NULL) + nhelpers);
	if (faults->session != NULL)
		add_text(faults, &params, "", faults->session);
	if (faults->config_trouble != NULL)
		add_text(faults, &params, "configuration: ", faults->config_trouble);
	for (int i = 0; i < nhelpers; i++)
		add_text(faults, &params, "", json_string_value(json_array_get(faults->helpers, i)));
	for (int i = 0; faults->list != NULL && i < faults->config->nhandlers; i++)
		if (faults->list[i] != NULL)
		{
			char		prefix[32];

			snprintf(prefix, sizeof(prefix), "handlers[%d]: ", i);
			add_text(faults, &params, prefix, faults->list[i]);
		}
	faults->is_untold = false;
	pg_send(node_pg(faults->node), &call_note_faults, &params, on_published, faults);
}

/* No task of the handler can start. */
static const char *
fault_of_all(const Faults *faults, int handler)
{
	if (faults->checked != NULL && faults->checked[handler] != NULL)
		return faults->checked[handler];
	return faults->ask(faults->arg, handler);
}

static const char *
fault_of(const Faults *faults, int handler)
{
	const Noted *noted = &faults->noted[handler];
	const char *fault = fault_of_all(faults, handler);

	return fault == NULL && loop_now_us(faults->loop) < noted->until_us ? noted->text : fault;
}

/* Logs news; returns whether there are any. */
static bool
tell_news(Faults *faults)
{
	char	  **list = palloc0(faults->config->nhandlers * sizeof(char *));
	bool		is_news = false;

	for (int i = 0; i < faults->config->nhandlers; i++)
	{
		const char *fault = fault_of(faults, i);

		list[i] = fault != NULL ? pstrdup(fault) : NULL;
		is_news |= !is_same(faults->list == NULL ? NULL : faults->list[i], fault);
	}
	tell_log(faults, list);
	faults_free_list(faults->list, faults->config);
	faults->list = list;
	return is_news;
}

/* The check knows more than a task that came back before it. */
static void
forget_functions(Faults *faults)
{
	for (int i = 0; i < faults->config->nhandlers; i++)
		if (faults->config->handlers[i]->function != NULL)
			faults->noted[i].until_us = 0;
}

static void
take(Faults *faults, char **list)
{
	forget_functions(faults);
	faults_free_list(faults->checked, faults->config);
	faults->checked = list;
	(void) tell_news(faults);
	publish(faults);
	if (count(list, faults->config) > 0)
		loop_timer_start(faults->timer, AGAIN_US);
}

static void
on_checked(void *arg, PgOutcome outcome, PGresult *result)
{
	Faults	   *faults = arg;
	char	  **list = faults->programs;

	faults->programs = NULL;
	faults->is_under_way = false;
	faults->is_wanted |= outcome == PG_LOST;
	if (outcome == PG_FAILED)
		loop_timer_start(faults->timer, AGAIN_US);
	if (outcome != PG_DONE)
	{
		faults_free_list(list, faults->config);
		return;
	}
	faults_add_functions(list, faults->config, result);
	take(faults, list);
}

static bool
can_check(const Faults *faults)
{
	return pg_is_up(node_pg(faults->node)) && node_incarnation(faults->node) != 0;
}

/* Goes on with functions.  Takes the faults of programs. */
static void
on_programs(void *arg, char **list)
{
	Faults	   *faults = arg;
	WireParams	params;

	faults->looking = NULL;
	if (faults_has_functions(faults->config) && can_check(faults))
	{
		faults->programs = list;
		wire_init(&params);
		calls_add_functions(&params, faults->config);
		pg_send(node_pg(faults->node), &call_check_handlers, &params, on_checked, faults);
		return;
	}
	faults->is_under_way = false;
	if (can_check(faults))
	{
		take(faults, list);
		return;
	}
	faults->is_wanted = true;
	faults_free_list(list, faults->config);
}

void
faults_pump(Faults *faults)
{
	if (!faults->is_wanted || faults->is_under_way || !can_check(faults))
		return;
	faults->is_wanted = false;
	faults->is_under_way = true;
	faults->looking = programs_look(faults->loop, faults->config, on_programs, faults);
	faults->is_under_way = faults->looking != NULL;
	if (faults->looking == NULL)
		loop_timer_start(faults->timer, AGAIN_US);
}

/* Returns whether their troubles are others than before. */
static bool
ask_helpers(Faults *faults)
{
	json_t	   *before = faults->helpers;
	bool		is_news;

	faults->helpers = json_array();
	for (int i = 0; i < faults->nsources; i++)
		faults->sources[i].add(faults->sources[i].arg, faults->helpers);
	is_news = !json_equal(before, faults->helpers);
	json_decref(before);
	return is_news;
}

void
faults_tick(Faults *faults, char *session)
{
	bool		is_news = ask_helpers(faults) || !is_same(faults->session, session) || faults->is_untold;

	pfree(faults->session);
	faults->session = session;
	if (faults->checked != NULL)
		is_news |= tell_news(faults);
	faults->is_untold = is_news;
	if (is_news && pg_is_up(node_pg(faults->node)))
		publish(faults);
}

void
faults_watch(Faults *faults, FaultsAdd add, void *arg)
{
	Assert(faults->nsources < SOURCES_MAX);
	faults->sources[faults->nsources].add = add;
	faults->sources[faults->nsources++].arg = arg;
}

const char *
faults_of_helpers(const Faults *faults)
{
	for (size_t i = 0; i < json_array_size(faults->helpers); i++)
	{
		const char *trouble = json_string_value(json_array_get(faults->helpers, i));

		if (strncmp(trouble, "helper ", strlen("helper ")) == 0)
			return trouble;
	}
	return NULL;
}

void
faults_note_config(Faults *faults, const char *trouble)
{
	if (is_same(faults->config_trouble, trouble))
		return;
	faults->config_trouble = trouble;
	faults->is_untold = true;
	if (can_check(faults))
		publish(faults);
}

const char *
faults_text(Faults *faults)
{
	StringInfoData text;

	pfree(faults->text);
	initStringInfo(&text);
	for (int i = 0; i < faults->config->nhandlers; i++)
		if (fault_of(faults, i) != NULL)
			appendStringInfo(&text, "%shandlers[%d]: %s", text.len > 0 ? "; " : "", i,
							 fault_of(faults, i));
	faults->text = text.data;
	return text.len > 0 ? text.data : NULL;
}

bool
faults_are_all(const Faults *faults)
{
	for (int i = 0; i < faults->config->nhandlers; i++)
		if (fault_of_all(faults, i) == NULL)
			return false;
	return faults->config->nhandlers > 0;
}

static void
look_again(void *arg)
{
	Faults	   *faults = arg;

	faults->is_wanted = true;
	loop_want_turn(faults->loop);
}

void
faults_look(Faults *faults)
{
	faults_free_list(faults->checked, faults->config);
	faults_free_list(faults->list, faults->config);
	faults->checked = faults->list = NULL;
	look_again(faults);
}

void
faults_note(void *arg, const Task *task, const char *why)
{
	Faults	   *faults = arg;
	const HandlerConfig *handler = config_handler(faults->config, task->type);
	int64		now_us = loop_now_us(faults->loop);
	Noted	   *noted;
	bool		is_known;

	if (handler == NULL || fault_of_all(faults, handler->index) != NULL)
		return;
	noted = &faults->noted[handler->index];
	is_known = now_us < noted->until_us;
	noted->until_us = now_us + NOTED_US;
	if (is_known)
		return;
	pfree(noted->text);
	noted->text = text_quote_line(why, strlen(why), NOTED_MAX);
	if (handler->function != NULL)
		look_again(faults);
}

Faults *
faults_open(Loop *loop, const Config *config, Node *node, FaultsAsk ask, void *arg)
{
	Faults	   *faults = palloc0(sizeof(Faults));

	faults->loop = loop;
	faults->config = config;
	faults->node = node;
	faults->noted = palloc0(config->nhandlers * sizeof(Noted));
	faults->helpers = json_array();
	faults->ask = ask;
	faults->arg = arg;
	faults->timer = loop_timer_new(loop, look_again, faults);
	return faults;
}

void
faults_free(Faults *faults)
{
	if (faults->looking != NULL)
		blocking_cancel(faults->looking);
	loop_timer_free(faults->timer);
	faults_free_list(faults->programs, faults->config);
	pfree(faults->session);
	json_decref(faults->helpers);
	pfree(faults->text);
	faults_free_list(faults->checked, faults->config);
	faults_free_list(faults->list, faults->config);
	for (int i = 0; i < faults->config->nhandlers; i++)
		pfree(faults->noted[i].text);
	pfree(faults->noted);
	pfree(faults);
}
