/*-------------------------------------------------------------------------
 *
 * kafka.c
 *		The helper that takes triggers through Kafka in the simulation, and its brokers.
 *
 * As workers/kafka/triggers.h and docs/kafka.md have it.  The helpers of all nodes are one
 * group, and each message goes to one of them.  When nothing fails any more, the brokers lose
 * nothing, and a helper that loses triggers says so or dies.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "acts.h"
#include "base/lines.h"
#include "faults.h"
#include "kafka.h"
#include "protocol/trigger_line.h"
#include "sim_loop.h"
#include "world.h"

/* It leaves the group when its sidecar says nothing for so many looks. */
#define LOOK_US SECONDS_TO_US(5)
#define UNHEARD_MAX 4

/* No broker takes messages for that time. */
#define REFUSED_US SECONDS_TO_US(5)

/* A message waits for a helper that can take it. */
#define NOBODY_US MS_TO_US(100)
#define UNREAD_MOST 30000

struct Kafka
{
	dlist_node	node;
	Process    *process;
	int			in;
	int			out;
	KafkaExit	exit;
	void	   *exit_arg;
	bool		is_ready;
	bool		is_leaving;		/* it does nothing any more */
	bool		passes;
	int			unheard;
	LineReader	input;
	Event	   *reading;
	Event	   *look;
	Event	   *refusal;		/* its end */
};

typedef struct Message
{
	int			bucket;
	Trigger		trigger;
} Message;

static dlist_head group;

void
kafka_begin(void)
{
	dlist_init(&group);
}

static bool
fails(int permille)
{
	return acts_happens(HABIT_KAFKA, permille);
}

/* Only while faults come. */
static bool
fails_badly(int permille)
{
	return fails(permille) && faults_last();
}

static void
leave(Kafka *kafka, int status)
{
	if (kafka->is_leaving)
		return;
	kafka->is_leaving = true;
	kafka->exit(kafka->exit_arg, status);
}

/* ---- its lines ---- */

static bool
is_blocked(const Kafka *kafka)
{
	int			unread;

	return ioctl(kafka->out, FIONREAD, &unread) != 0 || unread > UNREAD_MOST;
}

static void
say(const Kafka *kafka, const char *line, int len)
{
	if (write(kafka->out, line, len) != len && !is_blocked(kafka))
		world_fail("a helper could not write: %m");
	sim_loop_look(kafka->process->loop);
}

static void
say_text(const Kafka *kafka, const char *text)
{
	say(kafka, text, strlen(text));
}

static void
say_trigger(const Kafka *kafka, const char *word, const Message *message)
{
	StringInfoData line;

	initStringInfo(&line);
	trigger_line_add(&line, word, message->bucket, &message->trigger);
	say(kafka, line.data, line.len);
	pfree(line.data);
}

static void
say_lost(const Kafka *kafka, int bucket)
{
	char		line[40];

	say(kafka, line, snprintf(line, sizeof(line), "{\"sweep\":%d}\n", bucket));
}

/* ---- the brokers ---- */

static Kafka *
any_helper(void)
{
	Kafka	   *found = NULL;
	int			n = 0;
	dlist_iter	iter;

	dlist_foreach(iter, &group)
	{
		Kafka	   *kafka = dlist_container(Kafka, node, iter.cur);

		if (kafka->is_ready && !kafka->is_leaving && !is_blocked(kafka) && world_between(0, n++) == 0)
			found = kafka;
	}
	return found;
}

static void
deliver(void *arg)
{
	Message    *message = arg;
	Kafka	   *kafka = any_helper();

	if (kafka == NULL)
	{
		(void) world_after(NOBODY_US, deliver, message);
		return;
	}
	world_count(REACHED_KAFKA);
	if (fails_badly(10))
		say_text(kafka, "not JSON\n");
	if (fails_badly(30))
		message->trigger.version = Max(message->trigger.version - 1, 0);
	if (fails(150))
		say_lost(kafka, message->bucket);
	else
		say_trigger(kafka, "got", message);
	pfree(message);
}

static void
publish(const Message *message)
{
	Message    *copy = palloc(sizeof(Message));

	*copy = *message;
	(void) world_after(fails(50) ? world_between(0, faults_last() ? SECONDS_TO_US(20) : SECONDS_TO_US(1)) :
					   world_between(500, MS_TO_US(20)), deliver, copy);
}

