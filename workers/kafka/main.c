/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-kafka: a worker that sends each task to Kafka, and processes that
 *		make tasks of messages and hand triggers on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "workers/kafka/listen.h"
#include "workers/kafka/sends.h"
#include "workers/kafka/triggers.h"
#include "workers/lib/worker_main.h"

#define USAGE \
	"twtasks-kafka sends tasks of a twtasks sidecar to Kafka.\n" \
	"It is started by twtasksd, for handlers with \"kafka\" in its configuration.\n\n" \
	"Usage: twtasks-kafka [--check | --help | --version]\n" \
	"       twtasks-kafka listen [--check]\n" \
	"       twtasks-kafka triggers [--check]\n"

static void *
settings_new(const char *hello, WorkerFault *fault)
{
	return kafka_settings_new(hello, fault);
}

static void
settings_free(void *settings)
{
	kafka_settings_free(settings);
}

static void *
open_sends(Loop *loop, StringInfo replies)
{
	return sends_new(loop, replies);
}

static void
set(void *sends, void *settings)
{
	sends_set(sends, settings);
}

static void
start(void *sends, Task *task, int64 start_by_us)
{
	sends_start(sends, task, start_by_us);
}

static void
cancel(void *sends, const char *id, int64 version, const char *why)
{
	sends_cancel(sends, id, version, why);
}

static const WorkerProgram program = {
	.hello = {"twtasks-kafka", USAGE, settings_new, settings_free},
	.open = open_sends,
	.set = set,
	.start = start,
	.cancel = cancel
};

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "listen") == 0)
		return listen_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "triggers") == 0)
		return triggers_main(argc - 1, argv + 1);
	return worker_main(&program, argc, argv);
}
