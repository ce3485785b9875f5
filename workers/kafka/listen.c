/*-------------------------------------------------------------------------
 *
 * listen.c
 *		twtasks-kafka listen: tasks from the messages of topics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "workers/kafka/listen.h"
#include "workers/kafka/listener.h"
#include "workers/lib/helper_main.h"

#define USAGE \
	"twtasks-kafka listen makes tasks of the messages of Kafka topics.\n" \
	"It is started by twtasksd, for \"listeners\" in its configuration.\n\n" \
	"Usage: twtasks-kafka listen [--check]\n"

/* The time between two looks for troubles. */
#define REPORT_US SECONDS_TO_US(1)

typedef struct Listen
{
	HelperMain *frame;
	char	   *reported;		/* the last line; NULL: none */
	LoopTimer  *report;			/* the next look */
	Listener  **listeners;
	int			nopen;			/* listeners that are not closed */
} Listen;

HELLO_SETTINGS(listen_settings);

/* ---- reports ---- */

/* The troubles of all listeners as a line of JSON; malloc'd. */
static char *
troubles(Listen *listen)
{
	json_t	   *list = json_array();
	char	   *text;

	for (int i = 0; i < listen->nopen; i++)
		listener_add_troubles(listen->listeners[i], list);
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

/* A sidecar that does not read its pipe gets no more lines. */
static void
on_report(void *arg)
{
	Listen	   *listen = arg;
	StringInfo	out = helper_main_out(listen->frame);
	char	   *text = troubles(listen);

	loop_timer_start(listen->report, REPORT_US);
	if (out->len == 0 && text != NULL &&
		(listen->reported == NULL || strcmp(listen->reported, text) != 0))
	{
		free(listen->reported);
		listen->reported = text;
		appendStringInfo(out, "%s\n", text);
	}
	else
		free(text);
}

/* ---- begin, leave ---- */

static void
on_broken(void *arg)
{
	helper_main_leave(((Listen *) arg)->frame, EXIT_NO_RESOURCES);
}

static void *
begin(HelperMain *frame, void *arg)
{
	ListenSettings *settings = arg;
	Loop	   *loop = helper_main_loop(frame);
	Listen	   *listen = palloc0(sizeof(Listen));

	log_init(settings->log, settings->level, settings->node);
	listen->frame = frame;
	listen->report = loop_timer_new(loop, on_report, listen);
	listen->listeners = palloc0(settings->nlisteners * sizeof(Listener *));
	for (int i = 0; i < settings->nlisteners; i++)
	{
		listen->listeners[i] = listener_start(loop, settings->postgres, &settings->listeners[i],
											  on_broken, listen);
		if (listen->listeners[i] == NULL)
		{
			on_broken(listen);
			return listen;
		}
		listen->nopen++;
	}
	loop_timer_start(listen->report, REPORT_US);
	return listen;
}

static void
on_closed(void *arg)
{
	Listen	   *listen = arg;

	if (--listen->nopen == 0)
		helper_main_stop(listen->frame);
}

/* The groups give the partitions to others at once if their members leave. */
static void
leave(void *arg)
{
	Listen	   *listen = arg;
	int			n = listen->nopen;

	loop_timer_stop(listen->report);
	if (n == 0)
		helper_main_stop(listen->frame);
	for (int i = 0; i < n; i++)
		listener_close(listen->listeners[i], on_closed, listen);
}

int
listen_main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-kafka", USAGE, settings_new, settings_free},
		.component = "listen",
		.begin = begin,
		.leave = leave
	};

	return helper_main(&use, argc, argv);
}
