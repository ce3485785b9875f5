/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-http: a worker that sends each task as an HTTP request.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/http/requests.h"
#include "workers/lib/worker_main.h"

#define USAGE \
	"twtasks-http sends tasks of a twtasks sidecar as HTTP requests.\n" \
	"It is started by twtasksd, for handlers with \"http\" in its configuration.\n\n" \
	"Usage: twtasks-http [--check | --help | --version]\n"

static void *
settings_new(const char *hello, WorkerFault *fault)
{
	return http_settings_new(hello, fault);
}

static void
settings_free(void *settings)
{
	http_settings_free(settings);
}

static void *
open_requests(Loop *loop, StringInfo replies)
{
	return requests_new(loop, replies);
}

static void
set(void *requests, void *settings)
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
close_requests(void *requests)
{
	requests_free(requests);
}

static const WorkerProgram program = {
	.hello = {"twtasks-http", USAGE, settings_new, settings_free},
	.open = open_requests,
	.set = set,
	.start = start,
	.cancel = cancel,
	.close = close_requests
};

int
main(int argc, char **argv)
{
	return worker_main(&program, argc, argv);
}
