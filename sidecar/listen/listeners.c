/*-------------------------------------------------------------------------
 *
 * listeners.c
 *		The process that makes tasks of messages: twtasks-kafka listen.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "helper/helper.h"
#include "listen/listeners.h"

struct Listeners
{
	Loop	   *loop;
	const Config *config;
	Node	   *node;
	Helper	   *helper;
	bool		is_stopped;
	json_t	   *reported;		/* troubles, as the process reported them last */
	char	   *shown;			/* the last answer of
								 * listeners_first_trouble() */
};

/* ---- troubles ---- */

static void
set_reported(Listeners *listeners, json_t *troubles)
{
	json_decref(listeners->reported);
	listeners->reported = troubles;
}

static void
on_line(void *arg, const char *line, size_t len)
{
	json_t	   *troubles = json_loadb(line, len, 0, NULL);

	if (json_is_array(troubles))
		set_reported(arg, troubles);
	else
		json_decref(troubles);
}

static void
on_gone(void *arg)
{
	set_reported(arg, json_array());
}

/* The reason of a partition may quote a message, and /health is for anybody. */
const char *
listeners_first_trouble(Listeners *listeners)
{
	static const char begin[] = "listener \"";
	const char *first = json_string_value(json_array_get(listeners->reported, 0));
	const char *name_end = first == NULL || strncmp(first, begin, strlen(begin)) != 0 ? NULL :
		strchr(first + strlen(begin), '"');
	const char *reason = name_end == NULL || name_end[1] != ',' ? NULL : strstr(name_end, "\": ");

	if (first == NULL)
		return helper_trouble(listeners->helper);
	if (reason == NULL)
		return first;
	pfree(listeners->shown);
	listeners->shown = psprintf("%.*s: see twtasks.listeners", (int) (reason + 1 - first), first);
	return listeners->shown;
}

void
listeners_add_troubles(void *arg, json_t *list)
{
	const Listeners *listeners = arg;

	json_array_extend(list, listeners->reported);
	helper_add_trouble(listeners->helper, list);
}

/* ---- the process ---- */

/* Why there must be no process; NULL: there may be one. */
static const char *
why_down(const Listeners *listeners)
{
	if (listeners->is_stopped)
		return "this sidecar stops";
	if (listeners->config->listeners_line == NULL)
		return "there are no listeners any more";
	if (node_refusal(listeners->node) != NULL)
		return "this node may not start tasks";
	return NULL;
}

void
listeners_pump(Listeners *listeners)
{
	const char *why = why_down(listeners);

	if (why != NULL)
		helper_end(listeners->helper, why);
	else if (helper_is_ready(listeners->helper) || node_may_start(listeners->node) != 0)
		helper_run(listeners->helper, listeners->config->listeners_line);
}

/* ---- open, reload, stop, free ---- */

Listeners *
listeners_open(Loop *loop, const Config *config, Node *node)
{
	static const char *const libpq[] = {"PG", NULL};
	static const HelperProgram program = {
		.component = "listen",
		.subject = "listeners",
		.bundled = "kafka",
		.use = "listen",
		.variables = libpq,
		.leave_us = SECONDS_TO_US(10),	/* for calls under way, and to leave
										 * the groups */
		.on_line = on_line,
		.on_gone = on_gone
	};
	Listeners  *listeners = palloc0(sizeof(Listeners));

	listeners->loop = loop;
	listeners->config = config;
	listeners->node = node;
	listeners->reported = json_array();
	listeners->helper = helper_new(loop, &program, listeners);
	return listeners;
}

void
listeners_reload(Listeners *listeners, const Config *config)
{
	listeners->config = config;
	loop_want_turn(listeners->loop);
}

void
listeners_gone(Listeners *listeners)
{
	helper_end(listeners->helper, "the node was declared gone");
}

void
listeners_stop(Listeners *listeners)
{
	listeners->is_stopped = true;
	loop_want_turn(listeners->loop);
}

bool
listeners_are_down(const Listeners *listeners)
{
	return helper_is_down(listeners->helper);
}

void
listeners_free(Listeners *listeners)
{
	helper_free(listeners->helper);
	json_decref(listeners->reported);
	pfree(listeners->shown);
	loop_defer_free(listeners->loop, listeners);
}
