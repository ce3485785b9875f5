/*-------------------------------------------------------------------------
 *
 * trigger_send.c
 *		Triggers on their way to other nodes, through the topics of their buckets.
 *
 *-------------------------------------------------------------------------
 */
#include "base/port.h"

#include "base/log.h"
#include "workers/kafka/kafka.h"
#include "protocol/trigger_line.h"
#include "workers/kafka/trigger_send.h"

#define PAUSE_US SECONDS_TO_US(5)

struct TriggerSend
{
	Kafka	   *producer;
	StringInfo	out;			/* lines to the sidecar */
	rd_kafka_topic_t **topics;	/* one per bucket */
	int			nbuckets;
	LoopTimer  *pause;			/* runs while none is sent */
	bool		is_failing;		/* and that is logged */
	LoopFn		broken;
	void	   *arg;			/* the argument of broken() */
};

static void
pause_sending(TriggerSend *sender, const rd_kafka_topic_t * topic, rd_kafka_resp_err_t error)
{
	if (!loop_timer_active(sender->pause))
		appendStringInfoString(sender->out, "{\"pass\":false}\n");
	loop_timer_start(sender->pause, PAUSE_US);
	if (!sender->is_failing)
		log_line(TWT_LOG_WARN, "kafka", "triggers stay on this node: could not send to topic \"%s\": %s",
				 rd_kafka_topic_name(topic), rd_kafka_err2str(error));
	sender->is_failing = true;
}

static void
on_pause_end(void *arg)
{
	appendStringInfoString(((TriggerSend *) arg)->out, "{\"pass\":true}\n");
}

static void
note_success(TriggerSend *sender)
{
	if (sender->is_failing)
		log_line(TWT_LOG_INFO, "kafka", "triggers pass through Kafka again");
	sender->is_failing = false;
}

static void
give_back(TriggerSend *sender, const rd_kafka_message_t * message)
{
	Trigger		trigger;

	pause_sending(sender, message->rkt, message->err);
	if (trigger_decode(message->payload, message->len, &trigger))
		trigger_line_add(sender->out, "back", (int) (intptr_t) message->_private, &trigger);
}

static void
on_deliveries(TriggerSend *sender, rd_kafka_event_t * event)
{
	const		rd_kafka_message_t *message;

	while ((message = rd_kafka_event_message_next(event)) != NULL)
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			note_success(sender);
		else
			give_back(sender, message);
}

/* The reader's client tells of brokers that are away. */
static void
on_event(void *arg, rd_kafka_event_t * event)
{
	TriggerSend *sender = arg;

	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_DR)
		on_deliveries(sender, event);
	else if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR && kafka_has_failed(sender->producer))
	{
		log_line(TWT_LOG_WARN, "kafka", "the client that sends triggers failed, another one follows: %s",
				 rd_kafka_event_error_string(event));
		sender->broken(sender->arg);
	}
}

/* False: the client's queue is full, or it knows that the topic is missing. */
static bool
produce(TriggerSend *sender, int bucket, const Trigger *trigger)
{
	rd_kafka_topic_t *topic = sender->topics[bucket];
	char		text[TRIGGER_TEXT_MAX];
	size_t		len = trigger_encode(trigger, text);

	if (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, text, len,
						 NULL, 0, (void *) (intptr_t) bucket) == 0)
		return true;
	if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
		pause_sending(sender, topic, rd_kafka_last_error());
	return false;
}

void
trigger_send(TriggerSend *sender, int bucket, const Trigger *trigger)
{
	if (bucket < sender->nbuckets &&
		(loop_timer_active(sender->pause) || !produce(sender, bucket, trigger)))
		trigger_line_add(sender->out, "back", bucket, trigger);
}

static void
open_topics(TriggerSend *sender, const TriggerSettings *settings)
{
	sender->nbuckets = settings->nbuckets;
	sender->topics = palloc0(settings->nbuckets * sizeof(rd_kafka_topic_t *));
	for (int i = 0; i < settings->nbuckets; i++)
	{
		char	   *name = trigger_settings_topic(settings, "", i);

		sender->topics[i] = rd_kafka_topic_new(kafka_handle(sender->producer), name, NULL);
		pfree(name);
	}
}

TriggerSend *
trigger_send_open(Loop *loop, const TriggerSettings *settings, StringInfo out, LoopFn broken, void *arg)
{
	TriggerSend *sender = palloc0(sizeof(TriggerSend));
	char	   *reason;

	sender->out = out;
	sender->broken = broken;
	sender->arg = arg;
	sender->producer = kafka_producer_new(loop, rd_kafka_conf_dup(settings->producer), &reason);
	if (sender->producer == NULL)
	{
		log_line(TWT_LOG_ERROR, "kafka", "triggers stay on this node: %s", reason);
		pfree(reason);
		pfree(sender);
		return NULL;
	}
	sender->pause = loop_timer_new(loop, on_pause_end, sender);
	kafka_on_event(sender->producer, on_event, sender);
	open_topics(sender, settings);
	return sender;
}
