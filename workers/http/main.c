/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-http: a worker that sends each task as an HTTP request.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "workers/curl/http_client.h"
#include "workers/http/requests.h"
#include "workers/lib/helper_main.h"
#include "workers/lib/worker_line.h"

#define USAGE \
	"twtasks-http sends tasks of a twtasks sidecar as HTTP requests.\n" \
	"It is started by twtasksd, for handlers with \"http\" in its configuration.\n\n" \
	"Usage: twtasks-http [--check | --help | --version]\n"

HELLO_SETTINGS(http_settings);

static void *
begin(HelperMain *frame, void *settings)
{
	Requests   *requests = requests_new(helper_main_loop(frame), helper_main_out(frame));

	requests_set(requests, settings);
	return requests;
}

static void
again(void *requests, void *settings)
{
	requests_set(requests, settings);
}

static void
start(void *requests, Task *task, int64 start_by_us)
{
	requests_start(requests, task, start_by_us);
}

static void
cancel(void *requests, const char *id, int64 version, const char *why)
{
	requests_cancel(requests, id, version, why);
}

static void
on_line(void *requests, const char *line, size_t len)
{
	static const WorkerActions actions = {start, cancel};

	(void) len;
	worker_line_take(&actions, requests, line);
}

int
main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-http", USAGE, settings_new, settings_free},
		.component = "http",
		.begin = begin,
		.again = again,
		.on_line = on_line
	};

	program_raise_descriptors();
	http_client_begin();
	return helper_main(&use, argc, argv);
}
