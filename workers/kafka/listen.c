/*-------------------------------------------------------------------------
 *
 * listen.c
 *		twtasks-kafka listen: tasks from the messages of topics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/program.h"
#include "workers/kafka/listen.h"
#include "workers/kafka/listener.h"

#define USAGE \
	"twtasks-kafka listen makes tasks of the messages of Kafka topics.\n" \
	"It is started by twtasksd, for \"listeners\" in its configuration.\n\n" \
	"Usage: twtasks-kafka listen [--check]\n"

/* The time between two looks for troubles. */
#define REPORT_US SECONDS_TO_US(1)

typedef struct Listen
{
	Loop	   *loop;
	LoopIo	   *in;
	LineReader	from_sidecar;
	LineWriter	to_sidecar;
	char	   *reported;		/* the last line; NULL: none */
	LoopTimer  *report;			/* the next look */
	ListenSettings *settings;	/* NULL: not read yet */
	Listener  **listeners;
	int			nopen;			/* listeners that are not closed */
	int			status;
	bool		is_closing;
} Listen;

/* ---- the end ---- */

static void
on_closed(void *arg)
{
	Listen	   *listen = arg;

	if (--listen->nopen == 0)
		loop_stop(listen->loop);
}

/* The groups give the partitions to others at once if their members leave. */
static void
end_with(Listen *listen, int status)
{
	int			n = listen->nopen;

	if (listen->is_closing)
		return;
	listen->is_closing = true;
	listen->status = status;
	loop_io_want(listen->in, 0);
	if (n == 0)
		loop_stop(listen->loop);
	for (int i = 0; i < n; i++)
		listener_close(listen->listeners[i], on_closed, listen);
}

static void
on_broken(void *arg)
{
	end_with(arg, EXIT_NO_RESOURCES);
}

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

/* A line that the pipe does not take is written later. */
static void
on_report(void *arg)
{
	Listen	   *listen = arg;
	char	   *text;

	if (listen->is_closing)
		return;
	loop_timer_start(listen->report, REPORT_US);
	text = troubles(listen);
	if (lines_unwritten(&listen->to_sidecar) == 0 && text != NULL &&
		(listen->reported == NULL || strcmp(listen->reported, text) != 0))
	{
		free(listen->reported);
		listen->reported = text;
		appendStringInfo(&listen->to_sidecar.bytes, "%s\n", text);
	}
	else
		free(text);
	(void) lines_write(&listen->to_sidecar, STDOUT_FILENO);
}

/* ---- the settings ---- */

static void
start_listeners(Listen *listen)
{
	ListenSettings *settings = listen->settings;

	log_init(settings->log, settings->level, settings->node);
	listen->listeners = palloc0(settings->nlisteners * sizeof(Listener *));
	for (listen->nopen = 0; listen->nopen < settings->nlisteners; listen->nopen++)
	{
		Listener   *listener = listener_start(listen->loop, settings->postgres,
											  &settings->listeners[listen->nopen],
											  on_broken, listen);

		if (listener == NULL)
		{
			end_with(listen, EXIT_NO_RESOURCES);
			return;
		}
		listen->listeners[listen->nopen] = listener;
	}
	loop_timer_start(listen->report, REPORT_US);
}

static void
take_settings(Listen *listen, const char *line)
{
	WorkerFault fault = {NULL, NULL};

	listen->settings = listen_settings_new(line, &fault);
	worker_answer(&listen->to_sidecar.bytes, &fault);
	(void) lines_write(&listen->to_sidecar, STDOUT_FILENO);
	if (listen->settings != NULL)
		start_listeners(listen);
	else
	{
		log_line(TWT_LOG_FATAL, "config", "%s%s%s", fault.setting == NULL ? "" : fault.setting,
				 fault.setting == NULL ? "" : ": ", fault.reason);
		end_with(listen, EXIT_BAD_CONFIG);
	}
	pfree(fault.setting);
	pfree(fault.reason);
}

static void
on_readable(void *arg, int ready)
{
	Listen	   *listen = arg;
	LinesResult result = lines_read(&listen->from_sidecar, STDIN_FILENO);
	char	   *line;
	size_t		len;

	(void) ready;
	while ((line = lines_next(&listen->from_sidecar, &len)) != NULL)
		if (listen->settings == NULL)
			take_settings(listen, line);
	if (result == LINES_CLOSED)
		end_with(listen, EXIT_FINE);
}

/* ---- the program ---- */

/* The end of the process frees all. */
static int
run(void)
{
	Listen		listen = {.loop = loop_new()};

	program_prepare();
	log_init(LOG_FORMAT_TEXT, TWT_LOG_INFO, "");
	if (listen.loop == NULL || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) != 0 ||
		fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) != 0)
	{
		log_line(TWT_LOG_FATAL, "listen", "could not watch the input: %m");
		return EXIT_NO_RESOURCES;
	}
	line_reader_init(&listen.from_sidecar);
	line_writer_init(&listen.to_sidecar);
	listen.report = loop_timer_new(listen.loop, on_report, &listen);
	listen.in = loop_io_new(listen.loop, STDIN_FILENO, on_readable, &listen);
	loop_io_want(listen.in, LOOP_READ);
	loop_run(listen.loop);
	return listen.status;
}

static int
check(void)
{
	char	   *line = NULL;
	size_t		size = 0;
	StringInfoData out;

	initStringInfo(&out);
	while (getline(&line, &size, stdin) > 0)
	{
		WorkerFault fault = {NULL, NULL};

		listen_settings_free(listen_settings_new(line, &fault));
		worker_answer(&out, &fault);
		pfree(fault.setting);
		pfree(fault.reason);
	}
	free(line);
	return fwrite(out.data, 1, out.len, stdout) == (size_t) out.len && fflush(stdout) == 0 ?
		EXIT_FINE : EXIT_NO_RESOURCES;
}

int
listen_main(int argc, char **argv)
{
	program_begin();
	if (argc == 1)
		return run();
	if (argc == 2 && strcmp(argv[1], "--check") == 0)
		return check();
	fputs(USAGE, stderr);
	return EXIT_BAD_ARGUMENTS;
}
