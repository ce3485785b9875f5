/*-------------------------------------------------------------------------
 *
 * main.c
 *		twtasks-zookeeper: stands for election at ZooKeeper in the name of a node.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <signal.h>

#include "base/program.h"
#include "workers/lib/helper_main.h"
#include "workers/zookeeper/stand.h"

#define USAGE \
	"twtasks-zookeeper stands for election at ZooKeeper in the name of a twtasks sidecar.\n" \
	"It is started by twtasksd, for \"leader: zookeeper\" in its configuration.\n\n" \
	"Usage: twtasks-zookeeper [--check | --help | --version]\n"

typedef struct Candidate
{
	HelperMain *frame;
	Stand	   *stand;
} Candidate;

HELLO_SETTINGS(zk_settings);

/* TERM ends the session too, so that the other nodes need not wait for its time. */
static void *
begin(HelperMain *frame, void *settings)
{
	Candidate  *candidate = palloc(sizeof(Candidate));

	candidate->frame = frame;
	candidate->stand = stand_new(helper_main_loop(frame), helper_main_out(frame));
	stand_set(candidate->stand, settings);
	helper_main_take_term(frame);
	return candidate;
}

static void
again(void *candidate, void *settings)
{
	stand_set(((Candidate *) candidate)->stand, settings);
}

static void
on_line(void *candidate, const char *line, size_t len)
{
	(void) len;
	stand_take(((Candidate *) candidate)->stand, line);
}

static void
leave(void *arg)
{
	Candidate  *candidate = arg;

	stand_free(candidate->stand);
	helper_main_stop(candidate->frame);
	pfree(candidate);
}

int
main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-zookeeper", USAGE, settings_new, settings_free},
		.component = "zookeeper",
		.begin = begin,
		.again = again,
		.on_line = on_line,
		.leave = leave
	};

	return helper_main(&use, argc, argv);
}
