/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-zookeeper: stands for election at ZooKeeper in the name of a node.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>

#include "workers/lib/worker_main.h"
#include "workers/zookeeper/stand.h"

#define USAGE \
	"twtasks-zookeeper stands for election at ZooKeeper in the name of a twtasks sidecar.\n" \
	"It is started by twtasksd, for \"leader: zookeeper\" in its configuration.\n\n" \
	"Usage: twtasks-zookeeper [--check | --help | --version]\n"

static void *
settings_new(const char *hello, WorkerFault *fault)
{
	return zk_settings_new(hello, fault);
}

static void
settings_free(void *settings)
{
	zk_settings_free(settings);
}

static void
stop(void *loop)
{
	loop_stop(loop);
}

/* TERM ends the session too, so that the other nodes need not wait for its time. */
static void *
open_stand(Loop *loop, StringInfo words)
{
	loop_on_signal(loop, SIGTERM, stop, loop);
	return stand_new(loop, words);
}

static void
set(void *stand, void *settings)
{
	stand_set(stand, settings);
}

static void
take(void *stand, const char *line)
{
	stand_take(stand, line);
}

static void
close_stand(void *stand)
{
	stand_free(stand);
}

static const WorkerProgram program = {
	.name = "twtasks-zookeeper",
	.usage = USAGE,
	.settings_new = settings_new,
	.settings_free = settings_free,
	.open = open_stand,
	.set = set,
	.take = take,
	.close = close_stand
};

int
main(int argc, char **argv)
{
	return worker_main(&program, argc, argv);
}