static void
pass_again(void *arg)
{
	Kafka	   *kafka = arg;

	kafka->refusal = NULL;
	kafka->passes = true;
	say_text(kafka, "{\"pass\":true}\n");
}

static void
give_back(Kafka *kafka, const Message *message)
{
	say_trigger(kafka, "back", message);
	if (!kafka->passes)
		return;
	kafka->passes = false;
	say_text(kafka, "{\"pass\":false}\n");
	kafka->refusal = world_after(REFUSED_US, pass_again, kafka);
}

static void
take_trigger(Kafka *kafka, const Message *message)
{
	if (!kafka->passes || fails(100))
		give_back(kafka, message);
	else if (!fails_badly(100))
	{
		publish(message);
		if (fails(50))
			publish(message);
	}
}

/* ---- its input ---- */

static void
begin(Kafka *kafka)
{
	if (fails_badly(50))
	{
		say_text(kafka, "{\"error\":\"simulated\"}\n");
		return;
	}
	kafka->is_ready = true;
	say_text(kafka, "{\"ready\":1}\n");
}

static void
take_line(Kafka *kafka, const char *line, int len)
{
	Message		message;

	kafka->unheard = 0;
	if (fails(60))
		leave(kafka, 1);
	else if (strncmp(line, "{\"hello\"", 8) == 0)
		begin(kafka);
	else if (strcmp(line, "{\"alive\":1}") == 0)
		say_text(kafka, "{\"alive\":1}\n");
	else if (trigger_line_read(line, len, "send", &message.bucket, &message.trigger))
		take_trigger(kafka, &message);
	else
		world_fail("a helper gets an unknown line: %s", line);
}

static void
read_input(void *arg)
{
	Kafka	   *kafka = arg;
	LinesResult result;
	const char *line;
	size_t		len;

	kafka->reading = NULL;
	if (kafka->is_leaving)
		return;
	result = lines_read(&kafka->input, kafka->in);
	while (!kafka->is_leaving && (line = lines_next(&kafka->input, &len)) != NULL)
		take_line(kafka, line, (int) len);
	if (result == LINES_OK)
		sim_loop_look(kafka->process->loop);
	if (result == LINES_CLOSED)
		leave(kafka, 0);
	kafka_look(kafka);
}

/* It may stand still for longer than its sidecar has patience. */
static int64
reading_us(void)
{
	if (fails_badly(3))
		return world_between(0, SECONDS_TO_US(60));
	return fails(50) ? world_between(300, MS_TO_US(500)) : world_between(20, 300);
}

void
kafka_look(Kafka *kafka)
{
	struct pollfd poll_in = {kafka->in, POLLIN, 0};

	if (kafka->reading == NULL && !kafka->is_leaving && poll(&poll_in, 1, 0) > 0)
		kafka->reading = world_after(reading_us(), read_input, kafka);
}

/* ---- its life ---- */

static void
on_look(void *arg)
{
	Kafka	   *kafka = arg;

	kafka->look = NULL;
	if (++kafka->unheard >= UNHEARD_MAX)
		leave(kafka, 1);
	else
		kafka->look = world_after(LOOK_US, on_look, kafka);
}

Kafka *
kafka_new(Process *process, int in, int out)
{
	Kafka	   *kafka = palloc0(sizeof(Kafka));

	kafka->process = process;
	kafka->in = in;
	kafka->out = out;
	kafka->passes = true;
	line_reader_init(&kafka->input);
	kafka->look = world_after(LOOK_US, on_look, kafka);
	dlist_push_tail(&group, &kafka->node);
	return kafka;
}

void
kafka_on_exit(Kafka *kafka, KafkaExit exit, void *arg)
{
	kafka->exit = exit;
	kafka->exit_arg = arg;
}

static void
cancel(Event *event)
{
	if (event != NULL)
		world_cancel(event);
}

void
kafka_free(Kafka *kafka)
{
	cancel(kafka->reading);
	cancel(kafka->look);
	cancel(kafka->refusal);
	dlist_delete(&kafka->node);
	line_reader_clear(&kafka->input);
	pfree(kafka);
}
