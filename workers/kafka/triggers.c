/*-------------------------------------------------------------------------
 *
 * triggers.c
 *		twtasks-kafka triggers: hands triggers to other nodes, and takes theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "base/program.h"
#include "protocol/trigger_line.h"
#include "workers/kafka/trigger_read.h"
#include "workers/kafka/trigger_send.h"
#include "workers/kafka/triggers.h"
#include "workers/lib/helper_main.h"

#define USAGE \
	"twtasks-kafka triggers hands triggers of tasks to other nodes.\n" \
	"It is started by twtasksd, for \"queue: kafka\" in its configuration.\n\n" \
	"Usage: twtasks-kafka triggers [--check]\n"

/* A look comes as often as a word of the sidecar. */
#define LOOK_US SECONDS_TO_US(5)
#define UNHEARD_MAX 4

typedef struct Triggers
{
	HelperMain *frame;
	TriggerSend *sender;		/* NULL: it could not be made */
	TriggerRead *reader;		/* NULL: not opened */
	LoopTimer  *look;
	int			unheard;		/* looks since the sidecar's last word */
} Triggers;

HELLO_SETTINGS(trigger_settings);

static void
on_broken(void *arg)
{
	helper_main_leave(((Triggers *) arg)->frame, EXIT_NO_RESOURCES);
}

/*
 * Counts looks, not time: a machine that stood still counts as one look, and the
 * sidecar's next word is here before the second.
 */
static void
on_look(void *arg)
{
	Triggers   *triggers = arg;

	if (++triggers->unheard < UNHEARD_MAX)
	{
		loop_timer_start(triggers->look, LOOK_US);
		return;
	}
	log_line(TWT_LOG_WARN, "kafka", "leaves triggers to other nodes: the sidecar stands still");
	on_broken(arg);
}

static void *
begin(HelperMain *frame, void *settings)
{
	Triggers   *triggers = palloc0(sizeof(Triggers));
	TriggerSettings *read = settings;
	TriggerReadParts parts = {
		.loop = helper_main_loop(frame),
		.settings = read,
		.out = helper_main_out(frame),
		.broken = on_broken,
		.arg = triggers
	};

	log_init(read->log, read->level, read->node);
	triggers->frame = frame;
	triggers->look = loop_timer_new(parts.loop, on_look, triggers);
	loop_timer_start(triggers->look, LOOK_US);
	triggers->sender = trigger_send_open(parts.loop, read, parts.out, on_broken, triggers);
	if (triggers->sender != NULL)
		triggers->reader = trigger_read_open(&parts);
	else
		on_broken(triggers);
	return triggers;
}

/* Ignores unknown kinds of lines, which a newer sidecar may send. */
static void
on_line(void *arg, const char *line, size_t len)
{
	Triggers   *triggers = arg;
	Trigger		trigger;
	int			bucket;

	triggers->unheard = 0;
	if (trigger_line_read(line, len, "send", &bucket, &trigger))
		trigger_send(triggers->sender, bucket, &trigger);
}

static void
on_left(void *arg)
{
	helper_main_stop(((Triggers *) arg)->frame);
}

static void
leave(void *arg)
{
	Triggers   *triggers = arg;

	loop_timer_stop(triggers->look);
	if (triggers->reader != NULL)
		trigger_read_leave(triggers->reader, on_left);
	else
		on_left(triggers);
}

int
triggers_main(int argc, char **argv)
{
	static const HelperUse use = {
		.hello = {"twtasks-kafka", USAGE, settings_new, settings_free},
		.component = "kafka",
		.begin = begin,
		.on_line = on_line,
		.leave = leave
	};

	return helper_main(&use, argc, argv);
}
