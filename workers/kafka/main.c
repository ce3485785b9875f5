/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-kafka: a worker that sends each task to Kafka, and processes that
 *		make tasks of messages and hand triggers on.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/program.h"
#include "workers/kafka/listen.h"
#include "workers/kafka/sends.h"
#include "workers/kafka/triggers.h"
#include "workers/lib/helper_main.h"
#include "workers/lib/worker_line.h"

#define USAGE \
	"twtasks-kafka sends tasks of a twtasks sidecar to Kafka.\n" \
	"It is started by twtasksd, for handlers with \"kafka\" in its configuration.\n\n" \
	"Usage: twtasks-kafka [--check | --help | --version]\n" \
	"       twtasks-kafka listen [--check]\n" \
	"       twtasks-kafka triggers [--check]\n"

HELLO_SETTINGS(kafka_settings);

static void *
begin(HelperMain *frame, void *settings)
{
	Sends	   *sends = sends_new(helper_main_loop(frame), helper_main_out(frame));

	sends_set(sends, settings);
	return sends;
}

static void
again(void *sends, void *settings)
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

static void
on_line(void *sends, const char *line, size_t len)
{
	static const WorkerActions actions = {start, cancel};

	(void) len;
	worker_line_take(&actions, sends, line);
}

int
main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-kafka", USAGE, settings_new, settings_free},
		.component = "kafka",
		.begin = begin,
		.again = again,
		.on_line = on_line
	};

	if (argc > 1 && strcmp(argv[1], "listen") == 0)
		return listen_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "triggers") == 0)
		return triggers_main(argc - 1, argv + 1);
	program_raise_descriptors();
	return helper_main(&use, argc, argv);
}
